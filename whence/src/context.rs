//! What most commands need: the configuration, the model, the log.

use crate::{config::Config, models};
use anyhow::{Context as _, Result};
use std::sync::Arc;
use whence_log::{Log, LogOptions};
use whence_model::ModelSpec;
use whence_provision::{Cache, Endpoints, Overrides, Progress};

/// A connection to the log of a running pipeline, and what it is configured to be.
pub(crate) struct Context {
    pub(crate) config: Config,
    pub(crate) log: Log,
    pub(crate) endpoints: Endpoints,
    pub(crate) spec: ModelSpec,
    /// Slugs of the models in use.
    pub(crate) models: Vec<String>,
}

impl Context {
    /// Connects to the servers that the configuration names, else to those of the
    /// running `up` of the data folder.
    pub(crate) async fn connect(config: Config) -> Result<Self> {
        let endpoints = endpoints(&config)?;
        Self::at(config, endpoints).await
    }

    /// Connects to these servers.
    pub(crate) async fn at(config: Config, endpoints: Endpoints) -> Result<Self> {
        let spec = models::table(&config)?.encoder(&config.model.name)?;
        let options = LogOptions {
            url: endpoints.nats_url.clone(),
            credentials_file: config.nats.credentials_file.clone(),
            replicas: config.nats.replicas.unwrap_or(1),
            name: format!("whence-{}", std::process::id()),
        };
        let log = Log::connect(&options).await?;
        let models = vec![spec.slug()];
        Ok(Self {
            config,
            log,
            endpoints,
            spec,
            models,
        })
    }

    /// The slug of the model that serves.
    pub(crate) fn slug(&self) -> String {
        self.spec.slug()
    }

    /// Creates streams, buckets, tables and the model's own; idempotent.
    pub(crate) async fn set_up(&self) -> Result<()> {
        self.log.set_up(&self.models).await?;
        let pool = whence_index::pool(&self.endpoints.postgres_url, 2)?;
        let mut client = pool
            .get()
            .await
            .context("cannot connect to Postgres; is it running, and are its credentials right?")?;
        whence_index::setup(&mut client).await?;
        let (id, slug) = (self.spec.id(), self.slug());
        whence_index::setup_model(&mut client, &id, &slug, self.spec.dims).await?;
        whence_index::activate_model(&mut client, &id).await?;
        Ok(())
    }
}

/// Addresses from the configuration, else from the data folder.
fn endpoints(config: &Config) -> Result<Endpoints> {
    let nats = config.nats.url.as_ref().map(|url| url.expose().to_owned());
    let postgres = config
        .postgres
        .url
        .as_ref()
        .map(|url| url.expose().to_owned());
    if let (Some(nats_url), Some(postgres_url)) = (&nats, &postgres) {
        return Ok(Endpoints {
            nats_url: nats_url.clone(),
            postgres_url: postgres_url.clone(),
        });
    }
    let running = Endpoints::read(&config.data)?;
    Ok(Endpoints {
        nats_url: nats.unwrap_or(running.nats_url),
        postgres_url: postgres.unwrap_or(running.postgres_url),
    })
}

/// The cache of packages, as configured.
pub(crate) fn cache(config: &Config, progress: Arc<dyn Progress>) -> Result<Cache> {
    let provision = &config.provision;
    let overrides = Overrides {
        nats_server: provision.nats_server.clone(),
        postgres_bin_dir: provision.postgres_bin.clone(),
        onnxruntime: provision.onnxruntime.clone(),
        python: provision.python.clone(),
    };
    let cache = Cache::open(provision.cache.clone())?;
    Ok(cache.with_overrides(overrides).with_progress(progress))
}
