//! Threads that each own a session, and the two queues they serve.

use crate::{ModelError, Session};
use std::{
    collections::VecDeque,
    sync::{Arc, Condvar, Mutex, MutexGuard},
    thread::JoinHandle,
};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// Passages that may wait; more would only hold memory.
const WAITING: usize = 256;

/// What a thread owns: it turns one input after the other into an output.
pub(crate) trait Runner: Send + 'static {
    type Input: Send;
    type Output: Send;

    fn run(&mut self, input: Self::Input) -> Result<Self::Output, ModelError>;
}

impl Runner for Session {
    type Input = Vec<i64>;
    type Output = Vec<f32>;

    fn run(&mut self, ids: Vec<i64>) -> Result<Vec<f32>, ModelError> {
        Session::run(self, ids)
    }
}

/// One input and who wants its output.
pub(crate) struct Job<R: Runner> {
    pub(crate) input: R::Input,
    pub(crate) reply: oneshot::Sender<Result<R::Output, ModelError>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Priority {
    High,
    Low,
}

struct Queues<R: Runner> {
    high: VecDeque<Job<R>>,
    low: VecDeque<(Job<R>, OwnedSemaphorePermit)>,
    stopped: bool,
}

struct Shared<R: Runner> {
    queues: Mutex<Queues<R>>,
    arrived: Condvar,
}

impl<R: Runner> Shared<R> {
    fn lock(&self) -> MutexGuard<'_, Queues<R>> {
        // A panic while holding it leaves queues that are still whole.
        self.queues.lock().unwrap_or_else(|e| e.into_inner())
    }

    /// The queues, while anybody serves them.
    fn open(&self) -> Result<MutexGuard<'_, Queues<R>>, ModelError> {
        let queues = self.lock();
        if queues.stopped {
            Err(ModelError::Stopped)
        } else {
            Ok(queues)
        }
    }
}

/// The threads. They end when this is dropped, after the text in their hands.
pub(crate) struct Pool<R: Runner> {
    shared: Arc<Shared<R>>,
    room: Arc<Semaphore>,
    threads: Vec<JoinHandle<()>>,
}

impl<R: Runner> std::fmt::Debug for Pool<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pool")
            .field("threads", &self.threads.len())
            .finish_non_exhaustive()
    }
}

impl<R: Runner> Pool<R> {
    pub(crate) fn start(sessions: Vec<R>) -> Self {
        let shared = Arc::new(Shared {
            queues: Mutex::new(Queues {
                high: VecDeque::new(),
                low: VecDeque::new(),
                stopped: false,
            }),
            arrived: Condvar::new(),
        });
        let threads = sessions
            .into_iter()
            .map(|session| {
                let shared = shared.clone();
                std::thread::spawn(move || serve(session, &shared))
            })
            .collect();
        Self {
            shared,
            room: Arc::new(Semaphore::new(WAITING)),
            threads,
        }
    }

    /// Hands a job over; a passage waits here while too many are queued.
    pub(crate) async fn push(&self, job: Job<R>, priority: Priority) -> Result<(), ModelError> {
        match priority {
            Priority::High => self.shared.open()?.high.push_back(job),
            Priority::Low => {
                let room = self.room.clone().acquire_owned().await;
                let permit = room.map_err(|_| ModelError::Stopped)?;
                self.shared.open()?.low.push_back((job, permit));
            }
        }
        self.shared.arrived.notify_one();
        Ok(())
    }
}

impl<R: Runner> Drop for Pool<R> {
    fn drop(&mut self) {
        self.shared.lock().stopped = true;
        self.shared.arrived.notify_all();
        for thread in self.threads.drain(..) {
            let _panicked_then_its_jobs_said_so = thread.join();
        }
    }
}

/// Stops the pool when a thread ends, however it ends: whoever waits then gets an
/// error instead of waiting for ever.
struct StopAtEnd<'a, R: Runner>(&'a Shared<R>);

impl<R: Runner> Drop for StopAtEnd<'_, R> {
    fn drop(&mut self) {
        let mut queues = self.0.lock();
        queues.stopped = true;
        let waiting = (
            std::mem::take(&mut queues.high),
            std::mem::take(&mut queues.low),
        );
        drop(queues);
        drop(waiting);
        self.0.arrived.notify_all();
    }
}

fn serve<R: Runner>(mut session: R, shared: &Shared<R>) {
    let _stop = StopAtEnd(shared);
    loop {
        let job = {
            let mut queues = shared.lock();
            loop {
                if queues.stopped {
                    return;
                }
                if let Some(job) = queues.high.pop_front() {
                    break job;
                }
                if let Some((job, _room)) = queues.low.pop_front() {
                    break job;
                }
                queues = shared
                    .arrived
                    .wait(queues)
                    .unwrap_or_else(|e| e.into_inner());
            }
        };
        // Whoever asked may have gone; then nothing is computed.
        if !job.reply.is_closed() {
            let _gone_meanwhile = job.reply.send(session.run(job.input));
        }
    }
}
