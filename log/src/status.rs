//! What the server knows of each stream and its readers.

use crate::{Edge, Log, LogError, LogErrorKind, store::timestamp};
use serde::Serialize;
use whence_contract::Timestamp;

/// One stream.
#[derive(Clone, Debug, Serialize)]
pub struct EdgeStatus {
    /// Its name.
    pub stream: String,
    /// Messages it holds, one for each ticket, tombstones included.
    pub messages: u64,
    /// Bytes on disk as the server counts them.
    pub bytes: u64,
    /// Its readers.
    pub readers: Vec<ReaderStatus>,
}

/// One durable consumer.
#[derive(Clone, Debug, Serialize)]
pub struct ReaderStatus {
    /// The stage, with the model where there is one for each.
    pub stage: String,
    /// Messages that no worker has got yet.
    pub pending: u64,
    /// Messages in a worker's hands.
    pub in_work: u64,
    /// Messages in work that were delivered before.
    pub redelivered: u64,
    /// When the oldest message that is not done was written.
    pub oldest_waiting: Option<Timestamp>,
}

impl Log {
    /// All streams and readers, in the order the data runs.
    ///
    /// # Errors
    /// When the log cannot be read, or was never set up.
    pub async fn status(&self, models: &[String]) -> Result<Vec<EdgeStatus>, LogError> {
        let mut statuses = Vec::new();
        for edge in Edge::all(models) {
            let name = edge.stream();
            let info = self
                .stream(&edge)
                .await?
                .get_info()
                .await
                .map_err(|e| unreadable(&name, e))?;
            let mut readers = Vec::new();
            for consumer in edge.consumers(models) {
                readers.push(self.consumer_status(&edge, &consumer).await?);
            }
            statuses.push(EdgeStatus {
                stream: name,
                messages: info.state.messages,
                bytes: info.state.bytes,
                readers,
            });
        }
        Ok(statuses)
    }

    pub(crate) async fn consumer_status(
        &self,
        edge: &Edge,
        consumer: &str,
    ) -> Result<ReaderStatus, LogError> {
        let name = edge.stream();
        let stream = self.stream(edge).await?;
        let info = stream
            .consumer_info(consumer)
            .await
            .map_err(|e| unreadable(&name, e))?;
        let waiting = info.num_pending + info.num_ack_pending as u64;
        let oldest_waiting = if waiting == 0 {
            None
        } else {
            let first = info.ack_floor.stream_sequence + 1;
            let builder = stream.raw_message_builder().sequence(first);
            let message = builder
                .next_by_subject(format!("{}.>", edge.prefix()))
                .send()
                .await;
            message
                .ok()
                .map(|m| timestamp(m.time.unix_timestamp_nanos()))
        };
        Ok(ReaderStatus {
            stage: consumer.to_owned(),
            pending: info.num_pending,
            in_work: info.num_ack_pending as u64,
            redelivered: info.num_redelivered as u64,
            oldest_waiting,
        })
    }
}

fn unreadable(name: &str, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> LogError {
    LogError::new(
        LogErrorKind::Transient,
        format!("cannot read the state of {name}; if it never existed, run `whence setup`"),
        source,
    )
}
