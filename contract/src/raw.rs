//! What harvest hands on: the upstream payload as it came.

use crate::Payload;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// In whose shape a payload is; normalize has one reader for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// An issue of an `archive.json`.
    GithubArchiveIssue,
    /// A pull request of an `archive.json`.
    GithubArchivePull,
    /// A Markdown note: `{"path": …, "text": …}`.
    MarkdownNote,
    /// [`crate::Document`] itself.
    WhenceDocument,
}

/// One ticket as its source gave it.
///
/// The payload stays raw JSON text. A lone surrogate or a NUL in one comment
/// must not fail it here; normalize cleans values, after decoding leniently.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct RawTicket {
    /// In whose shape `payload` is.
    pub dialect: Dialect,
    /// The source as configured, such as `archive:tickets/archive.json`.
    pub origin: String,
    /// Where within the origin, for error messages: a file, a URL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// When this state was first seen.
    pub fetched_at: Timestamp,
    /// The whole ticket, with everything that hangs on it.
    pub payload: Box<RawValue>,
}

impl Payload for RawTicket {
    const SCHEMA: &'static str = "whence.raw";
}
