//! Atlassian Document Format to Markdown: what Jira Cloud stores as JSON trees
//! becomes the one Markdown dialect of documents.
//!
//! Nothing vanishes: a node that is not known gives its children, and one
//! without children its text. Trees that are nested beyond reason keep their
//! words and lose their form.

mod block;
mod inline;
mod table;
#[cfg(test)]
mod tests;

pub(crate) use block::fenced;
pub(crate) use inline::{escape, escape_line_starts};

use serde_json::Value;

/// Levels of nesting that keep their form; people write three.
const DEEPEST: usize = 60;

/// The Markdown of a document; of a plain text the text itself.
pub(crate) fn to_markdown(document: &Value) -> String {
    match document {
        Value::String(text) => text.clone(),
        Value::Object(_) => block::blocks(std::slice::from_ref(document), 0).join("\n\n"),
        Value::Array(nodes) => block::blocks(nodes, 0).join("\n\n"),
        _ => String::new(),
    }
}

fn kind(node: &Value) -> &str {
    node["type"].as_str().unwrap_or_default()
}

fn children(node: &Value) -> &[Value] {
    node["content"].as_array().map_or(&[], Vec::as_slice)
}

fn attribute<'a>(node: &'a Value, name: &str) -> Option<&'a str> {
    node["attrs"][name].as_str().filter(|text| !text.is_empty())
}

/// All words below a node, in order, however deep.
fn words(node: &Value) -> String {
    let mut found = Vec::new();
    let mut stack = vec![node];
    while let Some(node) = stack.pop() {
        found.extend(node["text"].as_str());
        if children(node).is_empty() {
            found.extend(attribute(node, "text"));
        }
        stack.extend(children(node).iter().rev());
    }
    found.join(" ")
}
