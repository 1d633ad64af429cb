//! Keeps one child running: a thread that starts it, waits until it is ready, sees it
//! die, restarts it with back-off, and stops it.
//!
//! It is a thread and no task for two reasons. The kernel signals a child when the
//! *thread* that started it ends, so that thread must live as long as the child; and
//! a server shared by tests must outlive the runtime of the test that started it.

use std::process::{Child, ExitStatus};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use crate::child_log::ChildLog;
use crate::error::{Error, Result};

/// What a keeper keeps.
pub(crate) struct Spec {
    pub(crate) name: &'static str,
    /// Starts it with its output in the given file.
    pub(crate) spawn: Box<dyn Fn(std::fs::File) -> Result<Child> + Send>,
    /// Whether it answers. Called again and again; may block for a second or two.
    pub(crate) is_ready: Box<dyn Fn() -> bool + Send>,
    pub(crate) log: ChildLog,
    /// The signal that stops it cleanly, and how long that may take.
    pub(crate) stop: (Signal, Duration),
    /// Whether to restart it when it dies by itself.
    pub(crate) restart: bool,
}

/// What happens to the children while they run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SupervisorEvent {
    /// A child ended though nobody asked it to. A restart follows.
    Exited {
        /// "nats-server" or "postgres".
        name: &'static str,
        /// How it ended, in words.
        status: String,
        /// Its last words, oldest first.
        last_log_lines: Vec<String>,
    },
    /// It answers again, on the same port with the same data.
    Restarted {
        /// "nats-server" or "postgres".
        name: &'static str,
        /// How many starts that took.
        attempts: u32,
    },
    /// It failed to start again and again; nothing more is tried. The caller should end.
    GaveUp {
        /// "nats-server" or "postgres".
        name: &'static str,
        /// What it says and what to do, in one sentence.
        cause: String,
        /// Its last words, oldest first.
        last_log_lines: Vec<String>,
    },
}

/// Receives events; called from the keeper's thread.
pub(crate) type OnEvent = Box<dyn Fn(SupervisorEvent) + Send>;

/// This many starts in a row may fail.
const MOST_FAILURES: u32 = 5;
/// A child that lived this long after it was ready did not fail to start.
const LIVED: Duration = Duration::from_secs(5);
/// Recovery after a crash may take minutes; beyond this a start has failed.
const START_LIMIT: Duration = Duration::from_secs(300);
const PROBE_EVERY: Duration = Duration::from_millis(25);
const ROTATE_EVERY: Duration = Duration::from_secs(30);

enum Message {
    /// The child with this number has ended (and is not reaped yet).
    Ended(u32),
    /// End it and this thread.
    Stop,
    /// SIGKILL it and leave it down.
    Kill(SyncSender<Result<()>>),
    /// Start it if it is down; answers when it is ready.
    Start(SyncSender<Result<()>>),
}

/// The handle of a keeper. Dropping it stops the child cleanly and waits for that.
pub(crate) struct Keeper {
    messages: Sender<Message>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Starts the thread; the child follows with [`Keeper::start`].
    pub(crate) fn new(spec: Spec, on_event: OnEvent) -> Result<Self> {
        let (messages, inbox) = mpsc::channel();
        let back = messages.clone();
        let name = spec.name;
        let thread = thread::Builder::new()
            .name(format!("keep-{name}"))
            .spawn(move || {
                Loop {
                    spec,
                    on_event,
                    inbox,
                    back,
                    failures: 0,
                    number: 0,
                    reply: None,
                }
                .run();
            })
            .map_err(|e| Error::Child {
                name,
                cause: format!("cannot be watched: {e}"),
                log_tail: Vec::new(),
            })?;
        Ok(Self {
            messages,
            thread: Some(thread),
        })
    }

    /// Starts the child if it is down; the answer comes when it is ready or has failed.
    pub(crate) fn start(&self) -> Receiver<Result<()>> {
        self.ask(Message::Start)
    }

    /// SIGKILLs the child and leaves it down; the answer comes when it is gone.
    pub(crate) fn kill(&self) -> Receiver<Result<()>> {
        self.ask(Message::Kill)
    }

    /// Begins a clean stop without waiting for its end.
    pub(crate) fn begin_stop(&self) {
        let _ = self.messages.send(Message::Stop);
    }

    fn ask(&self, message: fn(SyncSender<Result<()>>) -> Message) -> Receiver<Result<()>> {
        let (reply, answer) = mpsc::sync_channel(1);
        let _ = self.messages.send(message(reply));
        answer
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.begin_stop();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Waits for a keeper's answer; a keeper that has given up answers nothing.
pub(crate) fn answer(name: &'static str, receiver: &Receiver<Result<()>>) -> Result<()> {
    receiver.recv().unwrap_or_else(|_| {
        Err(Error::Child {
            name,
            cause: "is not watched any more".to_owned(),
            log_tail: Vec::new(),
        })
    })
}

struct Running {
    child: Child,
    pid: Pid,
    number: u32,
    since: Instant,
    ready: Option<Instant>,
}

enum Next {
    Down,
    StartAfter(Duration),
    Finish,
}

struct Loop {
    spec: Spec,
    on_event: OnEvent,
    inbox: Receiver<Message>,
    back: Sender<Message>,
    /// Failed starts in a row.
    failures: u32,
    /// Counts children, so that a late word about an old one is not taken for the new one.
    number: u32,
    /// Who waits for the child to be ready.
    reply: Option<SyncSender<Result<()>>>,
}

impl Loop {
    fn run(mut self) {
        let mut next = Next::Down;
        loop {
            next = match next {
                Next::Finish => return,
                Next::Down => match self.inbox.recv() {
                    Err(_) | Ok(Message::Stop) => Next::Finish,
                    Ok(message) => self.while_down(message),
                },
                Next::StartAfter(pause) => match self.inbox.recv_timeout(pause) {
                    Err(RecvTimeoutError::Disconnected) | Ok(Message::Stop) => Next::Finish,
                    // A late word about a child that was killed: the start still stands.
                    Ok(Message::Ended(_)) => Next::StartAfter(pause),
                    Ok(message) => self.while_down(message),
                    Err(RecvTimeoutError::Timeout) => match self.spawn() {
                        Ok(running) => self.watch(running),
                        Err(error) => {
                            let cause = error.to_string();
                            self.failed(cause, error)
                        }
                    },
                },
            };
        }
    }

    fn while_down(&mut self, message: Message) -> Next {
        match message {
            Message::Stop => Next::Finish,
            Message::Start(reply) => {
                self.reply = Some(reply);
                self.failures = 0;
                Next::StartAfter(Duration::ZERO)
            }
            Message::Kill(reply) => {
                let _ = reply.send(Ok(()));
                Next::Down
            }
            Message::Ended(_) => Next::Down,
        }
    }

    fn spawn(&mut self) -> Result<Running> {
        let output = self.spec.log.open()?;
        let child = (self.spec.spawn)(output)?;
        self.number += 1;
        let (number, back) = (self.number, self.back.clone());
        let pid = Pid::from_child(&child);
        // Sees the end without reaping, so that the process id stays the child's own
        // (and safe to signal) until the keeper itself has taken note.
        thread::spawn(move || {
            let _ = waitid(
                WaitId::Pid(pid),
                WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
            );
            let _ = back.send(Message::Ended(number));
        });
        Ok(Running {
            child,
            pid,
            number,
            since: Instant::now(),
            ready: None,
        })
    }

    /// Accompanies a running child to its end.
    fn watch(&mut self, mut running: Running) -> Next {
        loop {
            let pause = if running.ready.is_some() {
                ROTATE_EVERY
            } else {
                PROBE_EVERY
            };
            match self.inbox.recv_timeout(pause) {
                Ok(Message::Ended(number)) if number == running.number => {
                    let status = running.child.wait().ok();
                    return self.died(&running, status);
                }
                Ok(Message::Ended(_)) => {}
                Ok(Message::Start(reply)) => {
                    if running.ready.is_some() {
                        let _ = reply.send(Ok(()));
                    } else {
                        self.reply = Some(reply);
                    }
                }
                Ok(Message::Kill(reply)) => {
                    let _ = kill_process(running.pid, Signal::KILL);
                    let _ = running.child.wait();
                    let _ = reply.send(Ok(()));
                    return Next::Down;
                }
                Ok(Message::Stop) | Err(RecvTimeoutError::Disconnected) => {
                    self.stop(&mut running);
                    return Next::Finish;
                }
                Err(RecvTimeoutError::Timeout) if running.ready.is_some() => self.spec.log.rotate(),
                Err(RecvTimeoutError::Timeout) => {
                    if (self.spec.is_ready)() {
                        self.ready(&mut running);
                    } else if running.since.elapsed() > START_LIMIT {
                        tracing::error!(server = self.spec.name, "not ready in time; ending it");
                        let _ = kill_process(running.pid, Signal::KILL);
                    }
                }
            }
        }
    }

    fn ready(&mut self, running: &mut Running) {
        running.ready = Some(Instant::now());
        let took = running.since.elapsed();
        tracing::info!(
            server = self.spec.name,
            pid = running.child.id(),
            ?took,
            "ready"
        );
        match self.reply.take() {
            Some(reply) => {
                let _ = reply.send(Ok(()));
            }
            None => (self.on_event)(SupervisorEvent::Restarted {
                name: self.spec.name,
                attempts: self.failures,
            }),
        }
    }

    /// The child ended by itself.
    fn died(&mut self, running: &Running, status: Option<ExitStatus>) -> Next {
        let status = describe(status);
        let tail = self.spec.log.tail();
        if let Some(ready) = running.ready {
            (self.on_event)(SupervisorEvent::Exited {
                name: self.spec.name,
                status: status.clone(),
                last_log_lines: tail.clone(),
            });
            if !self.spec.restart {
                return Next::Down;
            }
            if ready.elapsed() > LIVED {
                self.failures = 0;
            }
        }
        let cause = match self.spec.log.diagnosis() {
            Some(known) => format!("{status}: {known}"),
            None => format!("{status} before it was ready"),
        };
        let error = Error::Child {
            name: self.spec.name,
            cause: cause.clone(),
            log_tail: tail,
        };
        self.failed(cause, error)
    }

    fn failed(&mut self, cause: String, error: Error) -> Next {
        self.failures += 1;
        if self.failures < MOST_FAILURES {
            let pause = Duration::from_millis(100) * 2_u32.pow(self.failures - 1);
            tracing::debug!(server = self.spec.name, cause, ?pause, "starting it again");
            return Next::StartAfter(pause);
        }
        match self.reply.take() {
            Some(reply) => {
                let _ = reply.send(Err(error));
                // Whoever asked decides what follows.
                Next::Down
            }
            None => {
                let last_log_lines = self.spec.log.tail();
                (self.on_event)(SupervisorEvent::GaveUp {
                    name: self.spec.name,
                    cause,
                    last_log_lines,
                });
                Next::Down
            }
        }
    }

    fn stop(&mut self, running: &mut Running) {
        let (signal, patience) = self.spec.stop;
        let _ = kill_process(running.pid, signal);
        let until = Instant::now() + patience;
        loop {
            match self
                .inbox
                .recv_timeout(until.saturating_duration_since(Instant::now()))
            {
                Ok(Message::Ended(number)) if number == running.number => break,
                Ok(Message::Kill(_)) | Err(RecvTimeoutError::Timeout) => {
                    tracing::warn!(server = self.spec.name, "did not stop in time; killing it");
                    let _ = kill_process(running.pid, Signal::KILL);
                    break;
                }
                Ok(_) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let _ = running.child.wait();
    }
}

fn describe(status: Option<ExitStatus>) -> String {
    use std::os::unix::process::ExitStatusExt as _;
    match status.map(|s| (s.code(), s.signal())) {
        Some((Some(code), _)) => format!("ended with exit code {code}"),
        Some((None, Some(signal))) => format!("was ended by signal {signal}"),
        _ => "ended".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::process::Command;

    #[test]
    fn a_late_word_about_a_killed_child_does_not_cancel_a_start() {
        let folder = tempfile::tempdir().unwrap();
        let (back, inbox) = mpsc::channel();
        let (reply, answer) = mpsc::sync_channel(1);
        // As they may arrive after a kill: the asker is quicker than the word.
        back.send(Message::Start(reply)).unwrap();
        back.send(Message::Ended(0)).unwrap();
        let keeping = Loop {
            spec: Spec {
                name: "sleep",
                spawn: Box::new(|_| Ok(Command::new("sleep").arg("60").spawn().unwrap())),
                is_ready: Box::new(|| true),
                log: ChildLog::new(folder.path().join("log")),
                stop: (Signal::TERM, Duration::from_secs(10)),
                restart: true,
            },
            on_event: Box::new(|_| ()),
            inbox,
            back: back.clone(),
            failures: 0,
            number: 0,
            reply: None,
        };
        let thread = thread::spawn(move || keeping.run());
        let started = answer.recv_timeout(Duration::from_secs(30));
        back.send(Message::Stop).unwrap();
        thread.join().unwrap();
        assert!(matches!(started, Ok(Ok(()))), "{started:?}");
    }
}
