//! Texts of either kind as Markdown.

use crate::{
    adf,
    clean::{clean_line, clean_text},
    fields::{Fields, Notes},
    jira_markup,
};
use serde_json::Value;
use whence_contract::Dialect;

/// One text; empty where there is none.
pub(super) fn text(fields: &mut Fields, name: &str, dialect: Dialect, notes: &mut Notes) -> String {
    fields
        .take(name, notes, |value| markdown(&value, dialect))
        .unwrap_or_default()
}

/// The description, and after it the other long texts that a reader sees on the
/// issue's page: its environment, and on Cloud custom fields that are documents.
/// Each has its field's name as a heading.
pub(super) fn description(
    fields: &mut Fields,
    names: &Value,
    dialect: Dialect,
    notes: &mut Notes,
) -> String {
    let mut body = text(fields, "description", dialect, notes);
    let mut more = vec![(
        "Environment".to_owned(),
        text(fields, "environment", dialect, notes),
    )];
    for id in fields.names_where(|id, value| id.starts_with("customfield_") && is_document(value)) {
        let name = names.get(&id).and_then(Value::as_str).map(clean_line);
        let name = name.filter(|name| !name.is_empty());
        let text = text(fields, &id, dialect, notes);
        more.push((name.unwrap_or(id), text));
    }
    for (name, text) in more.iter().filter(|(_, text)| !text.trim().is_empty()) {
        if !body.trim().is_empty() {
            body.push_str("\n\n");
        }
        body.push_str(&format!("## {name}\n\n{text}"));
    }
    body
}

fn is_document(value: &Value) -> bool {
    value.get("type").and_then(Value::as_str) == Some("doc") && value.get("content").is_some()
}

fn markdown(value: &Value, dialect: Dialect) -> Option<String> {
    let text = match value {
        Value::String(text) => {
            let text = clean_text(text);
            match dialect {
                Dialect::JiraServerIssue => jira_markup::to_markdown(&text),
                _ => text,
            }
        }
        Value::Object(_) => adf::to_markdown(value),
        _ => return None,
    };
    Some(clean_text(&text))
}
