//! Issues and pull requests of an `archive.json`: GitHub's GraphQL shape with
//! connections flattened to lists and accounts to their names.
//!
//! Both the flattened and the original shape of an account (`"ada"`,
//! `{"login": "ada"}`) and a label (`"bug"`, `{"name": "bug"}`) are read.

use crate::{
    clean::{clean_line, clean_value},
    closing,
    error::Problem,
    fields::{Fields, Notes, named},
};
use jiff::Timestamp;
use serde_json::{Map, Value};
use whence_contract::{Dialect, Document, Label, TicketKey, TicketKind, Unit, UnitKind};

/// Fields without a place in a document, kept under upstream's names. An
/// object is kept as the one text in it that says something.
const META: [(&str, &str); 6] = [
    ("authorAssociation", ""),
    ("baseRefName", "name"),
    ("headRefName", "name"),
    ("headRepository", "nameWithOwner"),
    ("mergedBy", "login"),
    ("mergeCommit", "oid"),
];

/// # Errors
/// When the payload does not say its number.
pub(crate) fn read(
    payload: Map<String, Value>,
    dialect: Dialect,
    key: &TicketKey,
) -> Result<Document, Problem> {
    let mut notes = Notes::default();
    let mut fields = Fields::new(payload);
    let number = fields
        .number("number", &mut notes)
        .ok_or_else(|| Problem::field("number", "expected the ticket's number, a whole number"))?;
    // A message under another ticket's key would overwrite that ticket.
    if number.to_string() != key.ticket {
        return Err(Problem::field(
            "number",
            format!("{number} is not the key's {}", key.ticket),
        ));
    }
    let project = clean_line(&key.scope);
    let author = fields.name("author", "login", &mut notes);
    let created_at = fields.time("createdAt", &mut notes);
    let description = Unit {
        upstream_id: fields.line("id", &mut notes),
        author: author.clone(),
        created_at,
        body: fields.text("body", &mut notes).unwrap_or_default(),
        ..Unit::new(UnitKind::Description, "")
    };
    let is_pull = dialect == Dialect::GithubArchivePull;
    let id = format!("{project}#{number}");
    let url = fields.url("url", &mut notes);
    let links = if is_pull {
        closing::links(&description.body, &project, &id, url.as_deref())
    } else {
        Vec::new()
    };

    let mut threads = comments(&mut fields, &mut notes);
    threads.extend(reviews(&mut fields, &mut notes));
    // Stable: at equal times comments stand before reviews, in their own order.
    threads.sort_by_key(|thread| thread.at);
    let mut units = vec![description];
    units.extend(threads.into_iter().flat_map(|thread| thread.units));

    let kind = if is_pull {
        TicketKind::MergeRequest
    } else {
        TicketKind::Issue
    };
    let title = fields.line("title", &mut notes).unwrap_or_default();
    let mut document = Document {
        url,
        state: fields
            .line("state", &mut notes)
            .map(|state| state.to_lowercase()),
        author,
        assignees: dedup(fields.list("assignees", &mut notes, |value| name_of(&value, "login"))),
        labels: labels(fields.list("labels", &mut notes, label)),
        milestone: fields.name("milestone", "title", &mut notes),
        created_at,
        updated_at: fields.time("updatedAt", &mut notes),
        units,
        links,
        ..Document::new("github", project, id, kind, title)
    };
    let merged_at = fields.time("mergedAt", &mut notes);
    document.closed_at = fields.time("closedAt", &mut notes).or(merged_at);
    for (name, inner) in META {
        if let Some(text) = fields.name(name, inner, &mut notes) {
            document.meta.insert(name.to_owned(), text.into());
        }
    }
    if let Some(ignored) = notes.into_value() {
        let ignored = clean_value(ignored);
        document.meta.insert("ignored_fields".to_owned(), ignored);
    }
    Ok(document)
}

/// What stays together in reading order: a comment, or a review with the
/// comments of its own.
struct Thread {
    at: Option<Timestamp>,
    units: Vec<Unit>,
}

fn comments(fields: &mut Fields, notes: &mut Notes) -> Vec<Thread> {
    let mut last = None;
    let mut threads = Vec::new();
    for mut comment in fields.objects("comments", notes) {
        let unit = written(UnitKind::Comment, &mut comment, notes);
        // Without a time of its own it stays behind the one before it.
        last = unit.created_at.or(last);
        threads.push(Thread {
            at: last,
            units: vec![unit],
        });
    }
    threads
}

fn reviews(fields: &mut Fields, notes: &mut Notes) -> Vec<Thread> {
    let mut last = None;
    let mut threads = Vec::new();
    for mut fields in fields.objects("reviews", notes) {
        let mut review = written(UnitKind::Review, &mut fields, notes);
        review.verdict = fields
            .line("state", notes)
            .map(|state| state.to_lowercase().replace('_', "-"));
        last = review.created_at.or(last);
        let mut own = Vec::new();
        for mut fields in fields.objects("comments", notes) {
            let mut comment = written(UnitKind::ReviewComment, &mut fields, notes);
            comment.path = fields.line("path", notes);
            // Archives give these comments no author: they are the review's.
            comment.author = comment.author.or_else(|| review.author.clone());
            own.push(comment);
        }
        let mut units = vec![review];
        units.extend(own);
        threads.push(Thread { at: last, units });
    }
    threads
}

/// What every written thing has.
fn written(kind: UnitKind, fields: &mut Fields, notes: &mut Notes) -> Unit {
    Unit {
        upstream_id: fields.line("id", notes),
        author: fields.name("author", "login", notes),
        created_at: fields.time("createdAt", notes),
        updated_at: fields.time("updatedAt", notes),
        url: fields.url("url", notes),
        body: fields.text("body", notes).unwrap_or_default(),
        ..Unit::new(kind, "")
    }
}

fn name_of(value: &Value, inner: &str) -> Option<String> {
    named(value, inner).filter(|name| !name.is_empty())
}

fn label(value: Value) -> Option<Label> {
    let detail = |name| {
        let text = clean_line(value.get(name)?.as_str()?);
        (!text.is_empty()).then_some(text)
    };
    Some(Label {
        name: name_of(&value, "name")?,
        color: detail("color"),
        description: detail("description"),
    })
}

/// The first of each name, in order.
pub(crate) fn labels(labels: Vec<Label>) -> Vec<Label> {
    let mut seen = std::collections::HashSet::new();
    labels
        .into_iter()
        .filter(|label| seen.insert(label.name.clone()))
        .collect()
}

fn dedup(names: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    names
        .into_iter()
        .filter(|name| seen.insert(name.clone()))
        .collect()
}
