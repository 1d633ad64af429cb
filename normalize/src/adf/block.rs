//! Blocks: paragraphs, headings, lists, code, quotes, panels.

use super::{DEEPEST, attribute, children, inline, kind, table, words};
use serde_json::Value;

/// Each block's Markdown; empty ones are left out.
pub(super) fn blocks(nodes: &[Value], depth: usize) -> Vec<String> {
    let mut found = Vec::new();
    let mut loose = Vec::new();
    for node in nodes {
        if inline::is_inline(kind(node)) {
            loose.push(node.clone());
            continue;
        }
        found.extend(paragraph(&std::mem::take(&mut loose), depth));
        found.extend(block(node, depth));
    }
    found.extend(paragraph(&loose, depth));
    found.retain(|block| !block.trim().is_empty());
    found
}

fn paragraph(nodes: &[Value], depth: usize) -> Option<String> {
    let text = inline::text(nodes, depth);
    let text = text.trim_matches([' ', '\n']);
    (!text.is_empty()).then(|| inline::escape_line_starts(text))
}

fn block(node: &Value, depth: usize) -> Vec<String> {
    if depth > DEEPEST {
        return vec![words(node)];
    }
    let inner = || blocks(children(node), depth + 1);
    match kind(node) {
        "paragraph" => paragraph(children(node), depth).into_iter().collect(),
        "heading" => vec![heading(node, depth)],
        "codeBlock" => vec![code(node)],
        "rule" => vec!["---".to_owned()],
        "blockquote" => vec![quote(&inner())],
        "panel" => {
            let kind = attribute(node, "panelType").unwrap_or("note");
            let mut inner = inner();
            inner.insert(0, format!("**{}**", capital(kind)));
            vec![quote(&inner)]
        }
        "expand" | "nestedExpand" => {
            let title = attribute(node, "title").map(|title| format!("**{}**", title.trim()));
            title.into_iter().chain(inner()).collect()
        }
        "bulletList" => vec![list(node, depth, |_| "- ".to_owned())],
        "orderedList" => {
            let first = node["attrs"]["order"].as_u64().unwrap_or(1);
            vec![list(node, depth, |at| format!("{}. ", first + at))]
        }
        "taskList" | "decisionList" => vec![tasks(node, depth)],
        "table" => vec![table::table(node, depth)],
        "mediaSingle" | "mediaGroup" => {
            let media = children(node).iter().map(inline::media);
            vec![media.collect::<Vec<_>>().join("\n")]
        }
        "blockCard" | "embedCard" => vec![inline::card(node)],
        _ if children(node).is_empty() => {
            let text = attribute(node, "text").or(attribute(node, "title"));
            let text = text.map(str::to_owned);
            text.or_else(|| node["text"].as_str().map(str::to_owned))
                .into_iter()
                .collect()
        }
        // A document, a layout, an extension, or what is not known.
        _ => inner(),
    }
}

fn heading(node: &Value, depth: usize) -> String {
    let level = node["attrs"]["level"].as_u64().unwrap_or(1).clamp(1, 6);
    let text = inline::text(children(node), depth);
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.is_empty() {
        true => String::new(),
        false => format!("{} {line}", "#".repeat(usize::try_from(level).unwrap_or(1))),
    }
}

fn code(node: &Value) -> String {
    let body: String = children(node)
        .iter()
        .filter_map(|child| child["text"].as_str())
        .collect();
    let language: String = attribute(node, "language")
        .unwrap_or_default()
        .chars()
        .filter(|c| !c.is_whitespace() && *c != '`')
        .collect();
    fenced(&language, &body)
}

/// A fence that is longer than any run of backticks inside.
pub(crate) fn fenced(language: &str, body: &str) -> String {
    let fence = "`".repeat(inline::longest_run(body).max(2) + 1);
    let end = if body.ends_with('\n') || body.is_empty() {
        ""
    } else {
        "\n"
    };
    format!("{fence}{language}\n{body}{end}{fence}")
}

fn quote(blocks: &[String]) -> String {
    let text = blocks.join("\n\n");
    let lines: Vec<String> = text
        .split('\n')
        .map(|line| match line.is_empty() {
            true => ">".to_owned(),
            false => format!("> {line}"),
        })
        .collect();
    lines.join("\n")
}

/// Items under their markers; an item of several blocks keeps them, indented.
fn list(node: &Value, depth: usize, marker: impl Fn(u64) -> String) -> String {
    let mut items = Vec::new();
    for (at, item) in (0_u64..).zip(children(node)) {
        let content = match kind(item) {
            "listItem" => blocks(children(item), depth + 1),
            _ => blocks(std::slice::from_ref(item), depth + 1),
        };
        items.push(hanging(&marker(at), &item_text(&content)));
    }
    items.join("\n")
}

/// A list inside an item stands close to the text before it.
fn item_text(content: &[String]) -> String {
    let mut text = String::new();
    for block in content {
        if !text.is_empty() {
            let is_list = ["- ", "1. "].iter().any(|start| block.starts_with(start));
            text.push_str(if is_list { "\n" } else { "\n\n" });
        }
        text.push_str(block);
    }
    text
}

fn hanging(marker: &str, text: &str) -> String {
    let indent = " ".repeat(marker.len());
    let mut lines = text.split('\n');
    let mut hung = format!("{marker}{}", lines.next().unwrap_or_default());
    for line in lines {
        hung.push('\n');
        if !line.is_empty() {
            hung.push_str(&indent);
            hung.push_str(line);
        }
    }
    hung
}

fn tasks(node: &Value, depth: usize) -> String {
    let mut items = Vec::new();
    for item in children(node) {
        match kind(item) {
            "taskList" | "decisionList" if depth <= DEEPEST => {
                items.push(hanging("  ", &tasks(item, depth + 1)));
            }
            "decisionItem" => {
                let text = inline::text(children(item), depth).replace('\n', " ");
                items.push(format!("- Decision: {text}"));
            }
            _ => {
                let done = attribute(item, "state") == Some("DONE");
                let text = item_text(&blocks(children(item), depth + 1));
                let mark = if done { "- [x] " } else { "- [ ] " };
                items.push(hanging(mark, &text));
            }
        }
    }
    items.join("\n")
}

fn capital(word: &str) -> String {
    let mut chars = word.chars();
    match chars.next() {
        Some(first) => first.to_uppercase().chain(chars).collect(),
        None => String::new(),
    }
}
