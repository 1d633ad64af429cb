//! One request until it is answered, waited for, or given up.

use super::{Pace, Reply, SendError};
use crate::{Clock, Notice, SourceError};
use std::time::Duration;
use thiserror::Error;
use tokio::time::Instant;

/// Tries of a request that fails on its way or at the service.
const TRIES: u32 = 6;
/// Before the second try; doubled before each later one.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
/// Where a service throttles without saying for how long; doubled each time.
const UNSTATED_WAIT: Duration = Duration::from_secs(30);
const LONGEST_UNSTATED_WAIT: Duration = Duration::from_secs(15 * 60);
/// Waits in a row that one request obeys. With the longest budgets of an hour
/// this is a day.
const MOST_WAITS: u32 = 24;

/// What an answer means.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Verdict {
    /// It is what was asked for.
    Good,
    /// The service is throttling: the same request later.
    Wait(Wait),
    /// The service stumbled: the same request again, soon.
    Again(String),
    /// A success that cannot be read: again, and should it stay so, the trouble
    /// lies in this one answer and not in the service.
    Garbled(String),
    /// Too much was asked for at once: a smaller page may pass.
    Heavy(String),
    /// Not for this reader. Never a deletion.
    Denied(String),
    /// The service knows no such thing.
    Missing(String),
    /// The request is wrong; the same one will be refused again.
    Refused(String),
}

/// A throttle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    /// Which limit, for the line that people see.
    pub(crate) why: String,
    /// As long as the service said; never shortened.
    pub(crate) at_least: Option<Duration>,
}

/// A request that was given up.
#[derive(Debug, Error)]
pub(crate) enum CallError {
    /// See [`Verdict::Heavy`].
    #[error("{what}: {why}")]
    Heavy { what: String, why: String },
    /// See [`Verdict::Denied`].
    #[error("{what}: {why}")]
    Denied { what: String, why: String },
    /// See [`Verdict::Missing`].
    #[error("{what}: {why}")]
    Missing { what: String, why: String },
    /// See [`Verdict::Refused`].
    #[error("{what}: {why}")]
    Refused { what: String, why: String },
    /// See [`Verdict::Garbled`], after all tries.
    #[error("{what}: {why}")]
    Garbled { what: String, why: String },
    /// The service or the way to it failed each time.
    #[error("{what}: tried {tries} times, the last time: {why}")]
    Exhausted {
        what: String,
        tries: u32,
        why: String,
    },
}

impl From<CallError> for SourceError {
    fn from(error: CallError) -> Self {
        let hint = match &error {
            CallError::Denied { .. } => "check the token with `whence auth-test`",
            CallError::Missing { .. } => "is the name right, and may the token see it?",
            CallError::Exhausted { .. } => "the next pass goes on from here",
            CallError::Heavy { .. } | CallError::Refused { .. } | CallError::Garbled { .. } => {
                return SourceError::bare(error.to_string());
            }
        };
        SourceError::bare(format!("{error}; {hint}"))
    }
}

/// Sends requests to one service for one source.
pub(crate) struct Caller {
    /// As configured, for the lines that people see.
    source: String,
    pace: Pace,
    notice: Notice,
    clock: Clock,
}

impl Caller {
    pub(crate) fn new(source: &str, pace: Pace, notice: Notice, clock: Clock) -> Self {
        Self {
            source: source.to_owned(),
            pace,
            notice,
            clock,
        }
    }

    /// The time now.
    pub(crate) fn now(&self) -> whence_contract::Timestamp {
        (self.clock)()
    }

    /// Sends until the verdict is good, or nothing more can be done. `what` names
    /// the request for messages: `the comments of acme/kiln#7`.
    ///
    /// # Errors
    /// See [`CallError`].
    pub(crate) async fn call<S>(
        &self,
        what: &str,
        judge: impl Fn(&Reply) -> Verdict,
        send: impl Fn() -> S,
    ) -> Result<Reply, CallError>
    where
        S: Future<Output = Result<Reply, SendError>>,
    {
        let named = || what.to_owned();
        let (mut tries, mut waits) = (0, 0);
        loop {
            self.pace.turn().await;
            let verdict = match send().await {
                Ok(reply) => match judge(&reply) {
                    Verdict::Good => return Ok(reply),
                    verdict => verdict,
                },
                Err(SendError::Broken(why)) => Verdict::Again(why),
                Err(SendError::Refused(why)) => Verdict::Refused(why),
            };
            let (why, garbled) = match verdict {
                Verdict::Good => continue,
                Verdict::Wait(wait) => {
                    waits += 1;
                    if waits > MOST_WAITS {
                        return Err(CallError::Exhausted {
                            what: named(),
                            tries: tries + waits,
                            why: wait.why,
                        });
                    }
                    self.wait(&wait, waits).await;
                    continue;
                }
                Verdict::Again(why) => (why, false),
                Verdict::Garbled(why) => (why, true),
                Verdict::Heavy(why) => return Err(CallError::Heavy { what: named(), why }),
                Verdict::Denied(why) => return Err(CallError::Denied { what: named(), why }),
                Verdict::Missing(why) => return Err(CallError::Missing { what: named(), why }),
                Verdict::Refused(why) => return Err(CallError::Refused { what: named(), why }),
            };
            tries += 1;
            if tries >= TRIES {
                let what = named();
                return Err(match garbled {
                    true => CallError::Garbled { what, why },
                    false => CallError::Exhausted { what, tries, why },
                });
            }
            tracing::debug!(source = self.source, what, why, tries, "trying again");
            tokio::time::sleep(FIRST_PAUSE * 2_u32.pow(tries - 1)).await;
        }
    }

    /// Lets nothing out for so long, and says why. Returns at once: whoever asks
    /// next waits.
    pub(crate) fn hold(&self, wait: Duration, why: &str) {
        self.pace.hold(Instant::now() + wait);
        self.say(wait, why);
    }

    /// The same for a pause too short for people to hear of.
    pub(crate) fn rest(&self, wait: Duration) {
        self.pace.hold(Instant::now() + wait);
    }

    async fn wait(&self, wait: &Wait, waits: u32) {
        let doubled = UNSTATED_WAIT * 2_u32.pow(waits.min(10) - 1);
        let pause = wait.at_least.unwrap_or(doubled.min(LONGEST_UNSTATED_WAIT));
        self.hold(pause, &wait.why);
        tokio::time::sleep(pause).await;
        (self.notice)("");
    }

    fn say(&self, wait: Duration, why: &str) {
        let until = self.now().saturating_add(wait).unwrap_or(self.now());
        let line = format!(
            "{why}; waiting until {} ({} s)",
            until.strftime("%H:%M:%S UTC"),
            wait.as_secs()
        );
        tracing::info!("{}: {line}", self.source);
        (self.notice)(&line);
    }
}
