//! Why a payload has no document.

use std::fmt;
use thiserror::Error;
use whence_contract::{RawTicket, TicketKey};

/// A payload that no document can be made of. Trying again cannot help: every
/// one of these is a dead letter.
#[derive(Debug, Error)]
#[error("{ticket} in {place} cannot be read: {problem}")]
pub struct NormalizeError {
    /// Which ticket, as its key says.
    pub ticket: String,
    /// Where the payload came from: the location, else the source.
    pub place: String,
    /// What is wrong with it, and where in it.
    pub problem: Problem,
}

/// What is wrong with a payload.
#[derive(Debug)]
pub enum Problem {
    /// It is not JSON, or nested too deeply to be a ticket.
    Json(serde_json::Error),
    /// It is JSON, but not an object.
    NotAnObject(&'static str),
    /// Our own shape without one of its fields; the text names it.
    Missing(String),
    /// A field that is wrong and that nothing can stand in for.
    Field {
        /// Where it stands, such as `units[3].created_at`.
        path: String,
        /// What is the matter with it.
        cause: String,
    },
}

impl Problem {
    pub(crate) fn field(path: impl Into<String>, cause: impl Into<String>) -> Self {
        Self::Field {
            path: path.into(),
            cause: cause.into(),
        }
    }

    pub(crate) fn of(self, raw: &RawTicket, key: &TicketKey) -> NormalizeError {
        NormalizeError {
            ticket: key.to_string(),
            place: raw.location.as_ref().unwrap_or(&raw.origin).clone(),
            problem: self,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Json(cause) => write!(f, "its payload is no usable JSON: {cause}"),
            Self::NotAnObject(found) => {
                write!(f, "its payload should be a JSON object and is {found}")
            }
            Self::Missing(cause) => f.write_str(cause),
            Self::Field { path, cause } => write!(f, "field `{path}`: {cause}"),
        }
    }
}
