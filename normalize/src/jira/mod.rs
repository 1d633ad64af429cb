//! Issues of Jira, in the shape that the harvester gives them: the issue with
//! its fields, all comments, the changelog, and what custom fields are called.
//!
//! Cloud's texts are Atlassian documents, Server's are wiki markup; all else is
//! alike.

mod events;
mod links;
mod people;
mod prose;

use crate::{
    clean::{clean_line, clean_value},
    error::Problem,
    fields::{Fields, Notes, named},
};
use serde_json::{Map, Value};
use whence_contract::{
    Dialect, Document, Label, TicketKey, TicketKind, Unit, UnitKind, Visibility,
};

/// Lists of things with a name, kept under our own names.
const LISTS: [(&str, &str, &str); 4] = [
    ("components", "name", "components"),
    ("fixVersions", "name", "fix_versions"),
    ("versions", "name", "affects_versions"),
    ("attachment", "filename", "attachments"),
];
/// Single things with a name.
const NAMED: [(&str, &str, &str); 5] = [
    ("issuetype", "name", "type"),
    ("resolution", "name", "resolution"),
    ("security", "name", "security_level"),
    ("statusCategory", "name", "status_category"),
    ("duedate", "", "due"),
];

/// # Errors
/// When the payload does not say which issue it is.
pub(crate) fn read(
    payload: Map<String, Value>,
    dialect: Dialect,
    key: &TicketKey,
) -> Result<Document, Problem> {
    let mut notes = Notes::default();
    let mut payload = Fields::new(payload);
    let mut issue = payload
        .object("issue", &mut notes)
        .ok_or_else(|| Problem::field("issue", "expected the issue, an object"))?;
    let upstream = issue
        .line("id", &mut notes)
        .ok_or_else(|| Problem::field("issue.id", "expected the issue's id, a text"))?;
    // A message under another ticket's key would overwrite that ticket.
    if upstream != key.ticket {
        let cause = format!("{upstream} is not the key's {}", key.ticket);
        return Err(Problem::field("issue.id", cause));
    }
    let id = issue
        .line("key", &mut notes)
        .ok_or_else(|| Problem::field("issue.key", "expected the issue's key, a text"))?;
    let mut fields = issue
        .object("fields", &mut notes)
        .unwrap_or_else(|| Fields::new(Map::new()));
    let names = payload.value("names").unwrap_or_default();
    let url = payload.url("url", &mut notes);

    let project = fields.take("project", &mut notes, |value| named(&value, "key"));
    let in_key = || id.rsplit_once('-').map(|(project, _)| project.to_owned());
    let project = project.filter(|p| !p.is_empty()).or_else(in_key);
    let reporter = people::person(&mut fields, "reporter", &mut notes);
    let creator = people::person(&mut fields, "creator", &mut notes);
    let author = reporter.clone().or_else(|| creator.clone());
    let assignee = people::person(&mut fields, "assignee", &mut notes);
    let created_at = fields.time("created", &mut notes);
    let description = Unit {
        author: author.clone(),
        created_at,
        body: prose::description(&mut fields, &names, dialect, &mut notes),
        ..Unit::new(UnitKind::Description, "")
    };
    let mut units = vec![description];
    units.extend(comments(&mut payload, dialect, url.as_deref(), &mut notes));

    let title = fields.line("summary", &mut notes).unwrap_or_default();
    let visibility = visibility(&fields);
    let linked = links::read(&mut fields, &mut notes);
    let mut document = Document {
        url,
        state: fields
            .name("status", "name", &mut notes)
            .map(|state| state.to_lowercase()),
        author,
        assignees: assignee.into_iter().collect(),
        labels: labels(&mut fields, &mut notes),
        priority: fields.name("priority", "name", &mut notes),
        created_at,
        updated_at: fields.time("updated", &mut notes),
        closed_at: fields.time("resolutiondate", &mut notes),
        visibility,
        units,
        events: events::read(&mut payload, &mut notes),
        links: linked.links,
        ..Document::new(
            "jira",
            project.unwrap_or_default(),
            id,
            TicketKind::Issue,
            title,
        )
    };
    let meta = &mut document.meta;
    meta.extend(linked.meta);
    for (field, inner, name) in NAMED {
        if let Some(text) = fields.name(field, inner, &mut notes) {
            meta.insert(name.to_owned(), text.into());
        }
    }
    for (field, inner, name) in LISTS {
        let list = fields.list(field, &mut notes, |value| named(&value, inner));
        if !list.is_empty() {
            meta.insert(name.to_owned(), list.into());
        }
    }
    if let Some(creator) = creator.filter(|creator| reporter.as_ref() != Some(creator)) {
        meta.insert("creator".to_owned(), creator.into());
    }
    if let Some(ignored) = notes.into_value() {
        meta.insert("ignored_fields".to_owned(), clean_value(ignored));
    }
    Ok(document)
}

fn comments(
    payload: &mut Fields,
    dialect: Dialect,
    url: Option<&str>,
    notes: &mut Notes,
) -> Vec<Unit> {
    let mut units = Vec::new();
    for mut comment in payload.objects("comments", notes) {
        let id = comment.line("id", notes);
        let page = url.zip(id.as_ref());
        units.push(Unit {
            url: page.map(|(url, id)| format!("{url}?focusedCommentId={id}")),
            visibility: match is_restricted(&comment) {
                true => Visibility::Internal,
                false => Visibility::Public,
            },
            author: people::person(&mut comment, "author", notes),
            created_at: comment.time("created", notes),
            updated_at: comment.time("updated", notes),
            body: prose::text(&mut comment, "body", dialect, notes),
            upstream_id: id,
            ..Unit::new(UnitKind::Comment, "")
        });
    }
    units
}

/// It has a security level, or is restricted to roles.
fn visibility(fields: &Fields) -> Visibility {
    let restricted = fields
        .peek("issuerestriction")
        .and_then(|value| value.get("issuerestrictions")?.as_object())
        .is_some_and(|roles| !roles.is_empty());
    match restricted || fields.peek("security").is_some() {
        true => Visibility::Confidential,
        false => Visibility::Public,
    }
}

/// It is shown to a role or a group, or is an internal note of a service desk,
/// which Cloud says by a flag and Server by a property.
fn is_restricted(comment: &Fields) -> bool {
    let properties = comment.peek("properties").and_then(Value::as_array);
    let internal = properties.into_iter().flatten().any(|property| {
        property.get("key").and_then(Value::as_str) == Some("sd.public.comment")
            && property.pointer("/value/internal") == Some(&Value::Bool(true))
    });
    internal
        || comment.peek("visibility").is_some()
        || comment.peek("jsdPublic") == Some(&Value::Bool(false))
}

fn labels(fields: &mut Fields, notes: &mut Notes) -> Vec<Label> {
    let names = fields.list("labels", notes, |value| value.as_str().map(clean_line));
    let labels = names.into_iter().filter(|name| !name.is_empty());
    let label = |name| Label {
        name,
        color: None,
        description: None,
    };
    crate::github_archive::labels(labels.map(label).collect())
}
