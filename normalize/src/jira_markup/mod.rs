//! Jira's wiki markup to Markdown: what Jira Server and Data Center store.
//!
//! Read line by line, as Jira does. What stands in `{code}` and `{noformat}` is
//! left as it is; a macro that is not known gives its body.

mod inline;
#[cfg(test)]
mod tests;

use crate::adf::{escape_line_starts, fenced};
use inline::inline;

/// The Markdown of a text in wiki markup.
pub(crate) fn to_markdown(text: &str) -> String {
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut reader = Reader {
        lines: text.split('\n').collect(),
        at: 0,
    };
    reader.blocks(None).join("\n\n")
}

struct Reader<'a> {
    lines: Vec<&'a str>,
    at: usize,
}

/// What a line belongs to; lines of one kind that follow each other are a block.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    Blank,
    Heading,
    Quote,
    Rule,
    Item,
    Row,
    /// `{code}`, `{quote}` … with its name.
    Macro(&'static str),
    Text,
}

/// Macros with a body that we know.
const MACROS: [&str; 5] = ["code", "noformat", "quote", "panel", "color"];

impl Reader<'_> {
    /// Blocks up to the end, or to the closing mark of a macro.
    fn blocks(&mut self, until: Option<&str>) -> Vec<String> {
        let mut blocks = Vec::new();
        while let Some(line) = self.lines.get(self.at).copied() {
            if until.is_some_and(|name| closes(line, name)) {
                self.at += 1;
                break;
            }
            let block = match shape(line) {
                Shape::Blank => {
                    self.at += 1;
                    continue;
                }
                Shape::Heading => self.one(heading),
                Shape::Quote => self.one(|line| {
                    let text = line.trim_start().trim_start_matches("bq.").trim();
                    format!("> {}", inline(text))
                }),
                Shape::Rule => self.one(|_| "---".to_owned()),
                Shape::Item => list(&self.run(Shape::Item)),
                Shape::Row => table(&self.run(Shape::Row)),
                Shape::Macro(name) => self.block_macro(name),
                Shape::Text => {
                    let lines: Vec<String> =
                        self.run(Shape::Text).iter().map(|l| inline(l)).collect();
                    escape_line_starts(&lines.join("\n"))
                }
            };
            if !block.trim().is_empty() {
                blocks.push(block);
            }
        }
        blocks
    }

    fn one(&mut self, read: impl Fn(&str) -> String) -> String {
        let line = self.lines.get(self.at).copied().unwrap_or_default();
        self.at += 1;
        read(line)
    }

    /// The lines of one shape from here on; at least one.
    fn run(&mut self, wanted: Shape) -> Vec<String> {
        let mut lines = Vec::new();
        while let Some(line) = self.lines.get(self.at) {
            if shape(line) != wanted {
                break;
            }
            lines.push((*line).to_owned());
            self.at += 1;
        }
        lines
    }

    fn block_macro(&mut self, name: &'static str) -> String {
        let line = self.lines.get(self.at).copied().unwrap_or_default().trim();
        self.at += 1;
        let head_end = line.find('}').map_or(line.len(), |end| end + 1);
        let (head, rest) = line.split_at(head_end);
        let (title, language) = parameters(head);
        match name {
            "code" | "noformat" => {
                let body = self.verbatim(rest, name);
                let title = title.map(|title| format!("**{title}**\n\n"));
                let language = if name == "code" { language } else { None };
                let fence = fenced(&language.unwrap_or_default(), &body);
                format!("{}{fence}", title.unwrap_or_default())
            }
            _ => {
                // What stands behind the opening mark is the first line inside.
                if !rest.trim().is_empty() {
                    self.at -= 1;
                    if let Some(line) = self.lines.get_mut(self.at) {
                        let start = line.len() - rest.len();
                        *line = line.get(start..).unwrap_or_default();
                    }
                }
                let mut inner = self.blocks(Some(name));
                inner.splice(0..0, title.map(|title| format!("**{title}**")));
                match name {
                    "color" => inner.join("\n\n"),
                    _ => quoted(&inner.join("\n\n")),
                }
            }
        }
    }

    /// The body up to `{name}`, untouched; all of the rest where it never comes.
    fn verbatim(&mut self, first: &str, name: &str) -> String {
        let end = format!("{{{name}}}");
        if let Some(at) = first.find(&end) {
            return first.get(..at).unwrap_or_default().to_owned();
        }
        let mut body = Vec::new();
        if !first.is_empty() {
            body.push(first.to_owned());
        }
        while let Some(line) = self.lines.get(self.at) {
            self.at += 1;
            if let Some(at) = line.find(&end) {
                let last = line.get(..at).unwrap_or_default();
                if !last.trim().is_empty() {
                    body.push(last.to_owned());
                }
                break;
            }
            body.push((*line).to_owned());
        }
        body.join("\n")
    }
}

fn shape(line: &str) -> Shape {
    let text = line.trim();
    if text.is_empty() {
        return Shape::Blank;
    }
    for name in MACROS {
        let opens = text
            .strip_prefix('{')
            .and_then(|rest| rest.strip_prefix(name))
            .is_some_and(|rest| rest.starts_with(['}', ':']));
        if opens && (name != "color" || !text.trim_end().contains("{color}")) {
            return Shape::Macro(name);
        }
    }
    if text.starts_with("bq. ") {
        return Shape::Quote;
    }
    if text.len() >= 4 && text.chars().all(|c| c == '-') {
        return Shape::Rule;
    }
    if level(text).is_some() {
        return Shape::Heading;
    }
    if text.starts_with('|') {
        return Shape::Row;
    }
    match marker(text) {
        Some(_) => Shape::Item,
        None => Shape::Text,
    }
}

fn closes(line: &str, name: &str) -> bool {
    line.trim()
        .strip_prefix('{')
        .and_then(|l| l.strip_suffix('}'))
        == Some(name)
}

fn level(text: &str) -> Option<usize> {
    let digit = text.strip_prefix('h')?.strip_suffix(|_| true)?;
    let mut chars = digit.chars();
    let level = chars.next()?.to_digit(10).filter(|n| (1..=6).contains(n))?;
    (chars.next() == Some('.')).then_some(usize::try_from(level).unwrap_or(1))
}

fn heading(line: &str) -> String {
    let text = line.trim();
    let level = level(text).unwrap_or(1);
    let title = inline(text.get(3..).unwrap_or_default().trim());
    match title.is_empty() {
        true => String::new(),
        false => format!("{} {title}", "#".repeat(level)),
    }
}

/// The marks of a list item: `**`, `#*`, `-`.
fn marker(text: &str) -> Option<&str> {
    let end = text.find(|c| !"*#-".contains(c))?;
    let marks = text.get(..end)?;
    let is_item = !marks.is_empty() && text.get(end..)?.starts_with(' ');
    (is_item && !marks.starts_with("--")).then_some(marks)
}

fn list(lines: &[String]) -> String {
    let mut counts: Vec<usize> = Vec::new();
    let mut kinds: Vec<char> = Vec::new();
    let mut out = Vec::new();
    for line in lines {
        let text = line.trim();
        let marks: Vec<char> = marker(text).unwrap_or("*").chars().collect();
        let body = text.get(marks.len()..).unwrap_or_default().trim();
        counts.truncate(marks.len());
        kinds.truncate(marks.len());
        // Another mark on this level begins another list.
        if kinds.last() != marks.last() && kinds.len() == marks.len() {
            kinds.pop();
            counts.pop();
        }
        while counts.len() < marks.len() {
            kinds.push(marks.get(kinds.len()).copied().unwrap_or('*'));
            counts.push(0);
        }
        if let Some(count) = counts.last_mut() {
            *count += 1;
        }
        let indent: usize = kinds
            .iter()
            .take(marks.len() - 1)
            .map(|kind| if *kind == '#' { 3 } else { 2 })
            .sum();
        let mark = match marks.last() {
            Some('#') => format!("{}.", counts.last().copied().unwrap_or(1)),
            _ => "-".to_owned(),
        };
        out.push(format!("{}{mark} {}", " ".repeat(indent), inline(body)));
    }
    out.join("\n")
}

fn table(lines: &[String]) -> String {
    let rows: Vec<(bool, Vec<String>)> = lines.iter().map(|line| row(line.trim())).collect();
    let columns = rows.iter().map(|(_, cells)| cells.len()).max().unwrap_or(0);
    let line = |cells: &[String]| {
        let cell = |at: usize| cells.get(at).map_or("", String::as_str);
        let cells: Vec<String> = (0..columns).map(|at| format!(" {} |", cell(at))).collect();
        format!("|{}", cells.concat())
    };
    let (head, body) = match rows.split_first() {
        Some(((true, cells), rest)) => (cells.as_slice(), rest),
        _ => (&[][..], rows.as_slice()),
    };
    let mut out = vec![line(head), format!("|{}", " --- |".repeat(columns))];
    out.extend(body.iter().map(|(_, cells)| line(cells)));
    out.join("\n")
}

/// Whether it is a row of heads, and its cells. A bar within `[text|address]`
/// separates nothing.
fn row(line: &str) -> (bool, Vec<String>) {
    let heads = line.starts_with("||");
    let mut cells = vec![String::new()];
    let (mut in_link, mut last) = (false, ' ');
    for c in line.trim_matches('|').chars() {
        match c {
            '[' => in_link = true,
            ']' => in_link = false,
            _ => {}
        }
        match cells.last_mut() {
            Some(cell) if c != '|' || in_link => cell.push(c),
            _ if last == '|' && heads => {}
            _ => cells.push(String::new()),
        }
        last = c;
    }
    let cells = cells
        .iter()
        .map(|cell| inline(cell.trim()).replace('|', "\\|"));
    (heads, cells.collect())
}

fn quoted(text: &str) -> String {
    let lines: Vec<String> = text
        .split('\n')
        .map(|line| format!("> {line}").trim_end().to_owned())
        .collect();
    lines.join("\n")
}

/// Title and language of `{code:title=…|rust}`.
fn parameters(head: &str) -> (Option<String>, Option<String>) {
    let inner = head.trim_matches(['{', '}']);
    let Some((_, parameters)) = inner.split_once(':') else {
        return (None, None);
    };
    let (mut title, mut language) = (None, None);
    for parameter in parameters.split('|') {
        match parameter.split_once('=') {
            Some(("title", value)) => title = Some(value.trim().to_owned()),
            Some(("language", value)) => language = Some(value.trim().to_owned()),
            Some(_) => {}
            None => language = Some(parameter.trim().to_owned()),
        }
    }
    let word = |text: &String| {
        text.chars()
            .all(|c| c.is_alphanumeric() || "+#-_".contains(c))
    };
    (title.filter(|t| !t.is_empty()), language.filter(word))
}
