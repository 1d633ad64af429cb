//! Marks within a line.

use crate::adf::escape;

/// The Markdown of one line's text.
pub(super) fn inline(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut plain = String::new();
    let mut rest = text;
    let mut before = ' ';
    while let Some(c) = rest.chars().next() {
        match special(rest, before) {
            Some((markdown, used)) => {
                out.push_str(&escape(&plain));
                plain.clear();
                out.push_str(&markdown);
                before = rest
                    .get(..used)
                    .and_then(|t| t.chars().last())
                    .unwrap_or(' ');
                rest = rest.get(used..).unwrap_or_default();
            }
            None => {
                plain.push(c);
                before = c;
                rest = rest.get(c.len_utf8()..).unwrap_or_default();
            }
        }
    }
    out.push_str(&escape(&plain));
    out
}

/// What begins here, as Markdown, and how many bytes of markup it takes.
fn special(rest: &str, before: char) -> Option<(String, usize)> {
    if let Some(escaped) = rest.strip_prefix('\\') {
        let c = escaped.chars().next()?;
        return match c {
            '\\' => Some(("\n".to_owned(), 2)),
            c if c.is_ascii_punctuation() => Some((escape(&c.to_string()), 1 + c.len_utf8())),
            _ => None,
        };
    }
    monospace(rest)
        .or_else(|| link(rest))
        .or_else(|| image(rest, before))
        .or_else(|| span_macro(rest))
        .or_else(|| emphasis(rest, before))
}

/// `{{text}}`
fn monospace(rest: &str) -> Option<(String, usize)> {
    let inner = rest.strip_prefix("{{")?;
    let end = inner.find("}}")?;
    let text = inner.get(..end)?;
    let tick = if text.contains('`') { "``" } else { "`" };
    let pad = if text.contains('`') { " " } else { "" };
    (!text.is_empty()).then(|| (format!("{tick}{pad}{text}{pad}{tick}"), end + 4))
}

/// `[text|address]`, `[address]`, `[~user]`, `[^file]`, `[#anchor]`
fn link(rest: &str) -> Option<(String, usize)> {
    let inner = rest.strip_prefix('[')?;
    let end = inner.find(']')?;
    let (body, used) = (inner.get(..end)?, end + 2);
    if let Some(user) = body.strip_prefix('~') {
        return Some((format!("@{}", user.trim_start_matches("accountid:")), used));
    }
    if let Some(file) = body.strip_prefix('^') {
        return Some((format!("[attachment: {file}]"), used));
    }
    let (text, address) = match body.split_once('|') {
        Some((text, rest)) => (text, rest.split('|').next().unwrap_or_default()),
        None => (body, body),
    };
    let is_address = ["http://", "https://", "mailto:", "ftp://"]
        .iter()
        .any(|scheme| address.starts_with(scheme));
    match (is_address, text == address) {
        (true, true) => Some((address.to_owned(), used)),
        (true, false) => Some((format!("[{}]({address})", inline(text)), used)),
        // A page, a ticket or an anchor: no address, but somebody may look for it.
        (false, _) if body.contains('|') => {
            let parts = body
                .split('|')
                .map(|part| part.trim().trim_start_matches('#'));
            let mut parts = parts.filter(|part| !part.is_empty());
            let text = inline(parts.next().unwrap_or_default());
            let others: Vec<String> = parts.map(inline).filter(|part| *part != text).collect();
            let others = match others.is_empty() {
                true => String::new(),
                false => format!(" ({})", others.join(", ")),
            };
            Some((format!("{text}{others}"), used))
        }
        (false, _) if address.starts_with('#') => {
            Some((inline(text.trim_start_matches('#')), used))
        }
        // Brackets that somebody just wrote.
        (false, _) => None,
    }
}

/// `!picture.png|thumbnail!`
fn image(rest: &str, before: char) -> Option<(String, usize)> {
    let inner = rest
        .strip_prefix('!')
        .filter(|_| !before.is_alphanumeric())?;
    let end = inner.find('!')?;
    let body = inner.get(..end)?;
    let name = body.split('|').next()?;
    let is_file = name.contains('.') && !name.contains(' ') && !name.starts_with('.');
    let text = match name.contains("://") {
        true => format!("![]({name})"),
        false => format!("[attachment: {name}]"),
    };
    is_file.then_some((text, end + 2))
}

/// `{color:red}`, `{anchor:x}` and their ends say nothing; so does `{code}` amid
/// a line, but what is in it is code.
fn span_macro(rest: &str) -> Option<(String, usize)> {
    let inner = rest.strip_prefix('{')?;
    let end = inner.find('}')?;
    let name = inner.get(..end)?.split(':').next()?;
    match name {
        "code" | "noformat" => {
            let (head, close) = (end + 2, format!("{{{name}}}"));
            let body = rest.get(head..)?;
            let length = body.find(&close)?;
            let code = body.get(..length)?.trim();
            Some((format!("`{code}`"), head + length + close.len()))
        }
        "color" | "anchor" | "quote" | "panel" => Some((String::new(), end + 2)),
        _ => None,
    }
}

/// `*bold*`, `_italic_`, `-gone-`, `+new+`, `^up^`, `~down~`, `??cite??`: a mark
/// at the beginning of a word up to the same one at the end of a word.
fn emphasis(rest: &str, before: char) -> Option<(String, usize)> {
    if before.is_alphanumeric() {
        return None;
    }
    let (mark, open, close) = [
        ("??", "*", "*"),
        ("*", "**", "**"),
        ("_", "*", "*"),
        ("-", "~~", "~~"),
        ("+", "", ""),
        ("^", "", ""),
        ("~", "", ""),
    ]
    .into_iter()
    .find(|(mark, ..)| rest.starts_with(mark))?;
    let inner = rest.get(mark.len()..)?;
    if inner.starts_with(char::is_whitespace) || inner.starts_with(mark) {
        return None;
    }
    let mut from = 0;
    while let Some(at) = inner.get(from..)?.find(mark).map(|at| at + from) {
        let (text, after) = (inner.get(..at)?, inner.get(at + mark.len()..)?);
        let ends_word =
            !text.ends_with(char::is_whitespace) && !after.starts_with(char::is_alphanumeric);
        if ends_word && !text.is_empty() {
            let used = at + 2 * mark.len();
            return Some((format!("{open}{}{close}", inline(text)), used));
        }
        from = at + mark.len();
    }
    None
}
