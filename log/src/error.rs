//! What can go wrong between us and the log.

use std::error::Error;
use thiserror::Error;

/// A failed operation on the log.
#[derive(Debug, Error)]
#[error("{what}")]
pub struct LogError {
    /// What was tried, on what, and what to do.
    pub what: String,
    /// Whether trying again can help.
    pub kind: LogErrorKind,
    /// What the client said.
    #[source]
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

/// Whether trying again can help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogErrorKind {
    /// The server is away, slow or full: try again.
    Transient,
    /// Somebody wrote the subject in between: read again, decide again.
    Conflict,
    /// What lies there is not what this binary reads.
    Malformed,
    /// Set-up is missing or the configuration is wrong.
    Fatal,
}

impl LogError {
    /// An error of `kind` with what the client said.
    pub fn new(
        kind: LogErrorKind,
        what: impl Into<String>,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self {
            what: what.into(),
            kind,
            source: Some(source.into()),
        }
    }

    /// An error that is ours alone.
    pub fn bare(kind: LogErrorKind, what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            kind,
            source: None,
        }
    }
}
