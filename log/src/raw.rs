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
    /// The ids that people write for it, the present one last.
    pub names: Vec<String>,
    /// What a census said of the state that was published last.
    pub mark: Option<String>,
}

impl Log {
    /// Publishes the current state of one ticket, unless it is the one that was
    /// published last. Returns after the log has acknowledged it.
    ///
    /// The revision is `raw.fetched_at`, raised where needed to follow the last.
    /// Names that the last message bore are kept before the present ones.
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
        loop {
            let stored = self.last(&Edge::Raw, key).await?;
            let before = stored.as_ref().map_or(&[][..], |s| &s.head.names);
            let names = merge_names(before, &raw.names);
            if let Some(s) = &stored
                && s.head.live
                && s.head.hash.as_deref() == Some(hash.as_str())
                && s.head.origin.as_deref() == Some(raw.origin.as_str())
                && s.head.names == names
            {
                return Ok(Published::Unchanged(s.head.revision));
            }
            let revision = next_revision(raw.fetched_at, stored.as_ref().map(|s| &s.head));
            let mut head = Head::new::<RawTicket>(key.clone(), revision, Recipe::default());
            head.hash = Some(hash.as_str().to_owned());
            head.origin = Some(raw.origin.clone());
            head.names.clone_from(&names);
            head.mark.clone_from(&raw.mark);
            let whole = RawTicket {
                names,
                ..raw.clone()
            };
            let body = Bytes::from(serde_json::to_vec(&whole).map_err(|e| malformed(key, e))?);
            match self.publish(&Edge::Raw, head, body, stored).await? {
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
            head.names = stored
                .as_ref()
                .map(|s| s.head.names.clone())
                .unwrap_or_default();
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
                names: message.head.names,
                mark: message.head.mark,
                key: message.head.key,
            })
            .collect())
    }

    /// The state of one ticket as RAW holds it; `None` where it holds none, or a
    /// tombstone.
    ///
    /// # Errors
    /// When the log cannot be read, or holds what this binary cannot read.
    pub async fn raw(&self, key: &TicketKey) -> Result<Option<RawTicket>, LogError> {
        let stored = self.last(&Edge::Raw, key).await?;
        let Some(stored) = stored.filter(|stored| stored.head.live) else {
            return Ok(None);
        };
        stored.head.expect_schema::<RawTicket>()?;
        let body = self.body(&stored.head, stored.payload).await?;
        let raw = serde_json::from_slice(&body).map_err(|e| malformed(key, e))?;
        Ok(Some(raw))
    }

    /// The revision of a ticket that is searchable with a model; `None` where
    /// none ever was.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn searchable(
        &self,
        model: &str,
        key: &TicketKey,
    ) -> Result<Option<Revision>, LogError> {
        let edge = Edge::Indexed(model.to_owned());
        let stored = self.last(&edge, key).await?;
        Ok(stored.map(|stored| stored.head.revision))
    }

    /// What RAW knows of one ticket; `None` where it never held it.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn known_ticket(&self, key: &TicketKey) -> Result<Option<KnownTicket>, LogError> {
        let stored = self.last(&Edge::Raw, key).await?;
        Ok(stored.map(|stored| KnownTicket {
            live: stored.head.live,
            origin: stored.head.origin.unwrap_or_default(),
            revision: stored.head.revision,
            names: stored.head.names,
            mark: stored.head.mark,
            key: stored.head.key,
        }))
    }
}

/// Former names first, each once, the present ones at the end.
fn merge_names(former: &[String], present: &[String]) -> Vec<String> {
    let kept = former.iter().filter(|name| !present.contains(name));
    kept.chain(present).cloned().collect()
}

fn next_revision(now: Timestamp, last: Option<&Head>) -> Revision {
    let micros = u64::try_from(now.as_microsecond()).unwrap_or(0);
    Revision::next(micros, last.map(|head| head.revision))
}

fn malformed(key: &TicketKey, source: serde_json::Error) -> LogError {
    LogError::new(
        LogErrorKind::Malformed,
        format!("cannot encode or decode {key}"),
        source,
    )
}
