//! Set-up: streams, consumers and buckets as declared state.
//!
//! Run by `whence setup` and `whence up`, never by a worker: a worker that finds
//! something missing says so and stops.

use crate::{Edge, Log, LogError, LogErrorKind};
use async_nats::jetstream::{
    consumer::{AckPolicy, DeliverPolicy, pull},
    kv, object_store,
    stream::{Compression, Config, DiscardPolicy, StorageType},
};
use std::time::Duration;

/// How long a worker may stay silent on a message before it goes to another.
/// A stage that works longer signals progress; see the worker loop.
pub(crate) const ACK_WAIT: Duration = Duration::from_secs(30);
/// Deliveries after which a message that never finishes (it kills its worker)
/// becomes a dead letter. Failures that the worker survives do not count here.
pub(crate) const MAX_DELIVERIES: i64 = 20;
/// A crashed holder loses its lease after this long.
pub(crate) const LEASE_TTL: Duration = Duration::from_secs(30);
/// A worker that has not reported for this long is not shown any more.
const WORKER_TTL: Duration = Duration::from_secs(30);
/// A wish to fetch a ticket is forgotten after this long; the next pass over its
/// source finds the change by itself.
const WANT_TTL: Duration = Duration::from_secs(24 * 60 * 60);
/// Room for more than any pipeline has; the default of 1,000 would hold back
/// nothing, since a worker pulls only what it has a permit for.
const MAX_ACK_PENDING: i64 = 1_000;

pub(crate) const CURSORS: &str = "whence_cursors";
pub(crate) const RUNS: &str = "whence_runs";
pub(crate) const LEASES: &str = "whence_leases";
pub(crate) const SETTINGS: &str = "whence_settings";
pub(crate) const WANTS: &str = "whence_wants";
pub(crate) const WORKERS: &str = "whence_workers";
pub(crate) const CLAIMS: &str = "whence_claims";

impl Log {
    /// Creates or updates every stream, consumer and bucket for these models.
    /// Idempotent; never resets a consumer's place and never deletes.
    ///
    /// # Errors
    /// When the server refuses, such as for lack of disk or of replicas.
    pub async fn set_up(&self, models: &[String]) -> Result<(), LogError> {
        for edge in Edge::all(models) {
            self.set_up_edge(&edge, models).await?;
        }
        for (bucket, max_age) in [
            (CURSORS, Duration::ZERO),
            (RUNS, Duration::ZERO),
            (SETTINGS, Duration::ZERO),
            (LEASES, LEASE_TTL),
            (WANTS, WANT_TTL),
            (WORKERS, WORKER_TTL),
        ] {
            let config = kv::Config {
                bucket: bucket.to_owned(),
                history: 1,
                max_age,
                storage: StorageType::File,
                num_replicas: self.replicas,
                ..kv::Config::default()
            };
            self.js
                .create_or_update_key_value(config)
                .await
                .map_err(|e| refused(bucket, e))?;
        }
        if self.js.get_object_store(CLAIMS).await.is_err() {
            let config = object_store::Config {
                bucket: CLAIMS.to_owned(),
                description: Some("bodies too large for a message".to_owned()),
                storage: StorageType::File,
                num_replicas: self.replicas,
                compression: true,
                ..object_store::Config::default()
            };
            self.js
                .create_object_store(config)
                .await
                .map_err(|e| refused(CLAIMS, e))?;
        }
        Ok(())
    }

    async fn set_up_edge(&self, edge: &Edge, models: &[String]) -> Result<(), LogError> {
        let name = edge.stream();
        let config = Config {
            name: name.clone(),
            subjects: vec![format!("{}.>", edge.prefix())],
            max_messages_per_subject: 1,
            discard: DiscardPolicy::Old,
            storage: StorageType::File,
            num_replicas: self.replicas,
            compression: Some(Compression::S2),
            allow_direct: true,
            // Order is decided by expected sequences, not by message ids: an id
            // would answer a retried publish with "duplicate" and drop it.
            duplicate_window: Duration::from_secs(1),
            description: Some("last message per ticket".to_owned()),
            ..Config::default()
        };
        self.js
            .create_or_update_stream(config)
            .await
            .map_err(|e| refused(&name, e))?;
        let stream = self.stream(edge).await?;
        for durable in edge.consumers(models) {
            let config = pull::Config {
                durable_name: Some(durable.clone()),
                deliver_policy: DeliverPolicy::All,
                ack_policy: AckPolicy::Explicit,
                ack_wait: ACK_WAIT,
                max_deliver: -1,
                max_ack_pending: MAX_ACK_PENDING,
                ..pull::Config::default()
            };
            stream
                .create_consumer(config)
                .await
                .map_err(|e| refused(&format!("{name}/{durable}"), e))?;
        }
        Ok(())
    }
}

fn refused(what: &str, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> LogError {
    LogError::new(
        LogErrorKind::Fatal,
        format!("cannot set up {what} in NATS; check its disk space, limits and replicas"),
        source,
    )
}
