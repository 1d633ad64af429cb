//! Harvest's side of the log: publish a state, bury a ticket, list what is known.

use crate::{Edge, Log, LogError, LogErrorKind, scan::Selection, store::Outcome, wire::Head};
use bytes::Bytes;
use whence_contract::{ContentHash, RawTicket, Recipe, Revision, TicketKey, Timestamp};

/// How a publish of one ticket's state ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Published {
    /// A new state: it has this revision, and flows.
    New(Revision),
    /// Equal to the last one published: nothing flows.
    Unchanged(Revision),
}

/// A ticket that RAW holds, or held until its tombstone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownTicket {
    /// Which ticket.
    pub key: TicketKey,
    /// False where the last message is a tombstone.
    pub live: bool,
    /// The source that published it last.
    pub origin: String,
    /// Of the last message.
    pub revision: Revision,
}

impl Log {
    /// Publishes the current state of one ticket, unless it is the one that was
    /// published last. Returns after the log has acknowledged it.
    ///
    /// The revision is `raw.fetched_at`, raised where needed to follow the last.
    ///
    /// # Errors
    /// When the log cannot be read or written; nothing is published then, or the
    /// same state, so the call may be repeated.
    pub async fn publish_raw(
        &self,
        key: &TicketKey,
        raw: &RawTicket,
    ) -> Result<Published, LogError> {
        let dialect = serde_json::to_string(&raw.dialect).map_err(|e| malformed(key, e))?;
        let hash = ContentHash::of(format!("{dialect}\n{}", raw.payload.get()));
        let body = Bytes::from(serde_json::to_vec(raw).map_err(|e| malformed(key, e))?);
        loop {
            let stored = self.last(&Edge::Raw, key).await?;
            if let Some(s) = &stored
                && s.head.live
                && s.head.hash.as_deref() == Some(hash.as_str())
                && s.head.origin.as_deref() == Some(raw.origin.as_str())
            {
                return Ok(Published::Unchanged(s.head.revision));
            }
            let revision = next_revision(raw.fetched_at, stored.as_ref().map(|s| &s.head));
            let mut head = Head::new::<RawTicket>(key.clone(), revision, Recipe::default());
            head.hash = Some(hash.as_str().to_owned());
            head.origin = Some(raw.origin.clone());
            match self.publish(&Edge::Raw, head, body.clone(), stored).await? {
                Outcome::Stored => return Ok(Published::New(revision)),
                // Somebody published this ticket in between: compare again.
                Outcome::Superseded => {}
            }
        }
    }

    /// Puts a tombstone in the ticket's place, in this stream now and in every
    /// later one as it flows. `None` where nothing live stands there.
    ///
    /// # Errors
    /// When the log cannot be read or written; may be repeated.
    pub async fn tombstone(
        &self,
        key: &TicketKey,
        now: Timestamp,
    ) -> Result<Option<Revision>, LogError> {
        loop {
            let stored = self.last(&Edge::Raw, key).await?;
            let Some(origin) = stored
                .as_ref()
                .filter(|s| s.head.live)
                .map(|s| s.head.origin.clone())
            else {
                return Ok(None);
            };
            let revision = next_revision(now, stored.as_ref().map(|s| &s.head));
            let mut head = Head::new::<RawTicket>(key.clone(), revision, Recipe::default());
            head.live = false;
            head.origin = origin;
            match self.publish(&Edge::Raw, head, Bytes::new(), stored).await? {
                Outcome::Stored => {
                    self.resolve_dead("harvest", key).await?;
                    return Ok(Some(revision));
                }
                Outcome::Superseded => {}
            }
        }
    }

    /// Every ticket that RAW knows in the selection, tombstones included, in the
    /// order in which they were last published.
    ///
    /// # Errors
    /// When the log cannot be read to the end: the answer is never cut short.
    pub async fn known(&self, selection: &Selection) -> Result<Vec<KnownTicket>, LogError> {
        let scanned = self.scan(&Edge::Raw, selection, true).await?;
        Ok(scanned
            .into_iter()
            .map(|message| KnownTicket {
                live: message.head.live,
                origin: message.head.origin.unwrap_or_default(),
                revision: message.head.revision,
                key: message.head.key,
            })
            .collect())
    }
}

fn next_revision(now: Timestamp, last: Option<&Head>) -> Revision {
    let micros = u64::try_from(now.as_microsecond()).unwrap_or(0);
    Revision::next(micros, last.map(|head| head.revision))
}

fn malformed(key: &TicketKey, source: serde_json::Error) -> LogError {
    LogError::new(
        LogErrorKind::Malformed,
        format!("cannot encode {key}"),
        source,
    )
}
