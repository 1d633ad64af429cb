//! From the Markdown parser's events to a [`Scan`]: what is code, what is
//! layout, where a heading, a link or a cut stands.

use crate::html::{self, Drop};
use crate::scan::{Code, Cut, CutLevel, Heading, Reading, Scan};
use pulldown_cmark::{CodeBlockKind, Event, LinkType, Tag, TagEnd};
use std::ops::Range;

/// A heading of more bytes is prose that somebody underlined.
const MOST_LABEL_BYTES: usize = 160;
/// A longer URL behind a link's text says less than it costs.
const MOST_URL_BYTES: usize = 40;
/// How far before a block its line is looked for.
const MOST_MARKER_BYTES: usize = 256;

/// A link or image that is open.
struct OpenLink {
    url: String,
    image: bool,
    /// From its first to its last child.
    inner: Option<Range<usize>>,
}

/// Collects what [`scan`](crate::scan::scan) returns from the parser's events.
pub(crate) struct Reader<'a, 'r> {
    source: &'a str,
    reading: Reading<'r>,
    found: Scan<'static>,
    depth: usize,
    heading: Option<(Heading, bool)>,
    code: Option<(Range<usize>, CodeBlockKind<'static>, String)>,
    links: Vec<OpenLink>,
}

impl<'a, 'r> Reader<'a, 'r> {
    pub(crate) fn new(source: &'a str, reading: Reading<'r>) -> Self {
        Self {
            source,
            reading,
            found: Scan::default(),
            depth: 0,
            heading: None,
            code: None,
            links: Vec::new(),
        }
    }

    /// Takes the next event with its place in the source.
    pub(crate) fn read(&mut self, event: Event<'_>, range: Range<usize>) {
        let closes_link = matches!(&event, Event::End(TagEnd::Link | TagEnd::Image));
        if !closes_link && let Some(open) = self.links.last_mut() {
            open.cover(&range);
        }
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(end) => self.end(end, range),
            Event::Text(text) => self.text(&text),
            Event::Code(text) => {
                self.text(&text);
                self.found.opaque.push(range);
                self.found.inline_code.push(text.into_string());
            }
            Event::InlineHtml(_) => self.found.drops.extend(html::drops(self.source, range)),
            Event::SoftBreak | Event::HardBreak => {
                if let Some((_, broken)) = &mut self.heading {
                    *broken = true;
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if let Some((_, _, code)) = &mut self.code {
            code.push_str(text);
        } else if let Some((heading, _)) = &mut self.heading {
            heading.label.get_or_insert_default().push_str(text);
        }
    }

    fn start(&mut self, tag: Tag<'_>, range: Range<usize>) {
        match tag {
            Tag::Paragraph | Tag::Table(_) => self.cut(&range),
            Tag::Heading { level, .. } => {
                self.cut(&range);
                if self.depth == 0 {
                    let range = self.line_start(range.start)..self.line_end(range.end);
                    let heading = Heading {
                        range,
                        level: level as u8,
                        label: None,
                    };
                    self.heading = Some((heading, false));
                }
            }
            Tag::BlockQuote(_) | Tag::List(_) | Tag::Item | Tag::FootnoteDefinition(_) => {
                self.cut(&range);
                self.depth += 1;
            }
            Tag::TableHead | Tag::TableRow => self.cut_at(&range, CutLevel::Item),
            Tag::CodeBlock(kind) => {
                self.cut(&range);
                let kind = match kind {
                    CodeBlockKind::Indented => CodeBlockKind::Indented,
                    CodeBlockKind::Fenced(info) => CodeBlockKind::Fenced(info.into_static()),
                };
                self.code = Some((range, kind, String::new()));
            }
            Tag::HtmlBlock => {
                self.cut(&range);
                self.html(range);
            }
            Tag::Link {
                link_type: LinkType::Autolink | LinkType::Email,
                ..
            } => {
                self.links.push(OpenLink {
                    url: String::new(),
                    image: false,
                    inner: None,
                });
            }
            Tag::Link { dest_url, .. } => {
                let url = dest_url.into_string();
                self.links.push(OpenLink {
                    url,
                    image: false,
                    inner: None,
                });
            }
            Tag::Image { .. } => {
                self.links.push(OpenLink {
                    url: String::new(),
                    image: true,
                    inner: None,
                });
            }
            _ => {}
        }
    }

    fn end(&mut self, end: TagEnd, range: Range<usize>) {
        match end {
            TagEnd::Heading(_) => {
                if let Some((mut heading, broken)) = self.heading.take() {
                    let label = heading.label.take().map(|label| label.trim().to_owned());
                    heading.label = label.filter(|label| {
                        !broken && !label.is_empty() && label.len() <= MOST_LABEL_BYTES
                    });
                    self.found.headings.push(heading);
                }
            }
            TagEnd::BlockQuote(_) | TagEnd::List(_) | TagEnd::Item | TagEnd::FootnoteDefinition => {
                self.depth = self.depth.saturating_sub(1)
            }
            TagEnd::CodeBlock => self.end_code(),
            TagEnd::Link | TagEnd::Image => self.end_link(range),
            _ => {}
        }
    }

    fn end_code(&mut self) {
        let Some((range, kind, text)) = self.code.take() else {
            return;
        };
        let (info, prose) = match &kind {
            CodeBlockKind::Indented => (String::new(), reads_as_prose(&text)),
            CodeBlockKind::Fenced(info) => {
                let prose = info.split_whitespace().next() == Some("suggestion")
                    && (self.reading.path.is_some_and(is_prose_file) || reads_as_prose(&text));
                (info.to_string(), prose)
            }
        };
        let indented = matches!(kind, CodeBlockKind::Indented);
        if !prose {
            self.found.drops.push(Drop {
                range: range.clone(),
                fill: "",
            });
            self.found.code.push(Code {
                at: range.start,
                info,
                text,
            });
        } else if !indented {
            // Only the fence's own lines go.
            let block = &self.source[range.clone()];
            let open = block.find('\n').map_or(range.end, |end| range.start + end);
            self.found.drops.push(Drop {
                range: range.start..open,
                fill: "",
            });
            let trimmed = range.start + block.trim_end().len();
            let last = self.line_start(trimmed).max(open);
            let closing = self.source[last..trimmed].trim_matches(['>', ' ', '\t', '\n']);
            if trimmed > last && closing.bytes().all(|byte| byte == b'`' || byte == b'~') {
                self.found.drops.push(Drop {
                    range: last..trimmed,
                    fill: "",
                });
            }
        }
    }

    fn html(&mut self, range: Range<usize>) {
        if html::is_code_block(&self.source[range.clone()]) {
            let text = self.source[range.clone()].to_owned();
            self.found.code.push(Code {
                at: range.start,
                info: "html".to_owned(),
                text,
            });
            self.found.drops.push(Drop { range, fill: "" });
        } else {
            self.found.drops.extend(html::drops(self.source, range));
        }
    }

    /// An image leaves its `alt`; a link its text, and its URL if that is short.
    fn end_link(&mut self, range: Range<usize>) {
        let Some(link) = self.links.pop() else { return };
        if let Some(outer) = self.links.last_mut() {
            outer.cover(&range);
        }
        match link.inner {
            None if link.image => self.found.drops.push(Drop { range, fill: " " }),
            None => {}
            Some(inner) => {
                if !link.image && link.url.is_empty() {
                    return;
                }
                self.found.links.push((inner.start, link.url.clone()));
                if link.url.contains("://") {
                    self.found.opaque.push(inner.clone());
                }
                let keep = !link.image
                    && link.url.len() <= MOST_URL_BYTES
                    && !link.url.starts_with('#')
                    && self.source[inner.end..range.end].contains(link.url.as_str());
                if keep {
                    self.found.opaque.push(inner.end..range.end);
                } else {
                    self.found.drops.push(Drop {
                        range: range.start..inner.start,
                        fill: "",
                    });
                    self.found.drops.push(Drop {
                        range: inner.end..range.end,
                        fill: "",
                    });
                }
            }
        }
    }

    fn cut(&mut self, range: &Range<usize>) {
        let level = if self.depth == 0 {
            CutLevel::Block
        } else {
            CutLevel::Item
        };
        self.cut_at(range, level);
    }

    fn cut_at(&mut self, range: &Range<usize>, level: CutLevel) {
        let at = self.line_start(range.start);
        self.found.cuts.push(Cut { at, level });
    }

    fn line_start(&self, at: usize) -> usize {
        // Bounded, because a thousand quotes may be nested in one line; a cut
        // within a line is as good there.
        let bytes = self.source.as_bytes();
        let from = at.saturating_sub(MOST_MARKER_BYTES);
        match bytes[from..at].iter().rposition(|byte| *byte == b'\n') {
            Some(end) => from + end + 1,
            None if from == 0 => 0,
            None => at,
        }
    }

    fn line_end(&self, at: usize) -> usize {
        if at > 0 && self.source.as_bytes()[at - 1] == b'\n' {
            return at;
        }
        self.source[at..]
            .find('\n')
            .map_or(self.source.len(), |end| at + end + 1)
    }

    /// All that was found, each list in order.
    pub(crate) fn finish(self) -> Scan<'static> {
        let mut found = self.found;
        found.drops = disjoint(found.drops);
        found.opaque = union(found.opaque);
        found.links.sort();
        found.links.retain(|(_, url)| !url.is_empty());
        found
            .cuts
            .sort_by_key(|cut| (cut.at, std::cmp::Reverse(cut.level)));
        found.cuts.dedup_by_key(|cut| cut.at);
        found
    }
}

impl OpenLink {
    fn cover(&mut self, range: &Range<usize>) {
        let inner = self.inner.get_or_insert_with(|| range.clone());
        inner.start = inner.start.min(range.start);
        inner.end = inner.end.max(range.end);
    }
}

/// In order, without overlap: a drop within a larger one adds nothing.
fn disjoint(mut drops: Vec<Drop>) -> Vec<Drop> {
    drops.sort_by_key(|drop| (drop.range.start, std::cmp::Reverse(drop.range.end)));
    let mut end = 0;
    drops.retain_mut(|drop| {
        drop.range.start = drop.range.start.max(end);
        let keep = drop.range.start < drop.range.end;
        end = end.max(drop.range.end);
        keep
    });
    drops
}

/// In order, without overlap.
fn union(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start < last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// Whether a suggestion for this file is prose.
fn is_prose_file(path: &str) -> bool {
    let extension = path.rsplit_once('.').map_or("", |(_, extension)| extension);
    ["md", "markdown", "mdx", "rst", "adoc", "txt"].contains(&extension)
}

/// Whether a block holds sentences rather than code: eight words or more, nine
/// of ten made of letters alone, and next to none of the signs that code needs.
fn reads_as_prose(text: &str) -> bool {
    let (mut words, mut plain) = (0u32, 0u32);
    for word in text.split_whitespace() {
        words += 1;
        let word = word.trim_matches(|c: char| ".,;:!?()\"'".contains(c));
        let letters = |c: char| c.is_alphabetic() || c == '-' || c == '\'' || c == '’';
        plain += u32::from(!word.is_empty() && word.chars().all(letters));
    }
    let signs = text
        .chars()
        .filter(|c| "{}[]=<>|&$\\/_;@#~^".contains(*c))
        .count();
    words >= 8 && plain * 10 >= words * 9 && signs * 50 <= text.len()
}
