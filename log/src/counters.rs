//! What a worker counts, and how others see it.

use crate::{Log, LogError, LogErrorKind, setup::WORKERS, store::Outcome};
use futures::TryStreamExt;
use serde::{Deserialize, Serialize};
use std::{
    sync::atomic::{AtomicU64, Ordering::Relaxed},
    time::Duration,
};
use tokio_util::sync::CancellationToken;
use whence_contract::{Timestamp, encode_token};

const REPORT_EVERY: Duration = Duration::from_secs(3);

/// Counts of one worker since it started.
#[derive(Debug, Default)]
pub struct Counters {
    done: AtomicU64,
    superseded: AtomicU64,
    dead: AtomicU64,
    retried: AtomicU64,
    pulls_failed: AtomicU64,
    busy_micros: AtomicU64,
}

impl Counters {
    pub(crate) fn finished(&self, outcome: Outcome, took: Duration) {
        match outcome {
            Outcome::Stored => self.done.fetch_add(1, Relaxed),
            Outcome::Superseded => self.superseded.fetch_add(1, Relaxed),
        };
        self.busy_micros
            .fetch_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Relaxed);
    }

    pub(crate) fn died(&self) {
        self.dead.fetch_add(1, Relaxed);
    }

    pub(crate) fn retried(&self) {
        self.retried.fetch_add(1, Relaxed);
    }

    pub(crate) fn pull_failed(&self) {
        self.pulls_failed.fetch_add(1, Relaxed);
    }

    /// Tickets whose output is stored.
    pub fn done(&self) -> u64 {
        self.done.load(Relaxed)
    }

    /// Tickets that became dead letters.
    pub fn dead(&self) -> u64 {
        self.dead.load(Relaxed)
    }

    /// The counts as a report of `worker` for `stage`.
    fn report(&self, stage: &str, worker: &str, started_at: Timestamp, rate: f64) -> WorkerReport {
        WorkerReport {
            stage: stage.to_owned(),
            worker: worker.to_owned(),
            started_at,
            done: self.done(),
            superseded: self.superseded.load(Relaxed),
            dead: self.dead(),
            retried: self.retried.load(Relaxed),
            pulls_failed: self.pulls_failed.load(Relaxed),
            busy_seconds: self.busy_micros.load(Relaxed) as f64 / 1e6,
            per_second: rate,
        }
    }
}

/// What a running worker last said of itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct WorkerReport {
    /// Its stage.
    pub stage: String,
    /// Its name, unique among workers.
    pub worker: String,
    /// Since when the counts run.
    pub started_at: Timestamp,
    /// Tickets whose output is stored.
    pub done: u64,
    /// Tickets that were older than what the output held.
    pub superseded: u64,
    /// Tickets that became dead letters.
    pub dead: u64,
    /// Tries that failed and were repeated.
    pub retried: u64,
    /// Pulls that failed and were repeated.
    pub pulls_failed: u64,
    /// Seconds spent on tickets, summed over those in work at a time.
    pub busy_seconds: f64,
    /// Tickets a second over the last report interval.
    pub per_second: f64,
}

impl Log {
    /// Reports `counters` every few seconds until `stop`. A report that cannot
    /// be written is left out: the next one carries the same counts.
    pub async fn report(
        &self,
        stage: &str,
        worker: &str,
        counters: &Counters,
        stop: CancellationToken,
    ) {
        let started_at = Timestamp::now();
        let key = format!("{}.{}", encode_token(stage), encode_token(worker));
        let mut last = 0;
        let mut ticks = tokio::time::interval(REPORT_EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                _ = ticks.tick() => {}
            }
            let done = counters.done();
            let rate = (done - last) as f64 / REPORT_EVERY.as_secs_f64();
            last = done;
            let report = counters.report(stage, worker, started_at, rate);
            if let (Ok(bucket), Ok(json)) = (
                self.js.get_key_value(WORKERS).await,
                serde_json::to_vec(&report),
            ) && let Err(error) = bucket.put(&key, json.into()).await
            {
                tracing::debug!(%error, "could not report");
            }
        }
        if let Ok(bucket) = self.js.get_key_value(WORKERS).await {
            let _gone_anyway_after_its_ttl = bucket.purge(&key).await;
        }
    }

    /// The last reports of the workers that run now, in order of stage and name.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn workers(&self) -> Result<Vec<WorkerReport>, LogError> {
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| {
            LogError::new(
                LogErrorKind::Transient,
                "cannot read the workers' reports",
                source,
            )
        };
        let bucket = self
            .js
            .get_key_value(WORKERS)
            .await
            .map_err(|e| failed(e.into()))?;
        let mut keys: Vec<String> = bucket
            .keys()
            .await
            .map_err(|e| failed(e.into()))?
            .try_collect()
            .await
            .map_err(|e| failed(e.into()))?;
        keys.sort();
        let mut reports = Vec::new();
        for key in keys {
            if let Some(bytes) = bucket.get(&key).await.map_err(|e| failed(e.into()))?
                && let Ok(report) = serde_json::from_slice(&bytes)
            {
                reports.push(report);
            }
        }
        Ok(reports)
    }
}
