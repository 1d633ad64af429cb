//! What stands within a line: text with its marks, mentions, emoji, cards.

use super::{DEEPEST, attribute, children, kind, words};
use jiff::{Timestamp, tz::TimeZone};
use serde_json::Value;

/// Marks that Markdown has, in the order they are put around a text.
#[derive(Clone, Debug, Default, PartialEq)]
struct Marks {
    code: bool,
    strong: bool,
    em: bool,
    strike: bool,
    link: Option<String>,
}

pub(super) fn is_inline(kind: &str) -> bool {
    matches!(
        kind,
        "text"
            | "hardBreak"
            | "mention"
            | "emoji"
            | "date"
            | "status"
            | "inlineCard"
            | "inlineExtension"
            | "mediaInline"
            | "placeholder"
    )
}

/// The Markdown of inline nodes. Neighbours with equal marks are one run.
pub(super) fn text(nodes: &[Value], depth: usize) -> String {
    let mut runs: Vec<(Marks, String)> = Vec::new();
    for node in nodes {
        let (marks, text) = match kind(node) {
            "text" => {
                let marks = marks(node);
                let text = node["text"].as_str().unwrap_or_default();
                match marks.code {
                    true => (marks, text.to_owned()),
                    false => (marks, escape(text)),
                }
            }
            "hardBreak" => (Marks::default(), "\n".to_owned()),
            _ => (Marks::default(), other(node, depth)),
        };
        match runs.last_mut() {
            Some((last, run)) if *last == marks => run.push_str(&text),
            _ => runs.push((marks, text)),
        }
    }
    runs.iter().map(|(marks, run)| marked(marks, run)).collect()
}

fn other(node: &Value, depth: usize) -> String {
    match kind(node) {
        "mention" => {
            let name = attribute(node, "text").or(attribute(node, "id"));
            let name = name.unwrap_or_default().trim_start_matches('@');
            format!("@{name}")
        }
        "emoji" => attribute(node, "text")
            .or(attribute(node, "shortName"))
            .unwrap_or_default()
            .to_owned(),
        "date" => date(node),
        "status" | "placeholder" => attribute(node, "text").unwrap_or_default().to_owned(),
        "inlineCard" => card(node),
        "mediaInline" | "media" => media(node),
        _ if depth > DEEPEST => words(node),
        _ if children(node).is_empty() => attribute(node, "text")
            .or(attribute(node, "title"))
            .or(node["text"].as_str())
            .unwrap_or_default()
            .to_owned(),
        _ => text(children(node), depth + 1),
    }
}

fn date(node: &Value) -> String {
    let stamp = &node["attrs"]["timestamp"];
    let millis = stamp
        .as_i64()
        .or_else(|| stamp.as_str().and_then(|text| text.parse().ok()));
    millis
        .and_then(|millis| Timestamp::from_millisecond(millis).ok())
        .map(|at| at.to_zoned(TimeZone::UTC).date().to_string())
        .unwrap_or_default()
}

/// A link that the service shows as a card.
pub(super) fn card(node: &Value) -> String {
    let data = &node["attrs"]["data"];
    let url = attribute(node, "url").or(data["url"].as_str());
    url.or(data["name"].as_str()).unwrap_or_default().to_owned()
}

/// A picture or a file: by its address where it has one, else by its name.
pub(super) fn media(node: &Value) -> String {
    let name = attribute(node, "alt")
        .or(attribute(node, "__fileName"))
        .or(attribute(node, "title"));
    match (attribute(node, "url"), name) {
        (Some(url), name) => format!("![{}]({url})", name.unwrap_or_default()),
        (None, Some(name)) => format!("[attachment: {name}]"),
        (None, None) if kind(node).starts_with("media") => "[attachment]".to_owned(),
        // A caption beside the picture.
        (None, None) => text(children(node), DEEPEST),
    }
}

fn marks(node: &Value) -> Marks {
    let mut marks = Marks::default();
    for mark in node["marks"].as_array().into_iter().flatten() {
        match kind(mark) {
            "code" => marks.code = true,
            "strong" => marks.strong = true,
            "em" => marks.em = true,
            "strike" => marks.strike = true,
            "link" => marks.link = attribute(mark, "href").map(str::to_owned),
            // Colours, underlines and positions say nothing in Markdown.
            _ => {}
        }
    }
    marks
}

/// The blanks at the ends stay outside: `**bold **` would be no emphasis.
fn marked(marks: &Marks, run: &str) -> String {
    let inner = run.trim();
    if inner.is_empty() || *marks == Marks::default() {
        return run.to_owned();
    }
    let start = run.len() - run.trim_start().len();
    let (before, after) = (&run[..start], &run[start + inner.len()..]);
    let mut text = match marks.code {
        true => code_span(inner),
        false => inner.to_owned(),
    };
    for (on, mark) in [(marks.em, "*"), (marks.strong, "**"), (marks.strike, "~~")] {
        if on && !marks.code {
            text = format!("{mark}{text}{mark}");
        }
    }
    if let Some(href) = &marks.link {
        text = match text == *href {
            true => text,
            false => format!("[{text}]({})", address(href)),
        };
    }
    format!("{before}{text}{after}")
}

/// A target may hold blanks and brackets that would end it early.
fn address(href: &str) -> String {
    match href.contains([' ', '(', ')', '<', '>', '\n']) {
        true => format!("<{}>", href.replace(['<', '>', '\n'], "")),
        false => href.to_owned(),
    }
}

fn code_span(text: &str) -> String {
    let fence = "`".repeat(match longest_run(text) {
        0 => 1,
        run => run + 1,
    });
    let pad = if text.starts_with('`') || text.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{fence}{pad}{}{pad}{fence}", text.replace('\n', " "))
}

/// The longest run of backticks.
pub(super) fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// Keeps prose from becoming markup, and words from being cut: an underscore
/// within a word stays as it is.
pub(crate) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    let chars: Vec<char> = text.chars().collect();
    let at = |index: usize| chars.get(index).copied();
    for (index, c) in chars.iter().copied().enumerate() {
        let before = index.checked_sub(1).and_then(at);
        let after = at(index + 1);
        let is_word = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let is_blank = |c: Option<char>| c.is_none_or(char::is_whitespace);
        let special = match c {
            '`' => true,
            '*' => !(is_blank(before) && is_blank(after)),
            '_' => {
                let is_inside = is_word(before) && is_word(after);
                let is_alone = is_blank(before) && is_blank(after);
                !is_inside && !is_alone
            }
            '~' => before == Some('~') || after == Some('~'),
            '<' => after.is_some_and(|c| c.is_ascii_alphabetic() || "/!?".contains(c)),
            ']' => after == Some('('),
            '\\' => after.is_some_and(|c| c.is_ascii_punctuation()),
            _ => false,
        };
        if special {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// A line of prose that begins like a heading, a list, a quote or a fence.
pub(crate) fn escape_line_starts(text: &str) -> String {
    let lines: Vec<String> = text.split('\n').map(escape_line_start).collect();
    lines.join("\n")
}

fn escape_line_start(line: &str) -> String {
    let line = line.trim_start_matches([' ', '\t']);
    let begins = |marks: &str| line.chars().next().is_some_and(|c| marks.contains(c));
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = line.len() - rest.len();
    let blank_after = |text: &str| text.is_empty() || text.starts_with([' ', '\t']);
    if digits > 0 && digits <= 9 && rest.starts_with(['.', ')']) && blank_after(&rest[1..]) {
        return format!("{}\\{rest}", &line[..digits]);
    }
    let hashes = line.trim_start_matches('#');
    let is_heading = hashes.len() < line.len() && blank_after(hashes);
    let is_item = begins("-+*") && blank_after(&line[1..]);
    let is_rule = line.len() >= 3
        && ['-', '=']
            .iter()
            .any(|mark| line.trim_end().chars().all(|c| c == *mark));
    if begins(">|") || is_heading || is_item || is_rule || line.starts_with("~~~") {
        return format!("\\{line}");
    }
    line.to_owned()
}
