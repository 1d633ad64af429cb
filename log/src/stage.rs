//! What a stage is: one function from the current input to the current output.

use crate::LogError;
use async_trait::async_trait;
use std::{error::Error, fmt};
use whence_contract::{Payload, Recipe, Revision, TicketKey};

/// One stage of the pipeline. The worker loop owns everything else: pulling,
/// decoding, progress, ordering, publishing, acknowledging, dead letters.
#[async_trait]
pub trait Stage: Send + Sync + 'static {
    /// What it reads.
    type In: Payload;
    /// What it writes: one message for one message.
    type Out: Payload;

    /// Its name in commands, metrics, dead letters and the durable consumer.
    fn name(&self) -> &'static str;

    /// The recipe of the output, given that of the input: the stage puts its
    /// own version in, and leaves the others.
    fn recipe(&self, input: Recipe) -> Recipe;

    /// The output for one live ticket. Must be a function of its input (and of
    /// `previous` as a cache only): it runs again on redelivery and on replay.
    ///
    /// May be dropped at any await when the worker stops; the message is then
    /// delivered again.
    ///
    /// # Errors
    /// The kind decides what happens; see [`ErrorKind`].
    async fn handle(
        &self,
        input: Input<Self::In>,
        previous: &Previous<Self::Out>,
    ) -> Result<Self::Out, StageError>;

    /// Called for a tombstone, before it is handed on. Only a stage that keeps
    /// state outside the log has something to do here.
    ///
    /// # Errors
    /// As for [`Stage::handle`].
    async fn deleted(&self, _tombstone: Input<()>) -> Result<(), StageError> {
        Ok(())
    }
}

/// One decoded message.
#[derive(Clone, Debug)]
pub struct Input<T> {
    /// Which ticket.
    pub key: TicketKey,
    /// Which state of it.
    pub revision: Revision,
    /// The recipe that the output will carry: see [`Stage::recipe`].
    pub recipe: Recipe,
    /// W3C `traceparent`.
    pub trace: Option<String>,
    /// The body.
    pub body: T,
}

impl<T> Input<T> {
    /// The same message around another body.
    pub fn around<U>(self, body: U) -> Input<U> {
        let Self {
            key,
            revision,
            recipe,
            trace,
            body: _,
        } = self;
        Input {
            key,
            revision,
            recipe,
            trace,
            body,
        }
    }
}

/// The output that stands in the output stream for the same ticket, as a cache
/// of work already done. Read from the log only when asked for.
pub struct Previous<T>(pub(crate) Source<T>);

pub(crate) type Load<T> = Box<
    dyn Fn() -> std::pin::Pin<Box<dyn Future<Output = Result<Option<T>, LogError>> + Send>>
        + Send
        + Sync,
>;

pub(crate) enum Source<T> {
    Value(Option<T>),
    Log(Load<T>),
}

impl<T: Clone + Send + Sync> Previous<T> {
    /// A known value: for calling a stage without a log.
    pub fn known(value: Option<T>) -> Self {
        Self(Source::Value(value))
    }

    /// The live body of the last output; `None` where there is none, it is a
    /// tombstone, or this binary cannot read it any more.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub async fn get(&self) -> Result<Option<T>, LogError> {
        match &self.0 {
            Source::Value(value) => Ok(value.clone()),
            Source::Log(load) => load().await,
        }
    }
}

/// What happens to a message whose handling failed. There is no other way out:
/// retried, dead-lettered with its cause, or the process ends and says why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// A server is away or slow: the same message is tried again, with growing
    /// pauses, for as long as it takes.
    Transient,
    /// The input cannot be understood: a dead letter.
    Malformed,
    /// The input is understood and cannot be accepted: a dead letter.
    Refused,
    /// No message can be handled, such as a missing model: the stage stops, the
    /// process exits non-zero.
    Fatal,
}

/// A failed handling.
#[derive(Debug)]
pub struct StageError {
    /// What the loop does about it.
    pub kind: ErrorKind,
    source: Box<dyn Error + Send + Sync>,
}

impl StageError {
    /// A server is away or slow.
    pub fn transient(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            kind: ErrorKind::Transient,
            source: source.into(),
        }
    }

    /// The input cannot be understood.
    pub fn malformed(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            kind: ErrorKind::Malformed,
            source: source.into(),
        }
    }

    /// The input cannot be accepted.
    pub fn refused(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            kind: ErrorKind::Refused,
            source: source.into(),
        }
    }

    /// No message can be handled.
    pub fn fatal(source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self {
            kind: ErrorKind::Fatal,
            source: source.into(),
        }
    }
}

impl fmt::Display for StageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)
    }
}

impl Error for StageError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.source()
    }
}
