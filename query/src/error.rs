//! The one shape of an error, for HTTP and for commands.

use deadpool_postgres::PoolError;
use schemars::JsonSchema;
use serde::Serialize;
use std::error::Error;
use thiserror::Error;

/// A search that has no answer.
#[derive(Debug, Error)]
#[error("{message}")]
pub struct SearchError {
    /// Stable, for programs: `bad_request`, `not_found`, `timeout`, `unavailable` …
    pub code: &'static str,
    /// The HTTP status.
    pub status: u16,
    /// What failed.
    pub message: String,
    /// What to do about it.
    pub hint: String,
    /// What lies behind it, for the log; never shown to clients.
    #[source]
    pub source: Option<Box<dyn Error + Send + Sync>>,
}

/// `{"error": {"code", "message", "hint"}}`
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "Error")]
pub struct ErrorBody<'a> {
    error: Inner<'a>,
}

/// What went wrong.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "ErrorDetails")]
struct Inner<'a> {
    /// Stable, for programs.
    code: &'a str,
    /// What failed.
    message: &'a str,
    /// What to do about it.
    hint: &'a str,
}

impl SearchError {
    /// An error with nothing behind it.
    pub fn new(
        code: &'static str,
        status: u16,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            code,
            status,
            message: message.into(),
            hint: hint.into(),
            source: None,
        }
    }

    /// The request cannot be understood.
    pub fn bad_request(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::new("bad_request", 400, message, hint)
    }

    /// As clients see it.
    pub fn body(&self) -> ErrorBody<'_> {
        ErrorBody {
            error: Inner {
                code: self.code,
                message: &self.message,
                hint: &self.hint,
            },
        }
    }

    pub(crate) fn timeout() -> Self {
        Self::new(
            "timeout",
            504,
            "the answer took too long",
            "ask again, or narrow it by a filter",
        )
    }

    /// The server or the connection failed while doing `what`.
    pub(crate) fn postgres(what: &str, error: tokio_postgres::Error) -> Self {
        use tokio_postgres::error::SqlState;
        let mut answer = match error.code() {
            Some(code) if *code == SqlState::QUERY_CANCELED => Self::timeout(),
            Some(code) if *code == SqlState::UNDEFINED_TABLE => Self::new(
                "not_set_up",
                503,
                format!("{what}: the tables are not there"),
                "run set-up, or `whence up`",
            ),
            // A value that was understood, and that no column can hold or compare.
            Some(code) if code.code().starts_with("22") => Self::bad_request(
                format!("{what}: a value is out of range"),
                "give another value, such as a date between 1 and 9999",
            ),
            Some(code) if !matches!(code.code().get(..2), Some("08" | "53" | "57" | "58")) => {
                Self::new(
                    "internal",
                    500,
                    what,
                    "this is a fault of the service: see its log",
                )
            }
            _ => Self::unavailable(what),
        };
        answer.source = Some(error.into());
        answer
    }

    pub(crate) fn pool(error: PoolError) -> Self {
        let mut answer = Self::unavailable("getting a connection");
        answer.source = Some(error.into());
        answer
    }

    fn unavailable(what: &str) -> Self {
        let message = format!("{what}: Postgres does not answer");
        Self::new("unavailable", 503, message, "ask again when it is back")
    }
}
