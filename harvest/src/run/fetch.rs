//! Single tickets: what a person, a webhook or a sweep wants looked at.

use super::{HarvestError, Run, item::Done, record::Record};
use crate::{Fetched, Item, SourceError, Tracker, Wanted};
use whence_contract::{Revision, TicketKey, Timestamp};
use whence_log::{KnownTicket, Published, RunCounts, Selection, WantAnswer};

/// A wish that was granted.
pub(super) struct Granted {
    pub(super) key: TicketKey,
    /// When it was asked for: what was read before knows less.
    pub(super) at: Timestamp,
}

/// How a ticket stands in the log after it was fetched.
#[derive(Debug)]
pub(super) enum Stands {
    At(TicketKey, Revision),
    /// Neither the service nor the log has it.
    Nowhere,
}

impl Run<'_> {
    /// Fetches every ticket that is wished for, and answers the wishes.
    pub(super) async fn grant_wishes(
        &self,
        tracker: &dyn Tracker,
        counts: &mut RunCounts,
    ) -> Result<Vec<Granted>, HarvestError> {
        let name = self.source.name();
        let wishes = self.persist.run(|| self.log.wants(name)).await?;
        let mut granted = Vec::new();
        for wish in wishes {
            let at = (self.options.clock)();
            let wanted = self.wanted(&wish.name).await?;
            let answer = match self.refetch(tracker, wanted, counts).await {
                Ok(Stands::At(key, revision)) => {
                    granted.push(Granted {
                        key: key.clone(),
                        at,
                    });
                    WantAnswer::Fetched { key, revision }
                }
                Ok(Stands::Nowhere) => WantAnswer::Unknown,
                Err(HarvestError::Source(error)) => WantAnswer::Failed {
                    why: super::persist::causes(&error),
                },
                Err(error) => return Err(error),
            };
            let answer = &answer;
            self.persist
                .run(|| self.log.answer(&wish, answer.clone()))
                .await?;
        }
        Ok(granted)
    }

    /// Fetches the tickets that people work on, whatever their times say.
    pub(super) async fn fetch_worked(
        &self,
        tracker: &dyn Tracker,
        record: &mut Record,
    ) -> Result<(), HarvestError> {
        for name in self.options.worked.iter().filter(|n| tracker.covers(n)) {
            let wanted = self.wanted(name).await?;
            match self.refetch(tracker, wanted, &mut record.counts).await {
                Ok(Stands::At(..)) => {}
                Ok(Stands::Nowhere) => {
                    record.warn([format!("{name}, named in `worked`, is not there")]);
                }
                Err(HarvestError::Source(error)) => {
                    record.warn([format!("{name}: {}", super::persist::causes(&error))]);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// What is known of a ticket that people call so.
    async fn wanted(&self, name: &str) -> Result<Wanted, HarvestError> {
        let everything = Selection::default();
        let known = self.persist.run(|| self.log.known(&everything)).await?;
        let ours = known.into_iter().find(|ticket| {
            ticket.origin == self.source.name()
                && ticket.names.iter().any(|n| n.eq_ignore_ascii_case(name))
        });
        Ok(match ours {
            Some(ticket) => wanted(&ticket),
            None => Wanted {
                key: None,
                names: vec![name.to_owned()],
            },
        })
    }

    /// Fetches one ticket and takes what came into the log.
    pub(super) async fn refetch(
        &self,
        tracker: &dyn Tracker,
        wanted: Wanted,
        counts: &mut RunCounts,
    ) -> Result<Stands, HarvestError> {
        let fetch = tracker.fetch(&wanted);
        let fetched = match self.persist.halt().token().run_until_cancelled(fetch).await {
            None | Some(Err(SourceError::Stopped)) => return Err(HarvestError::Stopped),
            Some(Err(error)) => return Err(HarvestError::Source(error)),
            Some(Ok(fetched)) => fetched,
        };
        match fetched {
            Fetched::Gone => match &wanted.key {
                Some(key) => self.bury(key, counts).await,
                None => Ok(Stands::Nowhere),
            },
            Fetched::Present(item) => self.take_fetched(&wanted, item, counts).await,
        }
    }

    async fn take_fetched(
        &self,
        wanted: &Wanted,
        mut item: Item,
        counts: &mut RunCounts,
    ) -> Result<Stands, HarvestError> {
        let key = match &item {
            Item::Unreadable(bad) => {
                counts.unreadable += 1;
                self.letter_key(bad)
            }
            Item::Ticket { key, .. } | Item::Withdrawn { key, .. } => key.clone(),
        };
        let moved = wanted.key.as_ref().filter(|old| **old != key);
        if let (Some(_), Item::Ticket { raw, .. }) = (moved, &mut item) {
            // Under its new identity it still answers to its former names.
            let mut names = wanted.names.clone();
            names.retain(|name| !raw.names.contains(name));
            names.append(&mut raw.names);
            raw.names = names;
        }
        let done = self.take_item(&key, item, true).await?;
        done.count(counts);
        (self.progress)(*counts);
        if let Some(old) = moved {
            self.bury(old, counts).await?;
        }
        match done {
            Done::Published(Published::New(revision) | Published::Unchanged(revision))
            | Done::Withdrawn(Some(revision)) => Ok(Stands::At(key, revision)),
            Done::Buried | Done::Withdrawn(None) => self.stands(&key).await,
        }
    }

    async fn bury(&self, key: &TicketKey, counts: &mut RunCounts) -> Result<Stands, HarvestError> {
        let now = (self.options.clock)();
        let gone = self.persist.run(|| self.log.tombstone(key, now)).await?;
        counts.deleted += u64::from(gone.is_some());
        (self.progress)(*counts);
        match gone {
            Some(revision) => Ok(Stands::At(key.clone(), revision)),
            None => self.stands(key).await,
        }
    }

    async fn stands(&self, key: &TicketKey) -> Result<Stands, HarvestError> {
        let known = self.persist.run(|| self.log.known_ticket(key)).await?;
        Ok(match known {
            Some(known) => Stands::At(known.key, known.revision),
            None => Stands::Nowhere,
        })
    }
}

/// A ticket of the log as a source wants to hear of it.
pub(super) fn wanted(known: &KnownTicket) -> Wanted {
    Wanted {
        key: Some(known.key.clone()),
        names: known.names.clone(),
    }
}
