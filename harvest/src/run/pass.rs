//! Takes a source's batches into the log, several tickets at a time.

use super::{
    HarvestError, Run, State,
    item::{self, Done},
};
use crate::{Batch, Item, Unreadable};
use futures::{StreamExt, future::BoxFuture, stream::FuturesUnordered};
use std::{
    collections::{HashMap, HashSet},
    time::Duration,
};
use tokio::{sync::mpsc, time::Instant};
use whence_contract::{TicketKey, Timestamp};
use whence_log::{RunCounts, Selection};

/// How often a pass looks whether somebody wants one ticket now.
const WISHES: Duration = Duration::from_secs(1);

/// What was taken.
#[derive(Debug, Default)]
pub(super) struct Taken {
    /// Keys that were there, readable or not.
    pub(super) seen: HashSet<TicketKey>,
    /// Keys of what could not be read this time.
    pub(super) unreadable: HashSet<TicketKey>,
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
    /// Tickets that were fetched by wish during this pass, and when: a listing
    /// that was read before knows less of them.
    fetched: HashMap<TicketKey, Timestamp>,
    /// When it was last looked for wishes.
    looked_at: Instant,
}

type Task<'a> = BoxFuture<'a, Result<(TicketKey, Done), HarvestError>>;

impl<'a> Pass<'a> {
    /// Learns which letters of this source lie in the log.
    pub(super) async fn begin(run: &'a Run<'a>, before: &'a State) -> Result<Self, HarvestError> {
        let everything = Selection::default();
        let letters = run
            .persist
            .run(|| run.log.dead_letters(&everything))
            .await?;
        let ours = letters.into_iter().filter(|buried| {
            buried.letter.stage == item::STAGE
                && buried.letter.origin.as_deref() == Some(run.source.name())
        });
        Ok(Self {
            run,
            before,
            taken: Taken {
                seen: HashSet::new(),
                unreadable: HashSet::new(),
                stale_letters: ours.map(|buried| buried.key).collect(),
            },
            flying: HashSet::new(),
            settled: before.settled,
            fetched: HashMap::new(),
            looked_at: Instant::now(),
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
            let received = tokio::time::timeout(WISHES, batches.recv());
            let batch = match halt.run_until_cancelled(received).await {
                None => return Err(HarvestError::Stopped),
                Some(Ok(None)) => break,
                Some(Ok(Some(batch))) => batch,
                // A slow listing must not keep people waiting.
                Some(Err(_)) => Batch::default(),
            };
            self.grant_wishes(counts).await?;
            if !batch.items.is_empty() {
                self.unsettle().await?;
            }
            for item in batch.items {
                if self.is_outdated(&item) {
                    continue;
                }
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

    /// Fetches what was wished for since the last look, where this source can.
    async fn grant_wishes(&mut self, counts: &mut RunCounts) -> Result<(), HarvestError> {
        let Some(tracker) = self.run.source.tracker() else {
            return Ok(());
        };
        if self.looked_at.elapsed() < WISHES {
            return Ok(());
        }
        self.looked_at = Instant::now();
        for granted in self.run.grant_wishes(tracker, counts).await? {
            self.fetched.insert(granted.key, granted.at);
        }
        Ok(())
    }

    fn is_outdated(&self, item: &Item) -> bool {
        match item {
            Item::Ticket { key, raw } => self
                .fetched
                .get(key)
                .is_some_and(|fetched| raw.fetched_at < *fetched),
            Item::Unreadable(_) | Item::Withdrawn { .. } => false,
        }
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
            Item::Withdrawn { key, .. } => {
                self.taken.seen.insert(key.clone());
                key.clone()
            }
            Item::Unreadable(bad) => {
                counts.unreadable += 1;
                let key = self.letter_key(bad);
                self.taken.stale_letters.remove(&key);
                self.taken.unreadable.insert(key.clone());
                self.taken.seen.extend(bad.key.clone());
                key
            }
        }
    }

    /// What has no key of its own is known by its place.
    fn letter_key(&self, bad: &Unreadable) -> TicketKey {
        self.run.letter_key(bad)
    }

    fn task(&mut self, key: TicketKey, item: Item) -> Task<'a> {
        let heal = self.taken.stale_letters.remove(&key) && matches!(item, Item::Ticket { .. });
        let run = self.run;
        Box::pin(async move {
            let done = run.take_item(&key, item, heal).await?;
            Ok((key, done))
        })
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
        done.count(counts);
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
