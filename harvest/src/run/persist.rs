//! Tries a call to the log again while trying can help.

use super::error::{Halt, HarvestError};
use std::time::Duration;
use whence_log::{LogError, LogErrorKind};

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// Tries of a call that is made although the pass has to end.
const LAST_TRIES: u32 = 5;

/// Retries until the pass must end.
pub(super) struct Persist<'a> {
    halt: &'a Halt,
}

impl<'a> Persist<'a> {
    pub(super) fn new(halt: &'a Halt) -> Self {
        Self { halt }
    }

    pub(super) fn halt(&self) -> &'a Halt {
        self.halt
    }

    /// Calls until it succeeds, fails for good, or the pass must end.
    pub(super) async fn run<T, F>(&self, call: impl Fn() -> F) -> Result<T, HarvestError>
    where
        F: Future<Output = Result<T, LogError>>,
    {
        let tries = async {
            let mut pause = FIRST_PAUSE;
            loop {
                match call().await {
                    Err(error) if passes(error.kind) => {
                        tracing::warn!(error = %causes(&error), "the log failed, trying again");
                        tokio::time::sleep(pause).await;
                        pause = (pause * 2).min(LONGEST_PAUSE);
                    }
                    done => return done,
                }
            }
        };
        match self.halt.token().run_until_cancelled(tries).await {
            Some(done) => done.map_err(HarvestError::Log),
            None => Err(HarvestError::Stopped),
        }
    }

    /// Calls a few times, even when the pass must end.
    pub(super) async fn anyway<T, F>(&self, call: impl Fn() -> F) -> Result<T, LogError>
    where
        F: Future<Output = Result<T, LogError>>,
    {
        let mut tried = 0;
        loop {
            tried += 1;
            match call().await {
                Err(error) if passes(error.kind) && tried < LAST_TRIES => {
                    tokio::time::sleep(FIRST_PAUSE * tried).await;
                }
                done => return done,
            }
        }
    }
}

/// Whether the same call may succeed later.
fn passes(kind: LogErrorKind) -> bool {
    match kind {
        LogErrorKind::Transient | LogErrorKind::Conflict => true,
        LogErrorKind::Malformed | LogErrorKind::Fatal => false,
    }
}

/// An error and what caused it, in one line.
pub(super) fn causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text += ": ";
        text += &cause.to_string();
        next = cause.source();
    }
    text
}
