//! Atlassian documents as Markdown.

use serde_json::Value;

/// The texts of a document, a paragraph each.
pub(crate) fn to_markdown(document: &Value) -> String {
    let mut text = String::new();
    walk(document, &mut text);
    text.trim_end().to_owned()
}

fn walk(node: &Value, text: &mut String) {
    if let Some(piece) = node.get("text").and_then(Value::as_str) {
        text.push_str(piece);
    }
    for child in node
        .get("content")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        walk(child, text);
    }
    if node.get("type").and_then(Value::as_str) == Some("paragraph") {
        text.push_str("\n\n");
    }
}
