//! Issues and pull requests as GitHub's GraphQL API gives them: the node of the
//! ticket, every list as `{"totalCount": …, "nodes": […]}` with all its pages.

use crate::{
    clean::{clean_line, clean_value},
    error::Problem,
    fields::{Fields, Notes},
    github_archive::labels,
    github_events as events,
};
use jiff::Timestamp;
use serde_json::{Map, Value};
use std::collections::HashMap;
use whence_contract::{
    Dialect, Document, FileChange, Label, TicketKey, TicketKind, Unit, UnitKind, Visibility,
};

/// Fields without a place in a document, kept under upstream's names. An
/// object is kept as the one text in it that says something.
const META: [(&str, &str); 9] = [
    ("activeLockReason", ""),
    ("authorAssociation", ""),
    ("baseRefName", ""),
    ("headRefName", ""),
    ("headRepository", "nameWithOwner"),
    ("mergeCommit", "oid"),
    ("mergedBy", "login"),
    ("reviewDecision", ""),
    ("stateReason", ""),
];

/// # Errors
/// When the payload does not say which ticket it is, or is another one.
pub(crate) fn read(
    payload: Map<String, Value>,
    dialect: Dialect,
    key: &TicketKey,
) -> Result<Document, Problem> {
    let mut notes = Notes::default();
    let mut fields = Fields::new(payload);
    let (kind, prefix) = match dialect == Dialect::GithubPull {
        true => (TicketKind::MergeRequest, "pull"),
        false => (TicketKind::Issue, "issue"),
    };
    let stated = format!("{prefix}-{}", database_id(&mut fields, &mut notes)?);
    // A message under another ticket's key would overwrite that ticket.
    if stated != key.ticket {
        return Err(Problem::field(
            "fullDatabaseId",
            format!("{stated} is not the key's {}", key.ticket),
        ));
    }
    let number = fields
        .number("number", &mut notes)
        .ok_or_else(|| Problem::field("number", "expected the ticket's number, a whole number"))?;
    let project = fields
        .name("repository", "nameWithOwner", &mut notes)
        .ok_or_else(|| Problem::field("repository.nameWithOwner", "expected owner/repo"))?;
    let id = format!("{project}#{number}");
    let author = fields.name("author", "login", &mut notes);
    let created_at = fields.time("createdAt", &mut notes);
    let description = Unit {
        upstream_id: fields.line("id", &mut notes),
        author: author.clone(),
        created_at,
        updated_at: fields.time("lastEditedAt", &mut notes),
        body: fields.text("body", &mut notes).unwrap_or_default(),
        ..Unit::new(UnitKind::Description, "")
    };
    let mut units = vec![description];
    units.extend(discussion(&mut fields, &mut notes));

    let title = fields.line("title", &mut notes).unwrap_or_default();
    let mut document = Document {
        url: fields.url("url", &mut notes),
        state: fields
            .line("state", &mut notes)
            .map(|state| state.to_lowercase()),
        author,
        assignees: people(&mut fields, &mut notes),
        labels: labels(nodes(&mut fields, "labels", &mut notes, label)),
        milestone: fields.name("milestone", "title", &mut notes),
        created_at,
        updated_at: fields.time("updatedAt", &mut notes),
        units,
        ..Document::new("github", project, &id, kind, title)
    };
    let merged_at = fields.time("mergedAt", &mut notes);
    document.closed_at = fields.time("closedAt", &mut notes).or(merged_at);
    files(&mut fields, &mut notes, &mut document);
    events::read(&mut fields, &mut notes, &mut document);
    for (name, inner) in META {
        let text = match inner {
            "" => fields.line(name, &mut notes),
            _ => fields.name(name, inner, &mut notes),
        };
        if let Some(text) = text {
            document.meta.insert(name.to_owned(), text.into());
        }
    }
    for name in ["isDraft", "locked"] {
        if fields.flag(name, &mut notes) == Some(true) {
            document.meta.insert(name.to_owned(), true.into());
        }
    }
    if let Some(ignored) = notes.into_value() {
        let ignored = clean_value(ignored);
        document.meta.insert("ignored_fields".to_owned(), ignored);
    }
    Ok(document)
}

/// GitHub's number of the ticket in its database: a text, for it is long.
fn database_id(fields: &mut Fields, notes: &mut Notes) -> Result<String, Problem> {
    let full = fields.digits("fullDatabaseId", notes);
    let short = fields.digits("databaseId", notes);
    full.or(short)
        .ok_or_else(|| Problem::field("fullDatabaseId", "expected the ticket's database id"))
}

/// The objects in `nodes` of a list.
pub(crate) fn objects(fields: &mut Fields, name: &str, notes: &mut Notes) -> Vec<Fields> {
    match fields.object(name, notes) {
        Some(mut list) => list.objects("nodes", notes),
        None => Vec::new(),
    }
}

fn nodes<T>(
    fields: &mut Fields,
    name: &str,
    notes: &mut Notes,
    read: impl FnMut(&mut Fields, &mut Notes) -> Option<T>,
) -> Vec<T> {
    let mut read = read;
    let objects = objects(fields, name, notes);
    let each = objects.into_iter();
    each.filter_map(|mut fields| read(&mut fields, notes))
        .collect()
}

fn people(fields: &mut Fields, notes: &mut Notes) -> Vec<String> {
    nodes(fields, "assignees", notes, |person, notes| {
        person.line("login", notes)
    })
}

fn label(fields: &mut Fields, notes: &mut Notes) -> Option<Label> {
    Some(Label {
        name: fields.line("name", notes)?,
        color: fields.line("color", notes),
        description: fields.line("description", notes),
    })
}

/// What stays together in reading order: a comment; a review with the threads
/// that it opened; a thread by itself.
struct Block {
    at: Option<Timestamp>,
    units: Vec<Unit>,
}

fn discussion(fields: &mut Fields, notes: &mut Notes) -> Vec<Unit> {
    let mut blocks = Vec::new();
    let mut last = None;
    for mut comment in objects(fields, "comments", notes) {
        let unit = written(UnitKind::Comment, &mut comment, notes);
        // Without a time of its own it stays behind the one before it.
        last = unit.created_at.or(last);
        blocks.push(Block {
            at: last,
            units: vec![unit],
        });
    }
    let mut reviews = HashMap::new();
    last = None;
    for mut review in objects(fields, "reviews", notes) {
        let mut unit = written(UnitKind::Review, &mut review, notes);
        let verdict = review.line("state", notes);
        unit.verdict = verdict.map(|state| state.to_lowercase().replace('_', "-"));
        hide_pending(&mut unit);
        last = review
            .time("submittedAt", notes)
            .or(unit.created_at)
            .or(last);
        if let Some(id) = &unit.upstream_id {
            reviews.insert(id.clone(), blocks.len());
        }
        blocks.push(Block {
            at: last,
            units: vec![unit],
        });
    }
    for mut thread in objects(fields, "reviewThreads", notes) {
        let path = thread.line("path", notes);
        let mut opener = None;
        let mut units = Vec::new();
        for mut reply in objects(&mut thread, "comments", notes) {
            let mut unit = written(UnitKind::ReviewComment, &mut reply, notes);
            unit.path = reply.line("path", notes).or_else(|| path.clone());
            if reply.line("state", notes).as_deref() == Some("PENDING") {
                unit.visibility = Visibility::Confidential;
            }
            if units.is_empty() {
                opener = reply.name("pullRequestReview", "id", notes);
            }
            units.push(unit);
        }
        match opener.and_then(|review| reviews.get(&review)) {
            Some(at) => blocks[*at].units.append(&mut units),
            None => blocks.push(Block {
                at: units.first().and_then(|unit| unit.created_at),
                units,
            }),
        }
    }
    // Stable: at equal times comments stand before reviews, in their own order.
    blocks.sort_by_key(|block| block.at);
    blocks.into_iter().flat_map(|block| block.units).collect()
}

/// A review that is not submitted is seen by its author alone.
fn hide_pending(unit: &mut Unit) {
    if unit.verdict.as_deref() == Some("pending") {
        unit.visibility = Visibility::Confidential;
    }
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

fn files(fields: &mut Fields, notes: &mut Notes, document: &mut Document) {
    let stated = fields.number("changedFiles", notes);
    document.files = nodes(fields, "files", notes, |file, notes| {
        let new_path = file.line("path", notes)?;
        let change = file.line("changeType", notes).unwrap_or_default();
        let before = file.line("previousPath", notes);
        Some(FileChange {
            old_path: before.unwrap_or_else(|| new_path.clone()),
            new_path,
            new_file: change == "ADDED",
            deleted_file: change == "DELETED",
            renamed_file: change == "RENAMED",
        })
    });
    // GitHub lists the first 3,000 only.
    let listed = document.files.len() as u64;
    if let Some(missing) = stated.and_then(|stated| stated.checked_sub(listed))
        && missing > 0
    {
        let name = "files_not_listed".to_owned();
        document.meta.insert(name, missing.into());
    }
}

/// `owner/repo#7` of an object that names its repository and number.
pub(crate) fn reference(value: &Value) -> Option<String> {
    let repository = clean_line(value["repository"]["nameWithOwner"].as_str()?);
    let number = value["number"].as_u64()?;
    (!repository.is_empty()).then(|| format!("{repository}#{number}"))
}
