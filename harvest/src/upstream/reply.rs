//! An answer as it came, taken whole.

use reqwest::header::HeaderMap;
use serde_json::Value;
use thiserror::Error;
use whence_contract::{Timestamp, lenient_json};

/// One answer of a service.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    /// The body as JSON, else what is wrong with it and how it begins.
    pub(crate) json: Result<Value, String>,
    /// When its request was sent: what it says was true then or later.
    pub(crate) asked_at: Timestamp,
}

impl Reply {
    pub(crate) fn new(status: u16, headers: HeaderMap, body: &[u8], asked_at: Timestamp) -> Self {
        let json = match std::str::from_utf8(body) {
            Err(_) => Err("the body is not UTF-8".to_owned()),
            Ok(text) => lenient_json(text)
                .map_err(|error| format!("the body is no JSON ({error}): {:?}", start(text))),
        };
        Self {
            status,
            headers,
            json,
            asked_at,
        }
    }

    /// A header as text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The JSON, or null where there is none.
    pub(crate) fn value(&self) -> &Value {
        self.json.as_ref().unwrap_or(&Value::Null)
    }

    /// The service's own time when it answered, to the second; ours where it
    /// does not say.
    pub(crate) fn server_time(&self) -> Timestamp {
        let stated = self.header("date").and_then(super::wait::http_date);
        stated.unwrap_or(self.asked_at)
    }
}

/// The first words of a body, for messages: never all of it.
fn start(text: &str) -> String {
    text.chars().take(80).collect()
}

/// A request without a whole answer.
#[derive(Debug, Error)]
pub(crate) enum SendError {
    /// It may work the next time.
    #[error("{0}")]
    Broken(String),
    /// It will not.
    #[error("{0}")]
    Refused(String),
}
