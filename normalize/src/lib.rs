//! Raw payload to document: one pure reader per dialect.
//!
//! Whatever an upstream wrote, what leaves here is text that every later stage
//! can store: valid UTF-8, LF line ends, no NUL and no control character but
//! `\n` and `\t`. Prose is never interpreted; hostile text stays text.
//!
//! Where do I add a dialect: one file with one `read` function, one arm in
//! [`normalize`].

mod adf;
mod clean;
mod closing;
mod error;
mod fields;
mod front_matter;
mod github;
mod github_archive;
mod github_events;
mod gitlab;
mod jira;
mod jira_markup;
mod linear;
mod local_notes;
mod markdown_note;
mod note_links;
mod prose;
mod stage;
mod whence_document;

pub use clean::{clean_line, clean_text};
pub use error::{NormalizeError, Problem};
pub use stage::{NormalizeStage, VERSION};

use serde_json::{Map, Value};
use whence_contract::{Dialect, Document, RawTicket, TicketKey, lenient_json};

/// The document of one raw ticket: a function of its two arguments alone.
///
/// Fields that are absent, null or of a wrong type are left out; the wrong
/// ones are named in `meta["ignored_fields"]`. The exception is
/// [`Dialect::WhenceDocument`], our own shape, where a wrong field is an error
/// that names it.
///
/// # Errors
/// When the payload is no JSON object, is nested deeper than 127 levels, or
/// does not say which ticket it is.
pub fn normalize(raw: &RawTicket, key: &TicketKey) -> Result<Document, NormalizeError> {
    let payload = object(raw.payload.get()).map_err(|cause| cause.of(raw, key))?;
    let document = match raw.dialect {
        Dialect::GithubArchiveIssue | Dialect::GithubArchivePull => {
            github_archive::read(payload, raw.dialect, key)
        }
        Dialect::GithubIssue | Dialect::GithubPull => github::read(payload, raw.dialect, key),
        Dialect::MarkdownNote => markdown_note::read(payload, key),
        Dialect::WhenceDocument => whence_document::read(payload),
        Dialect::GitlabIssue | Dialect::GitlabMergeRequest => {
            gitlab::read(payload, raw.dialect, key)
        }
        Dialect::JiraIssue | Dialect::JiraServerIssue => jira::read(payload, raw.dialect, key),
        Dialect::LocalNotes => local_notes::read(payload, key),
        Dialect::LinearIssue => linear::read(payload, key),
    };
    let mut document = document.map_err(|cause| cause.of(raw, key))?;
    let former = raw.names.iter().map(|name| clean_line(name));
    for name in former.filter(|name| !name.is_empty()) {
        if name != document.id && !document.aliases.contains(&name) {
            document.aliases.push(name);
        }
    }
    Ok(document)
}

/// The fields of a payload.
fn object(json: &str) -> Result<Map<String, Value>, Problem> {
    let found = match lenient_json(json).map_err(Problem::Json)? {
        Value::Object(fields) => return Ok(fields),
        Value::Null => "null",
        Value::Bool(_) => "a truth value",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "an array",
    };
    Err(Problem::NotAnObject(found))
}
