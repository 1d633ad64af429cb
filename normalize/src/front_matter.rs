//! The `---` block that a note may begin with, read without a YAML parser.
//!
//! Read are, at the left margin, `key: value`, `key: [a, b]`, `key:` followed
//! by `- item` lines, `key: |` and `key: >` followed by an indented text, and
//! `#` comments. Values stay text (`true` and `3` too). A key with any other
//! value (a nested map, an anchor) is named in `skipped`. A block that is not
//! made of such lines is no front matter, and stays part of the text.

use std::iter::Peekable;

/// The most keys that are kept.
const MAX_KEYS: usize = 200;

/// What a note begins with.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct FrontMatter {
    /// In the order of the file; the last of equal keys stands.
    pub(crate) entries: Vec<(String, Entry)>,
    /// Keys whose values are beyond this reader.
    pub(crate) skipped: Vec<String>,
}

/// A value.
#[derive(Debug, PartialEq)]
pub(crate) enum Entry {
    /// One text.
    Text(String),
    /// Several.
    List(Vec<String>),
}

impl FrontMatter {
    pub(crate) fn get(&self, key: &str) -> Option<&Entry> {
        let (_, entry) = self.entries.iter().find(|(name, _)| name == key)?;
        Some(entry)
    }

    fn set(&mut self, key: String, entry: Option<Entry>) {
        self.entries.retain(|(name, _)| *name != key);
        match entry {
            Some(entry) if self.entries.len() < MAX_KEYS => self.entries.push((key, entry)),
            _ => self.skipped.push(key),
        }
    }
}

/// The front matter of `text`, if it begins with one, and the text after it.
///
/// # Errors
/// What is wrong with a block that looks like one, by line.
pub(crate) fn split(text: &str) -> Result<(FrontMatter, &str), String> {
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_end() == "---") else {
        return Ok((FrontMatter::default(), text));
    };
    let mut end = first.len();
    let mut block = Vec::new();
    for line in lines {
        end += line.len();
        if matches!(line.trim_end(), "---" | "...") {
            return Ok((parse(&block)?, &text[end..]));
        }
        block.push(line.trim_end());
    }
    Err("it begins with `---`, and no later line ends that block".to_owned())
}

fn parse(block: &[&str]) -> Result<FrontMatter, String> {
    let mut front = FrontMatter::default();
    // The opening `---` is line 1.
    let mut lines = (2..).zip(block.iter().copied()).peekable();
    while let Some((number, line)) = lines.next() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (key, value) = key_and_value(line)
            .ok_or_else(|| format!("line {number} is neither `key: value` nor a list item"))?;
        let entry = match value {
            "" => block_list(&mut lines),
            "|" | "|-" | "|+" => Some(Entry::Text(indented(&mut lines, "\n"))),
            ">" | ">-" | ">+" => Some(Entry::Text(indented(&mut lines, " "))),
            value => inline(value),
        };
        // What belongs to a value that this reader does not understand.
        let left = indented(&mut lines, "\n");
        let entry = entry.filter(|_| left.is_empty());
        front.set(key.to_owned(), entry);
    }
    Ok(front)
}

/// `key: value` or `key:`; a key is a short word or two, perhaps quoted.
fn key_and_value(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once(':')?;
    if !(value.is_empty() || value.starts_with([' ', '\t'])) {
        return None;
    }
    let key = key.trim_matches(['"', '\'']);
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' ');
    let starts = key.chars().next().is_some_and(char::is_alphanumeric);
    (starts && key.len() <= 64 && key.chars().all(fits)).then_some((key, value.trim()))
}

type Lines<'a, I> = Peekable<I>;

/// The `- item` lines that follow; an empty text where nothing does.
fn block_list<'a>(lines: &mut Lines<'a, impl Iterator<Item = (usize, &'a str)>>) -> Option<Entry> {
    let item = |line: &'a str| {
        let line = line.trim_start();
        line.strip_prefix("- ")
            .or_else(|| line.strip_prefix('-').filter(|rest| rest.is_empty()))
    };
    let mut items = Vec::new();
    let mut plain = true;
    while let Some((_, line)) = lines.next_if(|(_, line)| line.is_empty() || item(line).is_some()) {
        match item(line).map(str::trim) {
            // An item that is a map or a list of its own is beyond this reader.
            Some(value) if key_and_value(value).is_some() => plain = false,
            Some(value) => match inline(value) {
                Some(Entry::Text(text)) => items.push(text),
                _ => plain = false,
            },
            None => {}
        }
    }
    if !plain {
        return None;
    }
    Some(if items.is_empty() {
        Entry::Text(String::new())
    } else {
        Entry::List(items)
    })
}

/// The indented lines that follow, without their indentation.
fn indented<'a>(
    lines: &mut Lines<'a, impl Iterator<Item = (usize, &'a str)>>,
    joint: &str,
) -> String {
    let mut texts = Vec::new();
    let belongs = |line: &str| line.is_empty() || line.starts_with([' ', '\t']);
    while let Some((_, line)) = lines.next_if(|(_, line)| belongs(line)) {
        texts.push(line.trim());
    }
    texts.join(joint).trim().to_owned()
}

/// A value on the key's own line.
fn inline(value: &str) -> Option<Entry> {
    if let Some(inner) = value.strip_prefix('[') {
        let inner = without_comment(inner).strip_suffix(']')?;
        let items = items(inner)?;
        return Some(Entry::List(items));
    }
    // Anchors, aliases, tags and flow maps.
    if value.starts_with(['&', '*', '!', '{']) {
        return None;
    }
    scalar(value).map(Entry::Text)
}

/// A quoted text, or a plain one up to a ` #` comment.
fn scalar(value: &str) -> Option<String> {
    let Some(quote) = value.chars().next().filter(|c| matches!(c, '"' | '\'')) else {
        return Some(without_comment(value).to_owned());
    };
    let inner = without_comment(value).strip_prefix(quote)?;
    let inner = inner.strip_suffix(quote)?;
    Some(match quote {
        '"' => inner.replace("\\\"", "\"").replace("\\\\", "\\"),
        _ => inner.replace("''", "'"),
    })
}

fn without_comment(value: &str) -> &str {
    // Not before the closing quote of a quoted text.
    let from = match value.chars().next() {
        Some(quote @ ('"' | '\'')) => value.rfind(quote).unwrap_or(0),
        _ => 0,
    };
    match value[from..].find(" #") {
        Some(at) => value[..from + at].trim_end(),
        None => value,
    }
}

/// The items of a flow list: split at commas outside quotes.
fn items(inner: &str) -> Option<Vec<String>> {
    let mut items = Vec::new();
    let (mut start, mut quote) = (0, None);
    for (at, c) in inner.char_indices().chain([(inner.len(), ',')]) {
        match (quote, c) {
            (None, '[' | '{') => return None,
            (None, '"' | '\'') if inner[start..at].trim().is_empty() => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (None, ',') => {
                let item = inner[start..at].trim();
                if !item.is_empty() {
                    items.push(scalar(item)?);
                }
                start = at + 1;
            }
            _ => {}
        }
    }
    Some(items)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn text(text: &str) -> Entry {
        Entry::Text(text.to_owned())
    }

    fn list(items: &[&str]) -> Entry {
        Entry::List(items.iter().map(|&item| item.to_owned()).collect())
    }

    #[test]
    fn what_is_read() {
        let note = "---\n# about\ntitle: \"Kilns: a \\\"guide\\\"\" # c\ntags: [a, 'b, c', \"d\"]\nowners:\n  - ada\n- grace # c\n\nempty:\nquote: 'it''s'\nnote: |\n  one\n  two\nlong: >-\n  one\n  two\nmap:\n  a: 1\nanchor: &x y\nitems:\n  - a: 1\n  - b\nurl: https://e.org/#a\n---\nBody\n---\n";
        let (front, body) = split(note).unwrap();
        assert_eq!(body, "Body\n---\n");
        assert_eq!(front.get("title"), Some(&text("Kilns: a \"guide\"")));
        assert_eq!(front.get("tags"), Some(&list(&["a", "b, c", "d"])));
        assert_eq!(front.get("owners"), Some(&list(&["ada", "grace"])));
        assert_eq!(front.get("empty"), Some(&text("")));
        assert_eq!(front.get("quote"), Some(&text("it's")));
        assert_eq!(front.get("note"), Some(&text("one\ntwo")));
        assert_eq!(front.get("long"), Some(&text("one two")));
        assert_eq!(front.get("url"), Some(&text("https://e.org/#a")));
        assert_eq!(front.skipped, ["map", "anchor", "items"]);
    }

    #[test]
    fn what_is_no_front_matter() {
        for note in ["", "Body", "\n---\na: b\n---\n", "----\na: b\n---\n"] {
            assert_eq!(split(note).unwrap(), (FrontMatter::default(), note));
        }
        for note in [
            "---\na: b\n",
            "---\nProse that goes on.\n---\n",
            "---\n- a\n---\n",
            "---\nsee http://e.org\n---\n",
        ] {
            assert!(split(note).is_err(), "{note}");
        }
        assert_eq!(split("---\n---").unwrap(), (FrontMatter::default(), ""));
        assert_eq!(split("---\na: b\n...\nx").unwrap().1, "x");
    }

    proptest! {
        #[test]
        fn any_text_ends_with_its_body(any in any::<String>(), near in "---\n([a-c:\\-\\[\\]\"'|>&# ,é]{0,9}\n){0,8}---\n[a-z]{0,4}") {
            for text in [any, near] {
                if let Ok((_, body)) = split(&text) {
                    prop_assert!(text.ends_with(body));
                }
            }
        }
    }
}
