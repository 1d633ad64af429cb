//! Replay: run stages again from what a stream holds, without one upstream call.
//!
//! A replay writes each message of a stream again in its place, so it reaches
//! the stream's readers once more. At most `window` tickets are under way at a
//! time, so a live edit waits behind that many and not behind the whole replay.

use crate::{Edge, Log, LogError, LogErrorKind, Selection, setup::SETTINGS};
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use whence_contract::ContentHash;

const POLL: Duration = Duration::from_millis(25);

/// What to run again.
#[derive(Clone, Debug)]
pub struct ReplayPlan {
    /// The stream to run from.
    pub from: Edge,
    /// Which tickets of it.
    pub selection: Selection,
    /// Tickets under way at a time.
    pub window: u64,
}

/// How far a replay is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReplayProgress {
    /// Tickets sent, those of an interrupted earlier attempt included.
    pub done: u64,
    /// Tickets in all.
    pub total: u64,
    /// Tickets sent but not yet searchable.
    pub under_way: u64,
}

#[derive(Serialize, Deserialize)]
struct Place {
    subject: String,
    total: u64,
}

impl Log {
    /// Runs the plan to its end, and returns when all of it has passed the last
    /// stage. An interrupted replay of the same plan goes on where it stopped.
    ///
    /// # Errors
    /// When the log cannot be read or written, or `stop` came first
    /// ([`LogErrorKind::Conflict`]); the place is kept either way.
    pub async fn replay(
        &self,
        plan: &ReplayPlan,
        models: &[String],
        stop: &CancellationToken,
        mut progress: impl FnMut(ReplayProgress),
    ) -> Result<ReplayProgress, LogError> {
        let mut messages = self.scan(&plan.from, &plan.selection, true).await?;
        messages.sort_by(|a, b| a.subject.cmp(&b.subject));
        let place_key = place_key(plan);
        let place: Option<Place> = self.read(SETTINGS, &place_key).await?;
        let start = place.map_or(0, |place| {
            messages.partition_point(|message| message.subject <= place.subject)
        });
        let total = messages.len() as u64;
        let mut now = ReplayProgress {
            done: start as u64,
            total,
            under_way: 0,
        };
        let mut saved = Instant::now();
        for message in messages.into_iter().skip(start) {
            now.under_way = self.settle_below(plan, models, plan.window, stop).await?;
            progress(now);
            self.touch(&plan.from, &message.head.key).await?;
            now.done += 1;
            if saved.elapsed() > Duration::from_secs(1) {
                self.write(
                    SETTINGS,
                    &place_key,
                    &Place {
                        subject: message.subject,
                        total,
                    },
                )
                .await?;
                saved = Instant::now();
            }
        }
        now.under_way = self.settle_below(plan, models, 1, stop).await?;
        progress(now);
        let bucket = self.bucket(SETTINGS).await?;
        bucket
            .purge(whence_contract::encode_token(&place_key))
            .await
            .map_err(|e| {
                LogError::new(
                    LogErrorKind::Transient,
                    "cannot clear the replay's place",
                    e,
                )
            })?;
        Ok(now)
    }

    /// Waits until fewer than `limit` messages wait or are in work from the
    /// plan's stream on; returns how many.
    async fn settle_below(
        &self,
        plan: &ReplayPlan,
        models: &[String],
        limit: u64,
        stop: &CancellationToken,
    ) -> Result<u64, LogError> {
        loop {
            let under_way = self.under_way(&plan.from, models).await?;
            if under_way < limit {
                return Ok(under_way);
            }
            tokio::select! {
                () = stop.cancelled() => {
                    return Err(LogError::bare(
                        LogErrorKind::Conflict,
                        "the replay was stopped; the same command goes on where it was",
                    ));
                }
                () = tokio::time::sleep(POLL) => {}
            }
        }
    }

    /// Messages that wait or are in work in `from` and every later stream.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn under_way(&self, from: &Edge, models: &[String]) -> Result<u64, LogError> {
        let mut sum = 0;
        for edge in Edge::all(models)
            .into_iter()
            .skip_while(|edge| edge != from)
        {
            for consumer in edge.consumers(models) {
                let status = self.consumer_status(&edge, &consumer).await?;
                sum += status.pending + status.in_work;
            }
        }
        Ok(sum)
    }
}

/// Where the place of this very plan is kept.
fn place_key(plan: &ReplayPlan) -> String {
    let selection = serde_json::to_string(&plan.selection).unwrap_or_default();
    let hash = ContentHash::of(format!("{} {selection}", plan.from.stream()));
    format!("replay-{}", &hash.as_str()[..16])
}
