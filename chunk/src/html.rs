//! The HTML inside Markdown: comments are boilerplate, known tags are layout.

use std::ops::Range;

/// A piece of the source that is not in the text, and what stands there instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drop {
    /// Byte range of the source.
    pub range: Range<usize>,
    /// Empty, or a space where two words would otherwise meet.
    pub fill: &'static str,
}

/// Tags that separate words, then tags within words. Only these are dropped:
/// `Vec<String>` outside a code span parses as a tag, and its author meant it.
const SEPARATING: [&str; 33] = [
    "blockquote",
    "br",
    "center",
    "details",
    "div",
    "dd",
    "dl",
    "dt",
    "figcaption",
    "figure",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "img",
    "li",
    "ol",
    "p",
    "picture",
    "pre",
    "source",
    "summary",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
    "video",
];
const WITHIN: [&str; 20] = [
    "a", "b", "code", "del", "em", "font", "i", "ins", "kbd", "mark", "q", "s", "samp", "small",
    "span", "strike", "strong", "sub", "sup", "u",
];

/// A longer tag is taken for text, so that reading stays linear.
const MOST_TAG_BYTES: usize = 8192;

/// What of `source[range]` is dropped: HTML comments whole, known tags except an
/// image's `alt`. An unclosed comment is kept, for nobody meant to hide the rest
/// of a ticket.
pub(crate) fn drops(source: &str, range: Range<usize>) -> Vec<Drop> {
    let mut found = Vec::new();
    let mut at = range.start;
    let mut comment_open = false;
    while let Some(open) = source[at..range.end].find('<').map(|i| at + i) {
        let rest = &source[open..range.end];
        at = open + 1;
        if rest.starts_with("<!--") {
            // Looked for once: thousands of unclosed ones must not cost their square.
            match (!comment_open).then(|| rest[4..].find("-->")).flatten() {
                Some(length) => {
                    at = open + 4 + length + 3;
                    found.push(Drop {
                        range: open..at,
                        fill: "",
                    });
                }
                None => comment_open = true,
            }
        } else if let Some((name, end)) = tag(rest) {
            let separating = SEPARATING.contains(&name.as_str());
            if separating || WITHIN.contains(&name.as_str()) {
                at = open + end;
                let fill = if separating { " " } else { "" };
                match (name == "img").then(|| alt(&rest[..end])).flatten() {
                    Some(alt) => {
                        found.push(Drop {
                            range: open..open + alt.start,
                            fill,
                        });
                        found.push(Drop {
                            range: open + alt.end..at,
                            fill,
                        });
                    }
                    None => found.push(Drop {
                        range: open..at,
                        fill,
                    }),
                }
            }
        }
    }
    found
}

/// Whether an HTML block is code by its first tag.
pub(crate) fn is_code_block(block: &str) -> bool {
    tag(block.trim_start()).is_some_and(|(name, _)| ["pre", "script", "style"].contains(&&*name))
}

/// The lower-case name of the tag at the start of `text`, and its length.
fn tag(text: &str) -> Option<(String, usize)> {
    let inner = text.strip_prefix('<')?;
    let inner = inner.strip_prefix('/').unwrap_or(inner);
    let length = inner
        .find(|c: char| !c.is_ascii_alphanumeric())
        .unwrap_or(inner.len());
    if length == 0 || length > 12 {
        return None;
    }
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate().take(MOST_TAG_BYTES).skip(1) {
        match (quote, byte) {
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            (None, b'>') => return Some((inner[..length].to_ascii_lowercase(), at + 1)),
            // A tag that never closes is a less-than sign.
            (None, b'<') => return None,
            _ => {}
        }
    }
    None
}

/// Where the value of `alt` stands in an image's tag.
fn alt(tag: &str) -> Option<Range<usize>> {
    let at = tag.find("alt=\"")? + 5;
    let length = tag[at..].find('"')?;
    (length > 0).then_some(at..at + length)
}
