//! Our own document shape, as people and skills write it: a wrong field is an
//! error that names it, for there is someone to correct it.

use crate::{
    clean::{clean_line, clean_text, clean_value},
    error::Problem,
    fields::is_web_address,
    github_archive::labels,
};
use serde_json::{Map, Value};
use whence_contract::{Document, Unit};

/// # Errors
/// When a field is missing or wrong, by its path.
pub(crate) fn read(payload: Map<String, Value>) -> Result<Document, Problem> {
    let document: Document =
        serde_path_to_error::deserialize(Value::Object(payload)).map_err(|error| {
            let cause = error.inner().to_string();
            match error.path().to_string() {
                // serde_json names a missing field in the message alone.
                path if path == "." => Problem::Missing(cause),
                path => Problem::field(path, cause),
            }
        })?;
    let document = clean(document);
    for (name, text) in [
        ("source", &document.source),
        ("project", &document.project),
        ("id", &document.id),
    ] {
        if text.is_empty() {
            return Err(Problem::field(name, "expected a text that is not empty"));
        }
    }
    let urls = document.units.iter().enumerate().map(|(index, unit)| {
        let path = format!("units[{index}].url");
        (path, unit.url.as_deref())
    });
    for (path, url) in urls.chain([("url".to_owned(), document.url.as_deref())]) {
        if url.is_some_and(|url| !is_web_address(url)) {
            return Err(Problem::field(path, "expected http://… or https://…"));
        }
    }
    Ok(document)
}

/// Takes the document apart completely, so that a new field cannot be
/// forgotten here.
fn clean(document: Document) -> Document {
    let Document {
        source,
        project,
        id,
        aliases,
        kind,
        title,
        url,
        state,
        author,
        assignees,
        labels: all,
        milestone,
        priority,
        created_at,
        updated_at,
        closed_at,
        visibility,
        units,
        mut events,
        mut files,
        mut links,
        meta,
    } = document;
    for event in &mut events {
        event.kind = clean_line(&event.kind);
        event.actor = filled(event.actor.take());
        event.text = event.text.take().map(|text| clean_text(&text));
    }
    for file in &mut files {
        file.old_path = clean_line(&file.old_path);
        file.new_path = clean_line(&file.new_path);
    }
    for link in &mut links {
        link.target = clean_line(&link.target);
    }
    let mut all = all;
    for label in &mut all {
        label.name = clean_line(&label.name);
        label.color = filled(label.color.take());
        label.description = filled(label.description.take());
    }
    all.retain(|label| !label.name.is_empty());
    Document {
        source: clean_line(&source),
        project: clean_line(&project),
        id: clean_line(&id),
        aliases: lines(aliases),
        kind,
        title: clean_line(&title),
        url: filled(url),
        state: filled(state).map(|state| state.to_lowercase()),
        author: filled(author),
        assignees: lines(assignees),
        labels: labels(all),
        milestone: filled(milestone),
        priority: filled(priority),
        created_at,
        updated_at,
        closed_at,
        visibility,
        units: units.into_iter().map(clean_unit).collect(),
        events,
        files,
        links,
        meta: meta
            .into_iter()
            .map(|(name, value)| (clean_text(&name), clean_value(value)))
            .collect(),
    }
}

fn clean_unit(unit: Unit) -> Unit {
    let Unit {
        kind,
        upstream_id,
        author,
        created_at,
        updated_at,
        visibility,
        url,
        verdict,
        path,
        body,
    } = unit;
    Unit {
        kind,
        upstream_id: filled(upstream_id),
        author: filled(author),
        created_at,
        updated_at,
        visibility,
        url: filled(url),
        verdict: filled(verdict),
        path: filled(path),
        body: clean_text(&body),
    }
}

/// One line; nothing where it is blank.
fn filled(text: Option<String>) -> Option<String> {
    text.map(|text| clean_line(&text))
        .filter(|text| !text.is_empty())
}

fn lines(texts: Vec<String>) -> Vec<String> {
    texts
        .into_iter()
        .filter_map(|text| filled(Some(text)))
        .collect()
}
