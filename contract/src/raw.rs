//! What harvest hands on: the upstream payload as it came.

use crate::Payload;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// In whose shape a payload is; normalize has one reader for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// An issue as GitHub's GraphQL API gives it, all pages joined.
    GithubIssue,
    /// A pull request as GitHub's GraphQL API gives it, all pages joined.
    GithubPull,
    /// An issue of GitLab's REST API with its discussions.
    GitlabIssue,
    /// A merge request of GitLab's REST API with its discussions and files.
    GitlabMergeRequest,
    /// An issue of Jira Cloud with its comments; texts are Atlassian documents.
    JiraIssue,
    /// An issue of Jira Server or Data Center; texts are wiki markup.
    JiraServerIssue,
    /// An issue as Linear's GraphQL API gives it, all pages joined.
    LinearIssue,
    /// Notes pushed beside a ticket:
    /// `{"source": …, "ticket_id": …, "findings_md": …}`.
    LocalNotes,
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
    /// When this state was first seen: the moment before it was asked for.
    pub fetched_at: Timestamp,
    /// The ids that people write for this ticket, the present one last:
    /// `PROJ-12`, `owner/repo#7`. The log keeps the former ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    /// What a census of the source would say of this state, such as its time of
    /// change and its number of comments; a function of `payload`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mark: Option<String>,
    /// The whole ticket, with everything that hangs on it.
    pub payload: Box<RawValue>,
}

impl RawTicket {
    /// A ticket of this payload, with neither location nor names.
    pub fn new(
        dialect: Dialect,
        origin: impl Into<String>,
        fetched_at: Timestamp,
        payload: Box<RawValue>,
    ) -> Self {
        Self {
            dialect,
            origin: origin.into(),
            location: None,
            fetched_at,
            names: Vec::new(),
            mark: None,
            payload,
        }
    }
}

impl Payload for RawTicket {
    const SCHEMA: &'static str = "whence.raw";
}
