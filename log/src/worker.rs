//! The one worker loop: permit, pull, decode, handle, publish, acknowledge.
//!
//! Output first, then the input's acknowledgement: a crash in between repeats
//! work and loses none. Order is kept by [`Log::publish`], not by the loop, so
//! any number of workers may share a durable consumer.

use crate::{
    Counters, Edge, ErrorKind, Input, Log, LogError, LogErrorKind, Previous, Stage, StageError,
    dead::Letter,
    delivery::Delivery,
    setup::{ACK_WAIT, MAX_DELIVERIES},
    stage::Source,
    store::Outcome,
    wire::Head,
};
use async_nats::jetstream;
use bytes::Bytes;
use futures::{FutureExt, StreamExt};
use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};
use tokio::sync::Semaphore;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// Progress is signalled well before the server gives the message to another.
const PROGRESS_EVERY: Duration = Duration::from_secs(10);
/// How long a pull waits for a message before it is renewed.
const PULL_FOR: Duration = Duration::from_secs(20);
/// In-flight work may finish this long after a stop; less than the ack wait.
const STOP_DEADLINE: Duration = Duration::from_secs(10);
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
const _: () = assert!(STOP_DEADLINE.as_secs() < ACK_WAIT.as_secs());

/// Where a stage reads and writes.
#[derive(Clone, Debug)]
pub struct Wiring {
    /// The stream it reads.
    pub input: Edge,
    /// The durable consumer on it.
    pub consumer: String,
    /// The stream it writes.
    pub output: Edge,
    /// Tickets in work at a time.
    pub permits: usize,
}

/// Runs `stage` until `stop`; returns early only for a fatal error.
///
/// # Errors
/// What the stage or the log called fatal: the process should end and say it.
pub async fn run<S: Stage>(
    log: Log,
    stage: Arc<S>,
    wiring: Wiring,
    counters: Arc<Counters>,
    stop: CancellationToken,
) -> Result<(), LogError>
where
    S::Out: Clone,
{
    let worker = Arc::new(Worker {
        log,
        stage,
        wiring,
        counters,
        stop: stop.clone(),
    });
    let permits = Arc::new(Semaphore::new(worker.wiring.permits.max(1)));
    let tasks = TaskTracker::new();
    let fatal = CancellationToken::new();
    let reason = Arc::new(std::sync::Mutex::new(None));
    let mut pause = FIRST_PAUSE;
    while !stop.is_cancelled() && !fatal.is_cancelled() {
        let Ok(permit) = permits.clone().acquire_owned().await else {
            break;
        };
        let pulled = tokio::select! {
            () = stop.cancelled() => break,
            () = fatal.cancelled() => break,
            pulled = worker.pull() => pulled,
        };
        match pulled {
            Ok(Some(message)) => {
                pause = FIRST_PAUSE;
                let (worker, fatal, reason) = (worker.clone(), fatal.clone(), reason.clone());
                tasks.spawn(async move {
                    if let Err(error) = worker.process(message).await {
                        *reason.lock().unwrap_or_else(|e| e.into_inner()) = Some(error);
                        fatal.cancel();
                    }
                    drop(permit);
                });
            }
            Ok(None) => pause = FIRST_PAUSE,
            Err(error) => {
                // A stream error is not the end: only "stop" is.
                worker.counters.pull_failed();
                tracing::warn!(stage = worker.stage.name(), %error, "cannot pull, trying again");
                tokio::select! {
                    () = stop.cancelled() => {}
                    () = tokio::time::sleep(pause) => {}
                }
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
    tasks.close();
    if tokio::time::timeout(STOP_DEADLINE, tasks.wait())
        .await
        .is_err()
    {
        tracing::info!(
            stage = worker.stage.name(),
            "unfinished messages go back to the log"
        );
    }
    let reason = reason.lock().unwrap_or_else(|e| e.into_inner()).take();
    reason.map_or(Ok(()), Err)
}

struct Worker<S: Stage> {
    log: Log,
    stage: Arc<S>,
    wiring: Wiring,
    counters: Arc<Counters>,
    stop: CancellationToken,
}

impl<S: Stage> Worker<S>
where
    S::Out: Clone,
{
    /// One message, or `None` after a quiet while. Only what there is a permit
    /// for is pulled: a message that waits in the client would outlive its ack wait.
    async fn pull(&self) -> Result<Option<jetstream::Message>, LogError> {
        let failed = |source: Box<dyn std::error::Error + Send + Sync>| {
            let what = format!(
                "cannot read {} as {}",
                self.wiring.input.stream(),
                self.wiring.consumer
            );
            LogError::new(LogErrorKind::Transient, what, source)
        };
        let stream = self.log.stream(&self.wiring.input).await?;
        let consumer: jetstream::consumer::PullConsumer = stream
            .get_consumer(&self.wiring.consumer)
            .await
            .map_err(failed)?;
        let mut batch = consumer
            .batch()
            .max_messages(1)
            .expires(PULL_FOR)
            .messages()
            .await
            .map_err(|e| failed(e.into()))?;
        batch.next().await.transpose().map_err(failed)
    }

    /// Brings one message to an end. An error is fatal for the process.
    async fn process(&self, message: jetstream::Message) -> Result<(), LogError> {
        let deliveries = message.info().map_or(1, |info| info.delivered);
        let (message, acker) = message.split();
        let delivery = Delivery::new(acker);
        let started = std::time::Instant::now();
        let mut attempts = 0;
        let mut pause = FIRST_PAUSE;
        let error = loop {
            attempts += 1;
            let error = if deliveries > MAX_DELIVERIES {
                StageError::refused(format!(
                    "delivered {deliveries} times and never finished: it seems to kill its worker"
                ))
            } else {
                match self.signalling(&delivery, self.attempt(&message)).await {
                    Some(Ok(outcome)) => {
                        self.counters.finished(outcome, started.elapsed());
                        return self.settle(delivery).await;
                    }
                    Some(Err(error)) => error,
                    None => return Ok(()),
                }
            };
            match error.kind {
                ErrorKind::Transient => {
                    self.counters.retried();
                    let (stage, subject) = (self.stage.name(), message.subject.as_str());
                    tracing::warn!(stage, subject, error = %chain(&error), "trying again");
                    let wait = tokio::time::sleep(pause);
                    if self.signalling(&delivery, wait).await.is_none() {
                        return Ok(());
                    }
                    pause = (pause * 2).min(LONGEST_PAUSE);
                }
                ErrorKind::Fatal => {
                    delivery.give_back(None).await;
                    let what = format!("stage {} cannot go on", self.stage.name());
                    return Err(LogError::new(LogErrorKind::Fatal, what, error));
                }
                ErrorKind::Malformed | ErrorKind::Refused => break error,
            }
        };
        let letter = Letter {
            stage: self.stage.name(),
            subject: &message.subject,
            headers: message.headers.as_ref(),
            input: &message.payload,
            error: &error,
            attempts: attempts.max(deliveries.unsigned_abs()),
        };
        match self.signalling(&delivery, self.log.bury(letter)).await {
            Some(Ok(())) => {
                self.counters.died();
                self.settle(delivery).await
            }
            // Not even the dead letter could be written: the message stays.
            Some(Err(error)) => {
                tracing::warn!(stage = self.stage.name(), %error, "the message goes back");
                delivery.give_back(Some(LONGEST_PAUSE)).await;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// One try: decode, handle, publish. Panics count as malformed input.
    async fn attempt(&self, message: &async_nats::Message) -> Result<Outcome, StageError> {
        let work = AssertUnwindSafe(self.decode_handle_publish(message)).catch_unwind();
        work.await.unwrap_or_else(|panic| {
            let text = panic
                .downcast_ref::<&str>()
                .map(|s| (*s).to_owned())
                .or_else(|| panic.downcast_ref::<String>().cloned())
                .unwrap_or_default();
            Err(StageError::malformed(format!("the stage panicked: {text}")))
        })
    }

    async fn decode_handle_publish(
        &self,
        message: &async_nats::Message,
    ) -> Result<Outcome, StageError> {
        let head = Head::decode(&message.subject, message.headers.as_ref())?;
        let mut next = Head::new::<S::Out>(
            head.key.clone(),
            head.revision,
            self.stage.recipe(head.recipe),
        );
        next.trace = head.trace.clone();
        next.live = head.live;
        let stored = self.log.last(&self.wiring.output, &head.key).await?;
        if stored
            .as_ref()
            .is_some_and(|s| s.head.order() > next.order())
        {
            return Ok(Outcome::Superseded);
        }
        let input = Input {
            key: head.key.clone(),
            revision: head.revision,
            recipe: next.recipe,
            trace: head.trace.clone(),
            body: (),
        };
        let body = if head.live {
            head.expect_schema::<S::In>()?;
            let body = match self.log.body(&head, message.payload.clone()).await {
                Err(e) if e.kind == LogErrorKind::Conflict && self.replaced(&head).await? => {
                    return Ok(Outcome::Superseded);
                }
                other => other?,
            };
            let decoded = serde_json::from_slice(&body).map_err(StageError::malformed)?;
            let previous = self.previous(&stored);
            let output = self.stage.handle(input.around(decoded), &previous).await?;
            serde_json::to_vec(&output)
                .map_err(StageError::malformed)?
                .into()
        } else {
            self.stage.deleted(input).await?;
            Bytes::new()
        };
        let outcome = self
            .log
            .publish(&self.wiring.output, next, body, stored)
            .await?;
        self.log.resolve_dead(self.stage.name(), &head.key).await?;
        Ok(outcome)
    }

    /// Whether the input's subject holds something newer by now.
    async fn replaced(&self, head: &Head) -> Result<bool, LogError> {
        let now = self.log.last(&self.wiring.input, &head.key).await?;
        Ok(now.is_none_or(|s| s.head.claim != head.claim))
    }

    fn previous(&self, stored: &Option<crate::store::Stored>) -> Previous<S::Out> {
        let Some(stored) = stored.as_ref().filter(|s| s.head.live) else {
            return Previous::known(None);
        };
        if stored.head.expect_schema::<S::Out>().is_err() {
            return Previous::known(None);
        }
        let (log, head, payload) = (
            self.log.clone(),
            stored.head.clone(),
            stored.payload.clone(),
        );
        Previous(Source::Log(Box::new(move || {
            let (log, head, payload) = (log.clone(), head.clone(), payload.clone());
            Box::pin(async move {
                match log.body(&head, payload).await {
                    Ok(body) => Ok(serde_json::from_slice(&body).ok()),
                    Err(e) if e.kind == LogErrorKind::Conflict => Ok(None),
                    Err(e) => Err(e),
                }
            })
        })))
    }

    /// Runs `work` while signalling progress. `None` when the stop deadline
    /// passes first; the dropped delivery then goes back to the log.
    async fn signalling<T>(&self, delivery: &Delivery, work: impl Future<Output = T>) -> Option<T> {
        let mut work = std::pin::pin!(work);
        let mut ticks = tokio::time::interval(PROGRESS_EVERY);
        ticks.reset();
        let deadline = async {
            self.stop.cancelled().await;
            tokio::time::sleep(STOP_DEADLINE).await;
        };
        let mut deadline = std::pin::pin!(deadline);
        loop {
            tokio::select! {
                biased;
                done = &mut work => return Some(done),
                () = &mut deadline => return None,
                _ = ticks.tick() => delivery.progress().await,
            }
        }
    }

    /// An acknowledgement that is not confirmed costs a harmless redelivery.
    async fn settle(&self, delivery: Delivery) -> Result<(), LogError> {
        if let Err(error) = delivery.done().await {
            tracing::debug!(stage = self.stage.name(), %error, "it will be delivered again");
        }
        Ok(())
    }
}

impl From<LogError> for StageError {
    /// The one table from a log error to what the loop does about it.
    fn from(error: LogError) -> Self {
        match error.kind {
            LogErrorKind::Transient | LogErrorKind::Conflict => Self::transient(error),
            LogErrorKind::Malformed => Self::malformed(error),
            LogErrorKind::Fatal => Self::fatal(error),
        }
    }
}

/// An error and its causes in one line.
pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    causes(error).join(": ")
}

/// What failed, then each cause, outermost first.
pub(crate) fn causes(error: &dyn std::error::Error) -> Vec<String> {
    let mut causes = vec![error.to_string()];
    let mut source = error.source();
    while let Some(error) = source {
        causes.push(error.to_string());
        source = error.source();
    }
    causes
}
