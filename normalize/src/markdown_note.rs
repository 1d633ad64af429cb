//! A note of a Markdown wiki: `{"path": …, "text": …}`.

use crate::{
    clean::{clean_line, clean_text},
    error::Problem,
    fields::{Fields, Notes},
    front_matter::{self, Entry, FrontMatter},
    github_archive::labels,
    note_links::{self, note_path},
    prose::events,
};
use pulldown_cmark::{Event, HeadingLevel, Tag, TagEnd};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use whence_contract::{Document, Label, TicketKey, TicketKind, Unit, UnitKind};

/// # Errors
/// When the payload does not say its path.
pub(crate) fn read(payload: Map<String, Value>, key: &TicketKey) -> Result<Document, Problem> {
    let mut notes = Notes::default();
    let mut fields = Fields::new(payload);
    let path = fields
        .line("path", &mut notes)
        .map(|path| note_path(&path))
        .filter(|path| !path.is_empty())
        .ok_or_else(|| Problem::field("path", "expected the note's path within its wiki"))?;
    let text = fields.text("text", &mut notes).unwrap_or_default();
    let project = clean_line(&key.scope);
    let mut meta = BTreeMap::new();
    let (front, body) = match front_matter::split(&text) {
        Ok((front, body)) => (front, body.trim_start_matches('\n')),
        // Better some YAML among the prose than prose lost as YAML.
        Err(reason) => {
            meta.insert("front_matter_problem".to_owned(), reason.into());
            (FrontMatter::default(), text.as_str())
        }
    };
    for key in &front.skipped {
        notes.add(format!("front_matter.{}", clean_line(key)));
    }
    if !front.entries.is_empty() {
        meta.insert("front_matter".to_owned(), kept(&front));
    }
    if let Some(ignored) = notes.into_value() {
        meta.insert("ignored_fields".to_owned(), ignored);
    }
    let stem = || {
        let name = path.rsplit('/').next().unwrap_or(&path);
        name.rsplit_once('.')
            .map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem })
            .to_owned()
    };
    let title = title(&front)
        .or_else(|| first_heading(body))
        .unwrap_or_else(stem);
    let id = format!("{project}/{path}");
    Ok(Document {
        labels: tags(&front),
        links: note_links::links(body, &project, &path),
        units: vec![Unit::new(UnitKind::Description, body)],
        meta,
        ..Document::new("wiki", project, id, TicketKind::Note, title)
    })
}

fn title(front: &FrontMatter) -> Option<String> {
    match front.get("title")? {
        Entry::Text(text) => Some(clean_line(text)).filter(|title| !title.is_empty()),
        Entry::List(_) => None,
    }
}

/// The text of the first heading of level 1; code is no heading.
fn first_heading(body: &str) -> Option<String> {
    let mut heading: Option<String> = None;
    for event in events(body) {
        match event {
            Event::Start(Tag::Heading {
                level: HeadingLevel::H1,
                ..
            }) => heading = Some(String::new()),
            Event::Text(text) | Event::Code(text) => {
                if let Some(heading) = &mut heading {
                    heading.push_str(&text);
                }
            }
            Event::SoftBreak | Event::HardBreak => {
                if let Some(heading) = &mut heading {
                    heading.push(' ');
                }
            }
            Event::End(TagEnd::Heading(HeadingLevel::H1)) => {
                // An empty one names nothing; a later one may.
                let line = clean_line(&heading.take().unwrap_or_default());
                if !line.is_empty() {
                    return Some(line);
                }
            }
            _ => {}
        }
    }
    None
}

/// Labels of `tags` and `labels`, as a list or as `a, b`, with or without `#`.
fn tags(front: &FrontMatter) -> Vec<Label> {
    let mut names: Vec<&str> = Vec::new();
    for key in ["tags", "labels"] {
        match front.get(key) {
            Some(Entry::Text(text)) => names.extend(text.split(',')),
            Some(Entry::List(items)) => names.extend(items.iter().map(String::as_str)),
            None => {}
        }
    }
    let named = names.into_iter().map(|name| Label {
        name: clean_line(name.trim().trim_start_matches('#')),
        color: None,
        description: None,
    });
    labels(named.filter(|label| !label.name.is_empty()).collect())
}

fn kept(front: &FrontMatter) -> Value {
    let value = |entry: &Entry| match entry {
        Entry::Text(text) => Value::from(clean_text(text)),
        Entry::List(items) => items.iter().map(|item| clean_text(item)).collect(),
    };
    let entries = front.entries.iter();
    Value::Object(
        entries
            .map(|(key, entry)| (clean_line(key), value(entry)))
            .collect(),
    )
}
