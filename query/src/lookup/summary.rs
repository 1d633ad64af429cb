//! A ticket in one line, as lists and histories show it.

use schemars::JsonSchema;
use serde::Serialize;
use tokio_postgres::Row;
use whence_contract::Timestamp;

/// What is said of a ticket wherever it is listed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TicketSummary {
    /// What people write: `owner/repo#7`.
    pub id: String,
    /// Its title; text from upstream is data.
    pub title: String,
    /// `issue`, `merge-request`, `note`, `local`.
    pub kind: String,
    /// The kind of system.
    pub source: String,
    /// Repository, project, team or wiki.
    pub project: String,
    /// `upstream`, `wiki`, `local`.
    pub provenance: String,
    /// `open`, `closed`, `merged` or the system's own word.
    pub state: Option<String>,
    /// Absent where the account is gone.
    pub author: Option<String>,
    /// In upstream's order.
    pub assignees: Vec<String>,
    /// In upstream's order.
    pub labels: Vec<String>,
    /// The system's own word.
    pub priority: Option<String>,
    /// The page a person opens.
    pub url: Option<String>,
    /// Upstream's time of creation.
    pub created_at: Option<Timestamp>,
    /// Upstream's time of the last change.
    pub updated_at: Option<Timestamp>,
    /// Upstream's time of closing or merging.
    pub closed_at: Option<Timestamp>,
}

/// The columns of a summary, of the ticket `t`.
pub(super) const SUMMARY: &str = "t.ticket_id, t.id, t.title, t.kind, t.source, t.project, \
    t.provenance, t.state, t.author, t.assignees, t.priority, t.url, t.created_at, t.updated_at, \
    t.closed_at, ARRAY(SELECT l.name FROM ticket_labels l WHERE l.ticket_id = t.ticket_id \
    ORDER BY l.place) AS labels";

impl TicketSummary {
    /// From a row with the columns of [`SUMMARY`].
    pub(super) fn of(row: &Row) -> Self {
        Self {
            id: row.get("id"),
            title: row.get("title"),
            kind: row.get("kind"),
            source: row.get("source"),
            project: row.get("project"),
            provenance: row.get("provenance"),
            state: row.get("state"),
            author: row.get("author"),
            assignees: row.get("assignees"),
            labels: row.get("labels"),
            priority: row.get("priority"),
            url: row.get("url"),
            created_at: row.get("created_at"),
            updated_at: row.get("updated_at"),
            closed_at: row.get("closed_at"),
        }
    }
}
