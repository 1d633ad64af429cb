//! Trying again: growing pauses, and as long as the server itself asks for.

use super::verdict::CallError;
use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};
use tokio::time::{Instant, sleep, sleep_until};

const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// A server that asks for more is asked again after this.
const LONGEST_ASKED: Duration = Duration::from_secs(300);

/// Requests while somebody waits for an answer: one that is better without the model
/// than late. A server that is down is so left alone quickly.
pub(crate) const TRIES_FOR_SOMEBODY: u32 = 2;

/// How long to go on trying.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// Requests in all.
    pub(crate) tries: u32,
    /// No pause goes beyond this.
    pub(crate) until: Option<Instant>,
}

/// What the server asked of everybody: a pause for one is a pause for all.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    not_before: Mutex<Option<Instant>>,
}

impl Pace {
    fn asked(&self) -> Option<Instant> {
        *self
            .not_before
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn hold(&self, wait: Duration) {
        let until = Instant::now() + wait;
        let mut held = self
            .not_before
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *held = Some(held.map_or(until, |before| before.max(until)));
    }

    /// The first answer of `call` that is one, or the last error. What the server
    /// refuses is not asked again.
    ///
    /// # Errors
    /// As the last call, or [`CallError::Busy`] when the server has asked for a
    /// longer pause than there is patience.
    pub(crate) async fn patiently<T, F>(
        &self,
        patience: Patience,
        call: impl Fn() -> F,
    ) -> Result<T, CallError>
    where
        F: Future<Output = Result<T, CallError>>,
    {
        let ends_before = |moment: Instant| patience.until.is_some_and(|until| until <= moment);
        let mut pause = FIRST_PAUSE;
        let mut tries = 0;
        loop {
            if let Some(moment) = self.asked().filter(|moment| *moment > Instant::now()) {
                if ends_before(moment) {
                    return Err(CallError::Busy {
                        why: "it has asked for a pause".to_owned(),
                        wait: None,
                    });
                }
                sleep_until(moment).await;
            }
            let error = match call().await {
                Err(error @ (CallError::Busy { .. } | CallError::Broken(_))) => error,
                ended => return ended,
            };
            tries += 1;
            if let CallError::Busy {
                wait: Some(wait), ..
            } = &error
            {
                self.hold((*wait).min(LONGEST_ASKED));
            }
            if tries >= patience.tries || ends_before(Instant::now() + pause) {
                return Err(error);
            }
            tracing::debug!(?error, ?pause, "asking the model server again");
            sleep(pause).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}
