//! The runner: one pass of one source into the log.

mod deletions;
mod error;
mod fetch;
mod item;
mod pass;
mod persist;
mod record;
mod state;
mod sweep;

pub use error::HarvestError;

use crate::{Batches, Clock, Coverage, Listing, Since, Source, SourceError};
use error::Halt;
use pass::{Pass, Taken};
use persist::Persist;
use record::Record;
use state::State;
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use whence_contract::Timestamp;
use whence_log::{Lease, Leased, Log, RunCounts, RunRecord};

/// Batches that may wait between a source and the log.
const ROOM: usize = 4;

/// How a pass is run.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// What started it, for the run record.
    pub command: String,
    /// Take the lease, and a wiki's name, from whoever holds it.
    pub force: bool,
    /// List everything, even what looks unchanged.
    pub full: bool,
    /// Most tickets that one pass may remove, in percent of the scope's known
    /// ones. Up to five are always removed; all of them only at 100.
    pub max_prune_percent: u8,
    /// A tracker's sweep is due when the last one is older than this.
    pub sweep_after: Duration,
    /// Tickets that are fetched anew in every pass, as people write them. Names
    /// of other sources are passed over.
    pub worked: Vec<String>,
    /// Tickets in flight to the log at a time.
    pub window: usize,
    /// Where the run's times come from.
    pub clock: Clock,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            command: "harvest".to_owned(),
            force: false,
            full: false,
            max_prune_percent: 20,
            sweep_after: Duration::from_secs(60 * 60),
            worked: Vec::new(),
            window: 32,
            clock: Timestamp::now,
        }
    }
}

/// Runs one pass: lists the source, publishes what changed, writes dead letters
/// for what cannot be read, and tombstones for what is gone.
///
/// The record tells how it ended; it is also in the log, at the start and at
/// the end. A pass that failed or was stopped can simply be run again.
/// `progress` is called often, from the task that runs this.
///
/// # Errors
/// When the pass could not begin: the source is being harvested already, or the
/// log does not answer. Everything later is a record that says `failed`.
pub async fn run_once(
    log: &Log,
    source: &dyn Source,
    options: &RunOptions,
    stop: &CancellationToken,
    progress: &(dyn Fn(RunCounts) + Sync),
) -> Result<RunRecord, HarvestError> {
    let lease = take_lease(log, source, options.force).await?;
    let mut record = Record::begin(log, source.name(), options).await?;
    let halt = Halt::new(stop, lease.lost());
    let persist = Persist::new(&halt);
    let run = Run {
        log,
        source,
        options,
        persist: &persist,
        progress,
    };
    let outcome = run.pass(&mut record).await;
    if lease.lost().is_cancelled() {
        // The record belongs to whoever took over.
        return Ok(record.end(Err(HarvestError::LeaseLost)));
    }
    let record = record.end(outcome);
    if let Err(error) = persist.anyway(|| log.put_run(&record)).await {
        tracing::warn!(source = source.name(), %error, "the run record could not be stored");
    }
    Ok(record)
}

/// Fetches the tickets of this source that somebody wants now, and answers the
/// wishes; gives how many tickets changed.
///
/// # Errors
/// When the source is being harvested: then that pass grants them. When the log
/// does not answer.
pub async fn grant_wishes(
    log: &Log,
    source: &dyn Source,
    options: &RunOptions,
    stop: &CancellationToken,
) -> Result<RunCounts, HarvestError> {
    let mut counts = RunCounts::default();
    let Some(tracker) = source.tracker() else {
        return Ok(counts);
    };
    let lease = take_lease(log, source, options.force).await?;
    let halt = Halt::new(stop, lease.lost());
    let persist = Persist::new(&halt);
    let run = Run {
        log,
        source,
        options,
        persist: &persist,
        progress: &|_| (),
    };
    run.grant_wishes(tracker, &mut counts).await?;
    Ok(counts)
}

async fn take_lease(log: &Log, source: &dyn Source, force: bool) -> Result<Lease, HarvestError> {
    let name = format!("harvest {}", source.name());
    let holder = format!("process {}", std::process::id());
    match log.lease(&name, &holder, force).await? {
        Leased::Ours(lease) => Ok(lease),
        Leased::Held(holder) => Err(HarvestError::Held {
            source_name: source.name().to_owned(),
            holder,
        }),
    }
}

struct Run<'a> {
    log: &'a Log,
    source: &'a dyn Source,
    options: &'a RunOptions,
    persist: &'a Persist<'a>,
    progress: &'a (dyn Fn(RunCounts) + Sync),
}

impl Run<'_> {
    async fn pass(&self, record: &mut Record) -> Result<(), HarvestError> {
        let origins = self.claim().await?;
        let name = self.source.name();
        let state = self.persist.run(|| self.log.cursor(name)).await?;
        let before = state.map(State::decode).unwrap_or_default();
        let tracker = self.source.tracker();
        let since = Since {
            cursor: before.cursor.clone(),
            whole: self.options.full || (!before.settled && tracker.is_none()),
        };

        let mut pass = Pass::begin(self, &before).await?;
        let (out, batches) = Batches::channel(ROOM);
        let listing = async {
            // Moved in, so that the channel closes when the listing ends.
            let out = out;
            let listed = self.source.list(since, &out);
            let halted = self
                .persist
                .halt()
                .token()
                .run_until_cancelled(listed)
                .await;
            halted.unwrap_or(Err(SourceError::Stopped))
        };
        let (listing, taken) = tokio::join!(listing, pass.take(batches, &mut record.counts));
        taken?;
        let listing = listing.map_err(|error| self.listing_failed(error))?;
        let taken = pass.finish();

        record.warn(listing.warnings.iter().cloned());
        if let Coverage::Partial { why } = &listing.coverage {
            record.warn([format!("not all could be listed: {why}")]);
        }
        let (letters, tried) = (taken.stale_letters.clone(), taken.unreadable.clone());
        let mut after = if listing.unchanged {
            record.counts.listed = before.listed;
            record.counts.unchanged = before.listed;
            State {
                cursor: Some(listing.cursor),
                ..before
            }
        } else {
            self.settle(record, before, listing, taken, &origins)
                .await?
        };
        let Some(tracker) = tracker else {
            if record.counts.listed == 0 && record.is_quiet() {
                record.warn(["the source holds no ticket".to_owned()]);
            }
            return self.remember(&after).await;
        };
        // What the listing found is safe, whatever becomes of the rest.
        self.remember(&after).await?;
        self.grant_wishes(tracker, &mut record.counts).await?;
        self.fetch_worked(tracker, record).await?;
        let begin = (self.options.clock)();
        let due = after.swept_at.is_none_or(|at| {
            let age = begin.duration_since(at);
            Duration::try_from(age).map_or(true, |age| age >= self.options.sweep_after)
        });
        if due || self.options.full {
            // Until it has come to its end, a sweep is due.
            after.swept_at = None;
            self.remember(&after).await?;
            self.sweep(tracker, &letters, &tried, record).await?;
            after.swept_at = Some(begin);
        } else {
            self.retry_letters(tracker, &letters, &mut record.counts)
                .await?;
        }
        self.remember(&after).await
    }

    async fn remember(&self, state: &State) -> Result<(), HarvestError> {
        let value = state.encode()?;
        let name = self.source.name();
        self.persist.run(|| self.log.put_cursor(name, &value)).await
    }

    fn listing_failed(&self, error: SourceError) -> HarvestError {
        match error {
            SourceError::Stopped => HarvestError::Stopped,
            other => HarvestError::Source(other),
        }
    }

    /// Removes what is gone, and clears letters on what is not there any more.
    async fn settle(
        &self,
        record: &mut Record,
        before: State,
        listing: Listing,
        taken: Taken,
        origins: &[String],
    ) -> Result<State, HarvestError> {
        let mut after = State {
            cursor: Some(listing.cursor.clone()),
            settled: !matches!(listing.coverage, Coverage::Partial { .. }),
            listed: record.counts.listed,
            absent: before.absent.clone(),
            swept_at: before.swept_at,
        };
        if listing.coverage == Coverage::Whole {
            self.remove(record, &mut after, &listing, &taken, origins)
                .await?;
            for key in &taken.stale_letters {
                self.persist
                    .run(|| self.log.resolve_dead(item::STAGE, key))
                    .await?;
            }
        }
        Ok(after)
    }

    /// Takes the source's claim; gives the sources that fill the same scope.
    async fn claim(&self) -> Result<Vec<String>, HarvestError> {
        let name = self.source.name().to_owned();
        let Some(claim) = self.source.claim().map_err(HarvestError::Source)? else {
            return Ok(vec![name]);
        };
        let place = format!("claim {}", claim.what);
        let stored = self.persist.run(|| self.log.cursor(&place)).await?;
        let held = state::Claimed::decode(stored, &claim.owner);
        if held.owner != claim.owner && !self.options.force {
            return Err(HarvestError::Claimed {
                what: claim.what,
                owner: held.owner,
                remedy: claim.remedy,
            });
        }
        let claimed = held.with(&claim.owner, &name);
        let value = claimed.encode()?;
        self.persist
            .run(|| self.log.put_cursor(&place, &value))
            .await?;
        Ok(claimed.sources)
    }
}
