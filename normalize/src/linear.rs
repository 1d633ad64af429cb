//! Issues of Linear's GraphQL API, their lists joined to plain arrays.
//!
//! Linear lists newest first. Comments become units in the order in which a
//! person reads them: threads by their first comment, replies below it.

use crate::{
    clean::clean_value,
    error::Problem,
    fields::{Fields, Notes, named},
    github_archive::labels,
};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use whence_contract::{Document, Label, Link, LinkKind, TicketKey, TicketKind, Unit, UnitKind};

/// Single things without a place in a document: field, the text in it, our name.
const META: [(&str, &str, &str); 5] = [
    ("project", "name", "project"),
    ("projectMilestone", "name", "project_milestone"),
    ("dueDate", "", "due"),
    ("archivedAt", "", "archived_at"),
    ("botActor", "name", "bot"),
];

/// # Errors
/// When the payload does not say which issue it is, or is another ticket's.
pub(crate) fn read(payload: Map<String, Value>, key: &TicketKey) -> Result<Document, Problem> {
    let mut notes = Notes::default();
    let mut issue = Fields::new(payload);
    let upstream = issue
        .line("id", &mut notes)
        .ok_or_else(|| Problem::field("id", "expected the issue's id, a text"))?;
    // A message under another ticket's key would overwrite that ticket.
    if upstream != key.ticket {
        let cause = format!("{upstream} is not the key's {}", key.ticket);
        return Err(Problem::field("id", cause));
    }
    let id = issue
        .line("identifier", &mut notes)
        .ok_or_else(|| Problem::field("identifier", "expected what people write, a text"))?;
    let team = issue.name("team", "key", &mut notes);
    let in_name = || id.rsplit_once('-').map(|(team, _)| team.to_owned());
    let project = team.or_else(in_name).unwrap_or_default();

    let bot = issue.peek("botActor").and_then(|bot| named(bot, "name"));
    let author = person(&mut issue, "creator", &mut notes)
        .or_else(|| person(&mut issue, "externalUserCreator", &mut notes))
        .or(bot);
    let created_at = issue.time("createdAt", &mut notes);
    let description = Unit {
        author: author.clone(),
        created_at,
        body: issue.text("description", &mut notes).unwrap_or_default(),
        ..Unit::new(UnitKind::Description, "")
    };
    let mut units = vec![description];
    units.extend(comments(&mut issue, &mut notes));

    let mut state = issue.object("state", &mut notes);
    let of_state = |field: &str, state: &mut Option<Fields>, notes: &mut Notes| {
        state.as_mut().and_then(|state| state.line(field, notes))
    };
    let state_name = of_state("name", &mut state, &mut notes);
    let state_type = of_state("type", &mut state, &mut notes);
    let completed_at = issue.time("completedAt", &mut notes);
    let canceled_at = issue.time("canceledAt", &mut notes);
    let related = relations(&mut issue, &mut notes);
    let title = issue.line("title", &mut notes).unwrap_or_default();
    let mut document = Document {
        url: issue.url("url", &mut notes),
        state: state_name.map(|state| state.to_lowercase()),
        author,
        assignees: person(&mut issue, "assignee", &mut notes)
            .into_iter()
            .collect(),
        labels: labels(issue.list("labels", &mut notes, |value| label(&value))),
        milestone: cycle(&mut issue, &mut notes),
        priority: priority(&mut issue, &mut notes),
        created_at,
        updated_at: issue.time("updatedAt", &mut notes),
        closed_at: completed_at.or(canceled_at),
        units,
        links: related.iter().map(|(_, link)| link.clone()).collect(),
        ..Document::new("linear", project, id, TicketKind::Issue, title)
    };
    document.links.dedup();
    let meta = &mut document.meta;
    for (field, inner, name) in META {
        if let Some(text) = issue.name(field, inner, &mut notes) {
            meta.insert(name.to_owned(), text.into());
        }
    }
    if let Some(kind) = state_type {
        meta.insert("state_type".to_owned(), kind.into());
    }
    if let Some(estimate) = issue.value("estimate").filter(Value::is_number) {
        meta.insert("estimate".to_owned(), estimate);
    }
    if let Some(parent) = issue.name("parent", "identifier", &mut notes) {
        document.links.push(Link {
            kind: LinkKind::Relates,
            target: parent.clone(),
        });
        meta.insert("parent".to_owned(), parent.into());
    }
    if !related.is_empty() {
        let stated: Vec<Value> = related
            .iter()
            .map(|(relation, link)| json!({ "relation": relation, "target": link.target }))
            .collect();
        meta.insert("links".to_owned(), stated.into());
    }
    let attachments: Vec<Value> = issue
        .objects("attachments", &mut notes)
        .into_iter()
        .filter_map(|mut attachment| attached(&mut attachment, &mut notes))
        .collect();
    if !attachments.is_empty() {
        meta.insert("attachments".to_owned(), attachments.into());
    }
    if let Some(ignored) = notes.into_value() {
        meta.insert("ignored_fields".to_owned(), clean_value(ignored));
    }
    Ok(document)
}

/// The handle of an account, else its name.
fn person(fields: &mut Fields, field: &str, notes: &mut Notes) -> Option<String> {
    let mut person = fields.object(field, notes)?;
    let name = person.line("name", notes);
    person.line("displayName", notes).or(name)
}

fn label(value: &Value) -> Option<Label> {
    let detail = |field: &str| {
        value
            .get(field)
            .and_then(|detail| named(detail, ""))
            .filter(|text| !text.is_empty())
    };
    Some(Label {
        name: detail("name")?,
        color: detail("color"),
        description: detail("description"),
    })
}

/// A cycle is a time box, as a milestone is elsewhere; most have only a number.
fn cycle(issue: &mut Fields, notes: &mut Notes) -> Option<String> {
    let mut cycle = issue.object("cycle", notes)?;
    let number = cycle.number("number", notes);
    cycle
        .line("name", notes)
        .or_else(|| number.map(|number| format!("Cycle {number}")))
}

/// "No priority" is none.
fn priority(issue: &mut Fields, notes: &mut Notes) -> Option<String> {
    let none = issue.value("priority").and_then(|value| value.as_f64()) == Some(0.0);
    issue.line("priorityLabel", notes).filter(|_| !none)
}

fn attached(attachment: &mut Fields, notes: &mut Notes) -> Option<Value> {
    let mut about = Map::new();
    for field in ["title", "subtitle"] {
        if let Some(text) = attachment.line(field, notes) {
            about.insert(field.to_owned(), text.into());
        }
    }
    if let Some(url) = attachment.url("url", notes) {
        about.insert("url".to_owned(), url.into());
    }
    (!about.is_empty()).then_some(Value::Object(about))
}

/// Each relation in words as this issue's page has it, with its link. Only the
/// duplicate itself says what it repeats.
fn relations(issue: &mut Fields, notes: &mut Notes) -> Vec<(String, Link)> {
    let mut all = Vec::new();
    for (list, other) in [("relations", "relatedIssue"), ("inverseRelations", "issue")] {
        for mut relation in issue.objects(list, notes) {
            let stated = relation.line("type", notes).unwrap_or_default();
            let Some(target) = relation.name(other, "identifier", notes) else {
                continue;
            };
            let (words, kind) = match (stated.as_str(), list == "relations") {
                ("duplicate", true) => ("duplicate of", LinkKind::Duplicates),
                ("duplicate", false) => ("duplicated by", LinkKind::Relates),
                ("blocks", true) => ("blocks", LinkKind::Relates),
                ("blocks", false) => ("blocked by", LinkKind::Relates),
                _ => (stated.as_str(), LinkKind::Relates),
            };
            all.push((words.to_owned(), Link { kind, target }));
        }
    }
    all.sort_by(|a, b| (&a.1, &a.0).cmp(&(&b.1, &b.0)));
    all.dedup();
    all
}

/// A comment and the one it answers.
struct Comment {
    unit: Unit,
    parent: Option<String>,
}

/// Comments thread by thread, each in the order of time.
fn comments(issue: &mut Fields, notes: &mut Notes) -> Vec<Unit> {
    let mut comments: Vec<Comment> = issue
        .objects("comments", notes)
        .into_iter()
        .map(|mut comment| written(&mut comment, notes))
        .collect();
    comments.sort_by_key(|comment| moment(&comment.unit));
    let written: HashMap<Option<String>, Option<Timestamp>> = comments
        .iter()
        .map(|comment| (comment.unit.upstream_id.clone(), comment.unit.created_at))
        .collect();
    // Stable: within a thread the order of time stays.
    comments.sort_by_key(|comment| thread(comment, &written));
    comments.into_iter().map(|comment| comment.unit).collect()
}

/// When a comment was written, and which it is where that was one moment.
fn moment(unit: &Unit) -> (Option<Timestamp>, Option<String>) {
    (unit.created_at, unit.upstream_id.clone())
}

/// When the thread of a comment begins, and its id: Linear's threads are one
/// level deep. A reply whose thread is gone stands alone.
fn thread(
    comment: &Comment,
    written: &HashMap<Option<String>, Option<Timestamp>>,
) -> (Option<Timestamp>, Option<String>) {
    match written.get_key_value(&comment.parent) {
        Some((root, at)) if root.is_some() => (*at, root.clone()),
        _ => moment(&comment.unit),
    }
}

fn written(comment: &mut Fields, notes: &mut Notes) -> Comment {
    let bot = comment.name("botActor", "name", notes);
    let author = person(comment, "user", notes)
        .or_else(|| person(comment, "externalUser", notes))
        .or(bot);
    let body = comment.text("body", notes).unwrap_or_default();
    // What a comment stands at in the description is its context.
    let body = match comment.text("quotedText", notes) {
        Some(quoted) if !quoted.trim().is_empty() => {
            let quote: Vec<String> = quoted.lines().map(|line| format!("> {line}")).collect();
            format!("{}\n\n{body}", quote.join("\n"))
        }
        _ => body,
    };
    Comment {
        parent: comment.line("parentId", notes),
        unit: Unit {
            upstream_id: comment.line("id", notes),
            author,
            created_at: comment.time("createdAt", notes),
            updated_at: comment.time("updatedAt", notes),
            url: comment.url("url", notes),
            body,
            ..Unit::new(UnitKind::Comment, "")
        },
    }
}
