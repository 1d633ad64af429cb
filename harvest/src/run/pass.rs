//! Takes a source's batches into the log, several tickets at a time.

use super::{HarvestError, Run, State, persist::Persist};
use crate::{Batch, Item, Unreadable};
use futures::{StreamExt, future::BoxFuture, stream::FuturesUnordered};
use std::collections::HashSet;
use tokio::sync::mpsc;
use whence_contract::{DeadLetter, RawTicket, Recipe, Revision, TicketKey};
use whence_log::{Log, Published, RunCounts, Selection, unknown};

/// This stage, in dead letters.
pub(super) const STAGE: &str = "harvest";

/// What was taken.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// Keys that were there, readable or not.
    pub(super) seen: HashSet<TicketKey>,
    /// Keys of letters of this source on what was not unreadable this time.
    pub(super) stale_letters: HashSet<TicketKey>,
}

/// The taking half of a pass.
pub(super) struct Pass<'a> {
    run: &'a Run<'a>,
    before: &'a State,
    taken: Taken,
    /// Keys of tasks in flight: a key that comes twice must wait for itself.
    flying: HashSet<TicketKey>,
    /// The stored state still says that nothing is left to do.
    settled: bool,
}

type Task<'a> = BoxFuture<'a, Result<(TicketKey, Done), HarvestError>>;

enum Done {
    Published(Published),
    Buried,
}

impl<'a> Pass<'a> {
    /// Learns which letters of this source lie in the log.
    pub(super) async fn begin(run: &'a Run<'a>, before: &'a State) -> Result<Self, HarvestError> {
        let everything = Selection::default();
        let letters = run
            .persist
            .run(|| run.log.dead_letters(&everything))
            .await?;
        let ours = letters.into_iter().filter(|buried| {
            buried.letter.stage == STAGE
                && buried.letter.origin.as_deref() == Some(run.source.name())
        });
        Ok(Self {
            run,
            before,
            taken: Taken {
                seen: HashSet::new(),
                stale_letters: ours.map(|buried| buried.key).collect(),
            },
            flying: HashSet::new(),
            settled: before.settled,
        })
    }

    /// Takes batches until the source sends no more.
    pub(super) async fn take(
        &mut self,
        mut batches: mpsc::Receiver<Batch>,
        counts: &mut RunCounts,
    ) -> Result<(), HarvestError> {
        let halt = self.run.persist.halt().token();
        let mut tasks = FuturesUnordered::new();
        loop {
            let batch = match halt.run_until_cancelled(batches.recv()).await {
                None => return Err(HarvestError::Stopped),
                Some(None) => break,
                Some(Some(batch)) => batch,
            };
            if !batch.items.is_empty() {
                self.unsettle().await?;
            }
            for item in batch.items {
                let key = self.note(&item, counts);
                while self.flying.contains(&key) || tasks.len() >= self.run.options.window.max(1) {
                    self.land(&mut tasks, counts).await?;
                }
                self.flying.insert(key.clone());
                tasks.push(self.task(key, item));
            }
            if let Some(cursor) = batch.cursor {
                while !tasks.is_empty() {
                    self.land(&mut tasks, counts).await?;
                }
                self.resume_at(cursor).await?;
            }
        }
        while !tasks.is_empty() {
            self.land(&mut tasks, counts).await?;
        }
        Ok(())
    }

    /// From the first item on the log holds part of what is listed now: should
    /// the source go back to what the cursor knows, that is a change.
    async fn unsettle(&mut self) -> Result<(), HarvestError> {
        if self.settled {
            if let Some(cursor) = self.before.cursor.clone() {
                self.resume_at(cursor).await?;
            }
            self.settled = false;
        }
        Ok(())
    }

    /// What the batches held, after the last one.
    pub(super) fn finish(self) -> Taken {
        self.taken
    }

    fn note(&mut self, item: &Item, counts: &mut RunCounts) -> TicketKey {
        match item {
            Item::Ticket { key, .. } => {
                if self.taken.seen.insert(key.clone()) {
                    counts.listed += 1;
                }
                key.clone()
            }
            Item::Unreadable(bad) => {
                counts.unreadable += 1;
                let key = self.letter_key(bad);
                self.taken.stale_letters.remove(&key);
                self.taken.seen.extend(bad.key.clone());
                key
            }
        }
    }

    /// What has no key of its own is known by its place.
    fn letter_key(&self, bad: &Unreadable) -> TicketKey {
        let name = self.run.source.name();
        let kind = name.split_once(':').map_or(name, |(kind, _)| kind);
        bad.key
            .clone()
            .unwrap_or_else(|| unknown(kind, &bad.location))
    }

    fn task(&mut self, key: TicketKey, item: Item) -> Task<'a> {
        let (log, persist) = (self.run.log, self.run.persist);
        match item {
            Item::Ticket { raw, .. } => {
                let heal = self.taken.stale_letters.remove(&key);
                Box::pin(publish(log, persist, key, raw, heal))
            }
            Item::Unreadable(bad) => {
                let letter = DeadLetter {
                    stage: STAGE.to_owned(),
                    subject: String::new(),
                    origin: Some(self.run.source.name().to_owned()),
                    location: Some(bad.location),
                    revision: Revision::default(),
                    recipe: Recipe::default(),
                    causes: bad.causes,
                    attempts: 1,
                    at: (self.run.options.clock)(),
                    size: bad.size,
                    input: bad.bytes,
                };
                Box::pin(async move {
                    persist.run(|| log.dead_letter(&key, &letter)).await?;
                    Ok((key, Done::Buried))
                })
            }
        }
    }

    /// Waits for one task.
    async fn land(
        &mut self,
        tasks: &mut FuturesUnordered<Task<'a>>,
        counts: &mut RunCounts,
    ) -> Result<(), HarvestError> {
        let Some(landed) = tasks.next().await else {
            return Ok(());
        };
        let (key, done) = landed?;
        self.flying.remove(&key);
        match done {
            Done::Published(Published::New(_)) => counts.published += 1,
            Done::Published(Published::Unchanged(_)) => counts.unchanged += 1,
            Done::Buried => {}
        }
        (self.run.progress)(*counts);
        Ok(())
    }

    /// Stores where a later run has to begin.
    async fn resume_at(&self, cursor: serde_json::Value) -> Result<(), HarvestError> {
        let state = State {
            cursor: Some(cursor),
            settled: false,
            ..self.before.clone()
        };
        let value = state.encode()?;
        let name = self.run.source.name();
        self.run
            .persist
            .run(|| self.run.log.put_cursor(name, &value))
            .await
    }
}

async fn publish(
    log: &Log,
    persist: &Persist<'_>,
    key: TicketKey,
    raw: RawTicket,
    heal: bool,
) -> Result<(TicketKey, Done), HarvestError> {
    let published = persist.run(|| log.publish_raw(&key, &raw)).await?;
    if heal {
        persist.run(|| log.resolve_dead(STAGE, &key)).await?;
    }
    Ok((key, Done::Published(published)))
}
