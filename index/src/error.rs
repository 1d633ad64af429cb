//! What can go wrong between us and the tables, and what the log does about it.

use deadpool_postgres::PoolError;
use std::error::Error;
use thiserror::Error;
use tokio_postgres::error::SqlState;
use whence_log::{ErrorKind, StageError};

/// A failed operation on the tables.
#[derive(Debug, Error)]
#[error("{what}")]
pub struct IndexError {
    /// What was tried, on what, and what to do.
    pub what: String,
    /// What a worker does about it.
    pub kind: ErrorKind,
    /// What the client said.
    #[source]
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

impl IndexError {
    /// An error that is ours alone.
    pub(crate) fn bare(kind: ErrorKind, what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            kind,
            source: None,
        }
    }

    /// What the server or the connection said while doing `what`.
    pub(crate) fn postgres(what: impl Into<String>, error: tokio_postgres::Error) -> Self {
        Self {
            what: what.into(),
            kind: kind_of(&error),
            source: Some(error.into()),
        }
    }

    /// No connection could be had.
    pub(crate) fn pool(what: impl Into<String>, error: PoolError) -> Self {
        let kind = match &error {
            PoolError::Backend(error) => kind_of(error),
            PoolError::Timeout(_) => ErrorKind::Transient,
            PoolError::Closed | PoolError::NoRuntimeSpecified | PoolError::PostCreateHook(_) => {
                ErrorKind::Fatal
            }
        };
        Self {
            what: what.into(),
            kind,
            source: Some(error.into()),
        }
    }
}

impl From<IndexError> for StageError {
    fn from(error: IndexError) -> Self {
        match error.kind {
            ErrorKind::Transient => Self::transient(error),
            ErrorKind::Malformed => Self::malformed(error),
            ErrorKind::Refused => Self::refused(error),
            ErrorKind::Fatal => Self::fatal(error),
        }
    }
}

/// SQLSTATE class → action. Classes that concern this one ticket's values are
/// refused; those of the server's state are waited out; those of our set-up
/// stop the stage.
fn kind_of(error: &tokio_postgres::Error) -> ErrorKind {
    let Some(code) = error.code() else {
        // No answer from the server: a closed or failed connection, unless a
        // value did not fit its parameter, which is our own mistake.
        return if error.to_string().starts_with("error serializing parameter") {
            ErrorKind::Fatal
        } else {
            ErrorKind::Transient
        };
    };
    if *code == SqlState::DATA_CORRUPTED || *code == SqlState::INDEX_CORRUPTED {
        return ErrorKind::Fatal;
    }
    match code.code().get(..2) {
        // Connection, transaction rollback, resources, object state (locks,
        // starting up), operator intervention, the system below.
        Some("08" | "40" | "53" | "55" | "57" | "58") => ErrorKind::Transient,
        // Authorization, no such database, no such table or column, config file.
        Some("28" | "3D" | "3F" | "42" | "F0" | "0A" | "25") => ErrorKind::Fatal,
        // Data, integrity, program limits, internal errors.
        _ => ErrorKind::Refused,
    }
}
