//! What every command does first: configuration, tracing, signals; and how the
//! process ends.

use crate::{cli::Global, config::Config};
use anyhow::{Context, Result};
use std::{io::IsTerminal, process::ExitCode};
use tokio_util::sync::CancellationToken;
use tracing_subscriber::EnvFilter;

/// How a command ended, as an exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// 0: all of it was done.
    Done,
    /// 1: an error, said on stderr.
    Failed,
    /// 3: the command ran, but part of its input could not be processed: see
    /// `whence dead list`. (2 is a wrong command line.)
    Incomplete,
    /// 4: nothing here is called so.
    NotFound,
    /// 5: what was measured does not meet a threshold.
    Breach,
    /// 130: stopped by Ctrl-C before it was done.
    Interrupted,
}

impl From<Ending> for ExitCode {
    fn from(ending: Ending) -> Self {
        ExitCode::from(match ending {
            Ending::Done => 0,
            Ending::Failed => 1,
            Ending::Incomplete => 3,
            Ending::NotFound => 4,
            Ending::Breach => 5,
            Ending::Interrupted => 130,
        })
    }
}

/// The configuration with the flags of every command applied.
pub(crate) fn configure(global: &Global) -> Result<Config> {
    let mut config = Config::load(global.config.as_deref())?;
    if let Some(data) = &global.data {
        config.data.clone_from(data);
    }
    config.data = std::path::absolute(&config.data)
        .with_context(|| format!("the data folder {} has no full path", config.data.display()))?;
    Ok(config)
}

/// Logs go to stderr, always: stdout carries answers. `WHENCE_LOG` overrides the
/// flags, in the syntax of `RUST_LOG`.
pub(crate) fn trace(global: &Global) {
    let level = match (global.quiet, global.verbose) {
        (true, _) => "error",
        (false, 0) => "warn",
        (false, 1) => "info,async_nats=warn",
        (false, 2) => "debug,async_nats=info,tokio_postgres=info,hyper=info",
        (false, _) => "trace",
    };
    let filter = EnvFilter::try_from_env("WHENCE_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(crate::progress::LogWriter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        .init();
}

/// A token that the first Ctrl-C or SIGTERM cancels. A second one ends the
/// process at once.
pub(crate) fn stop_on_signal() -> Result<CancellationToken> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for Ctrl-C")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let stop = CancellationToken::new();
    let token = stop.clone();
    tokio::spawn(async move {
        let mut signals = 0;
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            signals += 1;
            if signals > 1 {
                std::process::exit(130);
            }
            token.cancel();
        }
    });
    Ok(stop)
}
