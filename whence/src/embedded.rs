//! The servers that `up` starts, and what is shown while they come.

use crate::{config::Config, context, progress};
use anyhow::Result;
use indicatif::ProgressBar;
use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};
use whence_provision::{Cache, Options, Progress, Server};

/// The cache of packages, with bars on a terminal.
pub(crate) fn cache(config: &Config) -> Result<Cache> {
    context::cache(config, Arc::new(Bars::default()))
}

/// What to start: a server whose address is configured is left alone.
pub(crate) fn options(config: &Config) -> Result<Options> {
    let mut options = Options::new(config.data.clone(), cache(config)?);
    if let Some(url) = &config.nats.url {
        options.nats = Server::External(url.expose().to_owned());
    }
    if let Some(url) = &config.postgres.url {
        options.postgres = Server::External(url.expose().to_owned());
    }
    Ok(options)
}

/// One bar for each download.
#[derive(Default)]
struct Bars {
    bars: Mutex<HashMap<String, ProgressBar>>,
}

impl Progress for Bars {
    fn started(&self, what: &str, total: Option<u64>) {
        let bar = match total {
            Some(total) => progress::bytes(what, total),
            None => progress::spinner(what),
        };
        self.bars
            .lock()
            .unwrap_or_else(|e| e.into_inner())
            .insert(what.to_owned(), bar);
    }

    fn advanced(&self, what: &str, done: u64) {
        if let Some(bar) = self
            .bars
            .lock()
            .unwrap_or_else(|e| e.into_inner())
            .get(what)
        {
            bar.set_position(done);
        }
    }

    fn finished(&self, what: &str) {
        if let Some(bar) = self
            .bars
            .lock()
            .unwrap_or_else(|e| e.into_inner())
            .remove(what)
        {
            bar.finish_and_clear();
        }
    }
}
