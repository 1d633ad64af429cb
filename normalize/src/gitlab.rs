//! Issues and merge requests of GitLab's REST API:
//! `{"project": …, "ticket": {…}, "discussions": [{"notes": […]}], "files": […]}`.

use crate::{
    clean::{clean_line, clean_value},
    closing,
    error::Problem,
    fields::{Fields, Notes, named},
    github_archive::labels,
};
use serde_json::{Map, Value};
use whence_contract::{
    Dialect, Document, FileChange, Label, Link, LinkKind, TicketEvent, TicketKey, TicketKind, Unit,
    UnitKind, Visibility,
};

/// Fields without a place in a document, kept under upstream's names, with the
/// one text in an object that says something.
const META: [(&str, &str); 6] = [
    ("issue_type", ""),
    ("severity", ""),
    ("due_date", ""),
    ("source_branch", ""),
    ("target_branch", ""),
    ("merged_by", "username"),
];

/// # Errors
/// When the payload does not say its project and number, or is another ticket's.
pub(crate) fn read(
    payload: Map<String, Value>,
    dialect: Dialect,
    key: &TicketKey,
) -> Result<Document, Problem> {
    let mut notes = Notes::default();
    let mut outer = Fields::new(payload);
    let project = outer
        .line("project", &mut notes)
        .ok_or_else(|| Problem::field("project", "expected the project's path"))?;
    let mut fields = outer
        .object("ticket", &mut notes)
        .ok_or_else(|| Problem::field("ticket", "expected the ticket, an object"))?;
    let (kind, sign, prefix) = match dialect {
        Dialect::GitlabMergeRequest => (TicketKind::MergeRequest, '!', "merge-request"),
        _ => (TicketKind::Issue, '#', "issue"),
    };
    let id = fields.number("id", &mut notes);
    if id.map(|id| format!("{prefix}-{id}")).as_ref() != Some(&key.ticket) {
        return Err(Problem::field(
            "ticket.id",
            format!("{id:?} is not the key's {}", key.ticket),
        ));
    }
    let iid = fields
        .number("iid", &mut notes)
        .ok_or_else(|| Problem::field("ticket.iid", "expected the ticket's number"))?;
    let name = format!("{project}{sign}{iid}");
    let confidential = fields.flag("confidential", &mut notes) == Some(true);
    let visibility = match confidential {
        true => Visibility::Confidential,
        false => Visibility::Public,
    };
    let author = fields.name("author", "username", &mut notes);
    let created_at = fields.time("created_at", &mut notes);
    let url = fields.url("web_url", &mut notes);
    let description = Unit {
        author: author.clone(),
        created_at,
        visibility,
        body: fields.text("description", &mut notes).unwrap_or_default(),
        ..Unit::new(UnitKind::Description, "")
    };
    let mut links = match kind {
        TicketKind::MergeRequest => {
            closing::links(&description.body, &project, &name, url.as_deref())
        }
        _ => Vec::new(),
    };
    let mut units = vec![description];
    let mut events = Vec::new();
    for mut discussion in outer.objects("discussions", &mut notes) {
        for mut note in discussion.objects("notes", &mut notes) {
            if note.flag("system", &mut notes) == Some(true) {
                let event = event(&mut note, &mut notes);
                links.extend(moved(event.text.as_deref().unwrap_or_default(), &project));
                events.push(event);
            } else {
                units.push(written(&mut note, visibility, url.as_deref(), &mut notes));
            }
        }
    }
    let title = fields.line("title", &mut notes).unwrap_or_default();
    let mut document = Document {
        url,
        state: state(&mut fields, &mut notes),
        author,
        assignees: people(&mut fields, "assignees", &mut notes),
        labels: labels(fields.list("labels", &mut notes, label)),
        milestone: fields.name("milestone", "title", &mut notes),
        created_at,
        updated_at: fields.time("updated_at", &mut notes),
        visibility,
        units,
        events,
        files: outer
            .objects("files", &mut notes)
            .into_iter()
            .filter_map(|mut file| change(&mut file, &mut notes))
            .collect(),
        links,
        ..Document::new("gitlab", project, name, kind, title)
    };
    let merged_at = fields.time("merged_at", &mut notes);
    document.closed_at = fields.time("closed_at", &mut notes).or(merged_at);
    for (name, inner) in META {
        if let Some(text) = fields.name(name, inner, &mut notes) {
            document.meta.insert(name.to_owned(), text.into());
        }
    }
    let reviewers = people(&mut fields, "reviewers", &mut notes);
    if !reviewers.is_empty() {
        document
            .meta
            .insert("reviewers".to_owned(), reviewers.into());
    }
    if outer.flag("files_incomplete", &mut notes) == Some(true) {
        document
            .meta
            .insert("files_incomplete".to_owned(), true.into());
    }
    if let Some(ignored) = notes.into_value() {
        document
            .meta
            .insert("ignored_fields".to_owned(), clean_value(ignored));
    }
    Ok(document)
}

/// `opened` is `open` everywhere else.
fn state(fields: &mut Fields, notes: &mut Notes) -> Option<String> {
    let state = fields.line("state", notes)?.to_lowercase();
    Some(match state.as_str() {
        "opened" | "reopened" => "open".to_owned(),
        _ => state,
    })
}

fn people(fields: &mut Fields, list: &str, notes: &mut Notes) -> Vec<String> {
    fields.list(list, notes, |value| {
        named(&value, "username").filter(|name| !name.is_empty())
    })
}

/// A note, or a comment at a place in a diff.
fn written(note: &mut Fields, ticket: Visibility, url: Option<&str>, notes: &mut Notes) -> Unit {
    let id = note.number("id", notes);
    let mut position = note.object("position", notes);
    let path = position.as_mut().and_then(|position| {
        let old = position.line("old_path", notes);
        position.line("new_path", notes).or(old)
    });
    let internal = ["internal", "confidential"]
        .into_iter()
        .any(|flag| note.flag(flag, notes) == Some(true));
    let kind = match position {
        Some(_) => UnitKind::ReviewComment,
        None => UnitKind::Comment,
    };
    Unit {
        upstream_id: id.map(|id| id.to_string()),
        author: note.name("author", "username", notes),
        created_at: note.time("created_at", notes),
        updated_at: note.time("updated_at", notes),
        visibility: match internal {
            true => ticket.max(Visibility::Internal),
            false => ticket,
        },
        url: url.zip(id).map(|(url, id)| format!("{url}#note_{id}")),
        path,
        body: note.text("body", notes).unwrap_or_default(),
        ..Unit::new(kind, "")
    }
}

/// A system note: its first words say what happened.
fn event(note: &mut Fields, notes: &mut Notes) -> TicketEvent {
    let text = note.line("body", notes).unwrap_or_default();
    let kind = [
        ("closed", "closed"),
        ("reopened", "reopened"),
        ("merged", "merged"),
        ("approved", "approved"),
        ("requested changes", "changes-requested"),
        ("mentioned in", "mentioned"),
        ("assigned to", "assigned"),
        ("unassigned", "unassigned"),
        ("changed title", "renamed"),
        ("changed the description", "edited"),
        ("moved", "moved"),
        ("made the issue", "visibility-changed"),
        ("resolved all threads", "resolved"),
        ("added ~", "labeled"),
        ("removed ~", "unlabeled"),
    ]
    .into_iter()
    .find(|(start, _)| text.starts_with(start))
    .map_or("system-note", |(_, kind)| kind);
    TicketEvent {
        kind: kind.to_owned(),
        actor: note.name("author", "username", notes),
        at: note.time("created_at", notes),
        text: Some(text).filter(|text| !text.is_empty()),
    }
}

/// `moved from group/project#7` says what this ticket was before.
fn moved(text: &str, project: &str) -> Option<Link> {
    let former = text.strip_prefix("moved from ")?.trim();
    let target = match former.strip_prefix('#') {
        Some(number) => format!("{project}#{number}"),
        None => former.to_owned(),
    };
    let is_name = target.rsplit_once('#').is_some_and(|(path, number)| {
        !path.is_empty() && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
    });
    is_name.then_some(Link {
        kind: LinkKind::MovedFrom,
        target,
    })
}

fn label(value: Value) -> Option<Label> {
    let detail = |name: &str| {
        let text = clean_line(value.get(name)?.as_str()?);
        (!text.is_empty()).then_some(text)
    };
    Some(Label {
        name: named(&value, "name").filter(|name| !name.is_empty())?,
        color: detail("color"),
        description: detail("description"),
    })
}

fn change(file: &mut Fields, notes: &mut Notes) -> Option<FileChange> {
    let old = file.line("old_path", notes);
    let new = file.line("new_path", notes);
    let mut flag = |name: &str| file.flag(name, notes) == Some(true);
    let (new_file, deleted_file, renamed_file) =
        (flag("new_file"), flag("deleted_file"), flag("renamed_file"));
    Some(FileChange {
        old_path: old.clone().or_else(|| new.clone())?,
        new_path: new.or(old)?,
        new_file,
        deleted_file,
        renamed_file,
    })
}
