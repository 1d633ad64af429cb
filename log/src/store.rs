//! Reading and writing a ticket's one message: the only publish function.

use crate::{
    Edge, Log, LogError, LogErrorKind,
    setup::CLAIMS,
    wire::{Head, ours},
};
use async_nats::{
    HeaderMap,
    jetstream::{
        context::PublishErrorKind, message::PublishMessage, stream::LastRawMessageErrorKind,
    },
};
use bytes::Bytes;
use tokio::io::AsyncReadExt;
use whence_contract::TicketKey;

/// What lies on a subject.
pub(crate) struct Stored {
    pub(crate) sequence: u64,
    pub(crate) head: Head,
    pub(crate) headers: HeaderMap,
    pub(crate) payload: Bytes,
}

/// How a publish ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It is stored and durable as the stream's replicas and sync setting say.
    Stored,
    /// The subject already holds this order or a newer one.
    Superseded,
}

impl Log {
    /// The last message of `key`, or `None` where there never was one.
    pub(crate) async fn last(
        &self,
        edge: &Edge,
        key: &TicketKey,
    ) -> Result<Option<Stored>, LogError> {
        let subject = edge.subject(key);
        let stream = self.stream(edge).await?;
        // Asked of the leader, not of any replica: the answer is compared with
        // and then written over.
        match stream.get_last_raw_message_by_subject(&subject).await {
            Ok(message) => Ok(Some(Stored {
                sequence: message.sequence,
                head: Head::decode(&message.subject, Some(&message.headers))?,
                headers: message.headers,
                payload: message.payload,
            })),
            Err(e) if e.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
            Err(e) => Err(LogError::new(
                LogErrorKind::Transient,
                format!("cannot read {subject}"),
                e,
            )),
        }
    }

    /// The body, from the message or from where its claim points.
    pub(crate) async fn body(&self, head: &Head, payload: Bytes) -> Result<Bytes, LogError> {
        let Some(name) = &head.claim else {
            return Ok(payload);
        };
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| {
            LogError::new(
                LogErrorKind::Transient,
                format!("cannot read the oversize body of {} ({name})", head.key),
                source,
            )
        };
        let store = self
            .js
            .get_object_store(CLAIMS)
            .await
            .map_err(|e| failed(e.into()))?;
        let mut object = match store.get(name).await {
            Ok(object) => object,
            Err(e) if e.kind() == async_nats::jetstream::object_store::GetErrorKind::NotFound => {
                return Err(LogError::new(
                    LogErrorKind::Conflict,
                    format!(
                        "the oversize body of {} is gone: a newer state replaced it",
                        head.key
                    ),
                    e,
                ));
            }
            Err(e) => return Err(failed(e.into())),
        };
        let mut body = Vec::with_capacity(object.info().size);
        object
            .read_to_end(&mut body)
            .await
            .map_err(|e| failed(e.into()))?;
        Ok(body.into())
    }

    /// Publishes `body` (empty for a tombstone) as the one message of its
    /// ticket, unless what stands there is newer, and waits for the ack.
    ///
    /// `stored` is what the caller read last; it is read again whenever somebody
    /// else wrote in between. An equal order is written again when it stood there
    /// before (that is what lets a replay flow on), but counts as written when it
    /// appears in between: it is our own publish whose ack got lost, or a twin's.
    pub(crate) async fn publish(
        &self,
        edge: &Edge,
        mut head: Head,
        body: Bytes,
        stored: Option<Stored>,
    ) -> Result<Outcome, LogError> {
        let mut stored = stored;
        if stored
            .as_ref()
            .is_some_and(|s| s.head.order() > head.order())
        {
            return Ok(Outcome::Superseded);
        }
        let payload = self.claim_if_oversize(edge, &mut head, body).await?;
        loop {
            let expected = stored.as_ref().map_or(0, |s| s.sequence);
            let sent = self
                .send(
                    &edge.subject(&head.key),
                    head.encode(),
                    payload.clone(),
                    expected,
                )
                .await;
            match sent {
                Ok(()) => {
                    let old = stored.and_then(|s| s.head.claim);
                    if let Some(old) = old.filter(|old| Some(old) != head.claim.as_ref()) {
                        self.drop_claim(&old).await;
                    }
                    return Ok(Outcome::Stored);
                }
                Err(e) if e.kind == LogErrorKind::Malformed => return Err(e),
                Err(e) => {
                    // A conflict, or an ack that never came: look at what stands there.
                    let now = match self.last(edge, &head.key).await {
                        Ok(now) => now,
                        Err(_) => return Err(e),
                    };
                    let moved = now.as_ref().map_or(0, |s| s.sequence) != expected;
                    if moved && now.as_ref().is_some_and(|s| s.head.order() >= head.order()) {
                        let ours = now.and_then(|s| s.head.claim) == head.claim;
                        if let Some(claim) = head.claim.filter(|_| !ours) {
                            self.drop_claim(&claim).await;
                        }
                        return Ok(Outcome::Superseded);
                    }
                    if e.kind != LogErrorKind::Conflict {
                        return Err(e);
                    }
                    stored = now;
                }
            }
        }
    }

    /// Writes the message that stands on a subject again, as it is, so that its
    /// readers see it once more. False when it changed in between: then the
    /// change flows by itself.
    pub(crate) async fn touch(&self, edge: &Edge, key: &TicketKey) -> Result<bool, LogError> {
        let Some(stored) = self.last(edge, key).await? else {
            return Ok(false);
        };
        let sent = self
            .send(
                &edge.subject(key),
                ours(&stored.headers),
                stored.payload,
                stored.sequence,
            )
            .await;
        match sent {
            Ok(()) => Ok(true),
            Err(e) if e.kind == LogErrorKind::Conflict => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// One publish, its ack awaited; the subject's last sequence must be `expected`.
    async fn send(
        &self,
        subject: &str,
        headers: HeaderMap,
        payload: Bytes,
        expected: u64,
    ) -> Result<(), LogError> {
        let message = PublishMessage::build()
            .headers(headers)
            .payload(payload)
            .expected_last_subject_sequence(expected);
        let acked = match self.js.send_publish(subject.to_owned(), message).await {
            Ok(ack) => ack.await.map(|_| ()),
            Err(e) => Err(e),
        };
        acked.map_err(|e| {
            let kind = match e.kind() {
                PublishErrorKind::WrongLastSequence | PublishErrorKind::WrongLastMessageId => {
                    LogErrorKind::Conflict
                }
                PublishErrorKind::MaxPayloadExceeded => LogErrorKind::Malformed,
                // Also what a server answers that has just started and has not
                // loaded its streams yet, so not fatal.
                PublishErrorKind::StreamNotFound
                | PublishErrorKind::TimedOut
                | PublishErrorKind::BrokenPipe
                | PublishErrorKind::MaxAckPending
                | PublishErrorKind::Other => LogErrorKind::Transient,
            };
            let hint = match e.kind() {
                PublishErrorKind::StreamNotFound => "; if it never existed, run `whence setup`",
                _ => "",
            };
            LogError::new(kind, format!("cannot publish on {subject}{hint}"), e)
        })
    }
}

/// A time from nanoseconds since 1970; the epoch where it is out of range.
pub(crate) fn timestamp(nanos: i128) -> jiff::Timestamp {
    jiff::Timestamp::from_nanosecond(nanos).unwrap_or(jiff::Timestamp::UNIX_EPOCH)
}
