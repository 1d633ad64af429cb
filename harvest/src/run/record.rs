//! The run record while the pass goes on.

use super::{HarvestError, RunOptions, persist::causes};
use crate::Clock;
use whence_log::{Log, RunCounts, RunRecord, RunStatus};

/// Warnings that a record keeps; of the others it tells the number.
const KEPT_WARNINGS: usize = 20;

/// A run that has begun.
pub(super) struct Record {
    pub(super) counts: RunCounts,
    run: RunRecord,
    more_warnings: usize,
    clock: Clock,
}

impl Record {
    /// Stores that the run has begun.
    pub(super) async fn begin(
        log: &Log,
        source: &str,
        options: &RunOptions,
    ) -> Result<Self, HarvestError> {
        let last = log.last_run(source).await?;
        let run = begin(source, options, last);
        log.put_run(&run).await?;
        Ok(Self {
            counts: RunCounts::default(),
            run,
            more_warnings: 0,
            clock: options.clock,
        })
    }

    pub(super) fn warn(&mut self, warnings: impl IntoIterator<Item = String>) {
        for warning in warnings {
            tracing::warn!(source = self.run.source, "{warning}");
            if self.run.warnings.len() < KEPT_WARNINGS {
                self.run.warnings.push(warning);
            } else {
                self.more_warnings += 1;
            }
        }
    }

    /// Whether nothing was worth a warning so far.
    pub(super) fn is_quiet(&self) -> bool {
        self.run.warnings.is_empty()
    }

    pub(super) fn end(mut self, outcome: Result<(), HarvestError>) -> RunRecord {
        let now = (self.clock)();
        let mut run = self.run;
        if self.more_warnings > 0 {
            run.warnings
                .push(format!("and {} further warnings", self.more_warnings));
        }
        run.counts = std::mem::take(&mut self.counts);
        run.finished_at = Some(now);
        match outcome {
            Ok(()) => {
                run.status = RunStatus::Succeeded;
                run.last_success_at = Some(now);
                run.consecutive_failures = 0;
            }
            Err(error) => {
                run.status = RunStatus::Failed;
                run.consecutive_failures += 1;
                run.error = Some(causes(&error));
            }
        }
        run
    }
}

fn begin(source: &str, options: &RunOptions, last: Option<RunRecord>) -> RunRecord {
    let (last_success_at, failures) = match &last {
        // Its process died: nobody else could say that it failed.
        Some(last) if last.status == RunStatus::Running => {
            (last.last_success_at, last.consecutive_failures + 1)
        }
        Some(last) => (last.last_success_at, last.consecutive_failures),
        None => (None, 0),
    };
    RunRecord {
        source: source.to_owned(),
        command: options.command.clone(),
        status: RunStatus::Running,
        started_at: (options.clock)(),
        finished_at: None,
        last_success_at,
        consecutive_failures: failures,
        counts: RunCounts::default(),
        warnings: Vec::new(),
        error: None,
    }
}
