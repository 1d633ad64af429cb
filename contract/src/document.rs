//! A ticket in Whence's own shape, whatever system it came from.

use crate::Payload;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// One whole ticket. Text is Markdown with LF line ends, without NUL.
///
/// Also the shape that `ticket:<file.json>` reads, where everything but
/// `source`, `project`, `id`, `kind` and `title` may be left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// The kind of system: `github`, `gitlab`, `jira`, `linear`, `wiki`.
    pub source: String,
    /// Repository, project, team or wiki name.
    pub project: String,
    /// What people write: `owner/repo#7`, `PROJ-12`, `docs/guide.md`.
    pub id: String,
    /// Former ids, which still resolve.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// What kind of ticket.
    pub kind: TicketKind,
    /// May be empty, never absent.
    pub title: String,
    /// The page a person opens (never an API address).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// `open`, `closed`, `merged` or the system's own word, in lower case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Absent where the account is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// In the order the system gives them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub assignees: Vec<String>,
    /// In the order the system gives them, without duplicates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<Label>,
    /// The milestone's title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub milestone: Option<String>,
    /// The system's own word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<String>,
    /// Upstream's time of creation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// Upstream's time of the last change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    /// Upstream's time of closing or merging.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_at: Option<Timestamp>,
    /// Who may see the ticket upstream.
    #[serde(default)]
    pub visibility: Visibility,
    /// The prose, in reading order: first the description, then the rest.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub units: Vec<Unit>,
    /// System notes: what happened, without prose.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub events: Vec<TicketEvent>,
    /// Changed files of a merge request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileChange>,
    /// Links the system itself states (closes, duplicates), by canonical id.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub links: Vec<Link>,
    /// Fields of this system that have no place above.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub meta: BTreeMap<String, Value>,
}

impl Document {
    /// A ticket with what every ticket has, and nothing else.
    pub fn new(
        source: impl Into<String>,
        project: impl Into<String>,
        id: impl Into<String>,
        kind: TicketKind,
        title: impl Into<String>,
    ) -> Self {
        Self {
            source: source.into(),
            project: project.into(),
            id: id.into(),
            aliases: Vec::new(),
            kind,
            title: title.into(),
            url: None,
            state: None,
            author: None,
            assignees: Vec::new(),
            labels: Vec::new(),
            milestone: None,
            priority: None,
            created_at: None,
            updated_at: None,
            closed_at: None,
            visibility: Visibility::Public,
            units: Vec::new(),
            events: Vec::new(),
            files: Vec::new(),
            links: Vec::new(),
            meta: BTreeMap::new(),
        }
    }
}

impl Payload for Document {
    const SCHEMA: &'static str = "whence.document";
}

/// What kind of ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TicketKind {
    /// An issue.
    Issue,
    /// A pull or merge request.
    MergeRequest,
    /// A wiki note.
    Note,
    /// Local notes beside a ticket.
    Local,
}

impl TicketKind {
    /// As it is spelled in rows and filters.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Issue => "issue",
            Self::MergeRequest => "merge-request",
            Self::Note => "note",
            Self::Local => "local",
        }
    }
}

/// Who may see a ticket or a unit upstream.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Visibility {
    /// Everyone who sees the project.
    #[default]
    Public,
    /// Members only: internal notes, restricted comments.
    Internal,
    /// Named people only: confidential issues.
    Confidential,
}

impl Visibility {
    /// As it is spelled in rows and filters.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Internal => "internal",
            Self::Confidential => "confidential",
        }
    }
}

/// A label; colour and description where the system gives them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Label {
    /// As shown upstream.
    pub name: String,
    /// As upstream spells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub color: Option<String>,
    /// Free text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// One piece of prose by one author.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unit {
    /// What it is.
    pub kind: UnitKind,
    /// The system's id of it, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upstream_id: Option<String>,
    /// Absent where the account is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// Upstream's time of creation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// Upstream's time of the last change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    /// Who may see it upstream.
    #[serde(default)]
    pub visibility: Visibility,
    /// The page a person opens, where it is not the ticket's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// A review's verdict: `approved`, `changes-requested`, `commented` …
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<String>,
    /// The file that a review comment stands at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Markdown, LF; empty where the author wrote nothing.
    #[serde(default)]
    pub body: String,
}

impl Unit {
    /// A unit of which nothing is known but what it says.
    pub fn new(kind: UnitKind, body: impl Into<String>) -> Self {
        Self {
            kind,
            upstream_id: None,
            author: None,
            created_at: None,
            updated_at: None,
            visibility: Visibility::Public,
            url: None,
            verdict: None,
            path: None,
            body: body.into(),
        }
    }
}

/// What a unit is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnitKind {
    /// The ticket's own text.
    Description,
    /// A comment or note.
    Comment,
    /// A review's own text.
    Review,
    /// A comment at a place in a diff.
    ReviewComment,
    /// A local note's section.
    Finding,
}

impl UnitKind {
    /// As it is spelled in rows and filters.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Description => "description",
            Self::Comment => "comment",
            Self::Review => "review",
            Self::ReviewComment => "review-comment",
            Self::Finding => "finding",
        }
    }
}

/// A system note: something happened, nobody wrote prose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TicketEvent {
    /// Such as `closed`, `labeled`, `merged`.
    pub kind: String,
    /// Who did it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// When.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// The system's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// A file that a merge request changes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FileChange {
    /// Path before.
    pub old_path: String,
    /// Path after; equal to `old_path` unless renamed.
    pub new_path: String,
    /// It was created.
    #[serde(default)]
    pub new_file: bool,
    /// It was deleted.
    #[serde(default)]
    pub deleted_file: bool,
    /// It was renamed.
    #[serde(default)]
    pub renamed_file: bool,
}

/// A link between tickets that the system itself states.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Link {
    /// What the link says.
    pub kind: LinkKind,
    /// The other ticket's canonical id.
    pub target: String,
}

/// What a link says, read from the ticket that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LinkKind {
    /// This ticket closes the target.
    Closes,
    /// This ticket's prose names the target.
    Mentions,
    /// This ticket repeats the target.
    Duplicates,
    /// This ticket was the target before a move.
    MovedFrom,
    /// Any other stated relation.
    Relates,
}

impl LinkKind {
    /// As it is spelled in rows and filters.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Closes => "closes",
            Self::Mentions => "mentions",
            Self::Duplicates => "duplicates",
            Self::MovedFrom => "moved-from",
            Self::Relates => "relates",
        }
    }
}
