//! One item of a listing or a fetch into the log.

use super::{HarvestError, Run};
use crate::{Item, Unreadable};
use whence_contract::{DeadLetter, Recipe, Revision, TicketKey};
use whence_log::{Published, RunCounts, unknown};

/// This stage, in dead letters.
pub(super) const STAGE: &str = "harvest";

/// What was done with an item.
#[derive(Clone, Copy, Debug)]
pub(super) enum Done {
    Published(Published),
    Buried,
    /// The tombstone's revision, where something live stood there.
    Withdrawn(Option<Revision>),
}

impl Done {
    pub(super) fn count(self, counts: &mut RunCounts) {
        match self {
            Self::Published(Published::New(_)) => counts.published += 1,
            Self::Published(Published::Unchanged(_)) => counts.unchanged += 1,
            Self::Withdrawn(gone) => counts.deleted += u64::from(gone.is_some()),
            Self::Buried => {}
        }
    }
}

impl Run<'_> {
    /// What has no key of its own is known by its place.
    pub(super) fn letter_key(&self, bad: &Unreadable) -> TicketKey {
        let name = self.source.name();
        let kind = name.split_once(':').map_or(name, |(kind, _)| kind);
        bad.key
            .clone()
            .unwrap_or_else(|| unknown(kind, &bad.location))
    }

    /// Publishes, buries or withdraws. `heal`: a dead letter on this key is
    /// answered by a ticket that can be read.
    pub(super) async fn take_item(
        &self,
        key: &TicketKey,
        item: Item,
        heal: bool,
    ) -> Result<Done, HarvestError> {
        let (log, persist) = (self.log, self.persist);
        match item {
            Item::Ticket { raw, .. } => {
                let published = persist.run(|| log.publish_raw(key, &raw)).await?;
                if heal {
                    persist.run(|| log.resolve_dead(STAGE, key)).await?;
                }
                Ok(Done::Published(published))
            }
            Item::Withdrawn { why, .. } => {
                let now = (self.options.clock)();
                let gone = persist.run(|| log.tombstone(key, now)).await?;
                if gone.is_some() {
                    tracing::info!(%key, why, "withdrawn");
                }
                Ok(Done::Withdrawn(gone))
            }
            Item::Unreadable(bad) => {
                let letter = DeadLetter {
                    stage: STAGE.to_owned(),
                    subject: String::new(),
                    origin: Some(self.source.name().to_owned()),
                    location: Some(bad.location),
                    revision: Revision::default(),
                    recipe: Recipe::default(),
                    causes: bad.causes,
                    attempts: 1,
                    at: (self.options.clock)(),
                    size: bad.size,
                    input: bad.bytes,
                };
                persist.run(|| log.dead_letter(key, &letter)).await?;
                Ok(Done::Buried)
            }
        }
    }
}
