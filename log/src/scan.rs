//! Walking a stream from its first message to its last.

use crate::{Edge, Log, LogError, LogErrorKind, wire::Head};
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use bytes::Bytes;
use futures::StreamExt;
use std::time::Duration;
use whence_contract::{Provenance, encode_token};

/// A walk that hears nothing for this long has failed.
const SILENCE: Duration = Duration::from_secs(15);

/// Which tickets: each field that is given must match.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Selection {
    /// Only this provenance.
    pub provenance: Option<Provenance>,
    /// Only this kind of system.
    pub source: Option<String>,
    /// Only this repository, project or wiki.
    pub scope: Option<String>,
    /// Only this ticket.
    pub ticket: Option<String>,
}

impl Selection {
    /// The subject pattern of these tickets on `edge`.
    pub(crate) fn pattern(&self, edge: &Edge) -> String {
        let token = |part: &Option<String>| part.as_deref().map_or("*".to_owned(), encode_token);
        // Dead letters carry the stage before the key.
        let stage = if *edge == Edge::Dead { "*." } else { "" };
        format!(
            "{}.{stage}{}.{}.{}.{}",
            edge.prefix(),
            self.provenance.map_or("*", Provenance::as_str),
            token(&self.source),
            token(&self.scope),
            token(&self.ticket)
        )
    }
}

/// One message of a walk.
#[derive(Clone, Debug)]
pub(crate) struct Scanned {
    pub(crate) subject: String,
    pub(crate) head: Head,
    /// Empty on a walk of heads only.
    pub(crate) payload: Bytes,
}

impl Log {
    /// How many tickets the selection holds in the stream of `edge`, tombstones
    /// included.
    ///
    /// # Errors
    /// When the log cannot be read to its end.
    pub async fn count(&self, edge: &Edge, selection: &Selection) -> Result<u64, LogError> {
        Ok(self.scan(edge, selection, true).await?.len() as u64)
    }

    /// All messages of the selection that stood in the stream when the walk
    /// began, and perhaps later ones, in stream order.
    pub(crate) async fn scan(
        &self,
        edge: &Edge,
        selection: &Selection,
        heads_only: bool,
    ) -> Result<Vec<Scanned>, LogError> {
        let name = edge.stream();
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| {
            LogError::new(
                LogErrorKind::Transient,
                format!("cannot read {name} to its end"),
                source,
            )
        };
        let stream = self.stream(edge).await?;
        let consumer = stream
            .create_consumer(pull::Config {
                deliver_policy: DeliverPolicy::All,
                ack_policy: AckPolicy::None,
                filter_subject: selection.pattern(edge),
                headers_only: heads_only,
                inactive_threshold: SILENCE * 2,
                memory_storage: true,
                num_replicas: 1,
                ..pull::Config::default()
            })
            .await
            .map_err(|e| failed(e.into()))?;
        let mut found = Vec::new();
        if consumer.cached_info().num_pending == 0 {
            return Ok(found);
        }
        let mut messages = consumer.messages().await.map_err(|e| failed(e.into()))?;
        loop {
            let next = tokio::time::timeout(SILENCE, messages.next())
                .await
                .map_err(|e| failed(e.into()))?;
            let message = next
                .ok_or_else(|| failed("the walk ended early".into()))?
                .map_err(|e| failed(e.into()))?;
            let info = message.info().map_err(failed)?;
            let pending = info.pending;
            match Head::decode(&message.subject, message.headers.as_ref()) {
                Ok(head) => found.push(Scanned {
                    subject: message.subject.to_string(),
                    head,
                    payload: message.payload.clone(),
                }),
                Err(error) => tracing::warn!(%error, "a message that is not ours was passed over"),
            }
            if pending == 0 {
                return Ok(found);
            }
        }
    }
}
