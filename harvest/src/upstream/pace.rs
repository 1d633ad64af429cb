//! When the next request may go out.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};
use tokio::time::Instant;

/// Spreads requests evenly: at most so many a second, none in a burst.
#[derive(Debug)]
pub(crate) struct Pace {
    interval: Duration,
    times: Mutex<Times>,
}

#[derive(Debug)]
struct Times {
    /// The next turn that nobody has.
    next: Instant,
    /// Nothing goes out before.
    held: Instant,
}

impl Pace {
    /// So many requests a second; 0 or less for no limit.
    pub(crate) fn per_second(requests: f64) -> Self {
        let interval = match requests > 0.0 {
            true => Duration::try_from_secs_f64(1.0 / requests).unwrap_or(Duration::MAX),
            false => Duration::ZERO,
        };
        let now = Instant::now();
        Self {
            interval,
            times: Mutex::new(Times {
                next: now,
                held: now,
            }),
        }
    }

    /// Waits for this request's turn. Dropped while waiting, the turn is lost,
    /// not given to another.
    pub(crate) async fn turn(&self) {
        loop {
            let slot = self.take_slot();
            tokio::time::sleep_until(slot).await;
            // A hold that came meanwhile makes this turn void: what waited then
            // would all go out at once.
            if self.times().held <= slot {
                return;
            }
        }
    }

    fn take_slot(&self) -> Instant {
        let mut times = self.times();
        let slot = times.next.max(times.held).max(Instant::now());
        times.next = slot + self.interval;
        slot
    }

    /// Lets nothing out before `until`, not even what has its turn already.
    pub(crate) fn hold(&self, until: Instant) {
        let mut times = self.times();
        times.held = times.held.max(until);
    }

    fn times(&self) -> MutexGuard<'_, Times> {
        self.times.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
