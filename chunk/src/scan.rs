//! One unit's Markdown, read once: where its headings, code, links and possible
//! cuts stand. CommonMark decides (through pulldown-cmark) what a fence is.

use crate::diff;
use crate::html::{self, Drop};
use pulldown_cmark::{CodeBlockKind, Event, LinkType, Options, Parser, Tag, TagEnd};
use std::borrow::Cow;
use std::ops::Range;

/// A heading of more bytes is prose that somebody underlined.
const MOST_LABEL_BYTES: usize = 160;
/// A longer URL behind a link's text says less than it costs.
const MOST_URL_BYTES: usize = 40;
/// How far before a block its line is looked for.
const MOST_MARKER_BYTES: usize = 256;

/// What the author's circumstances say about how to read the text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reading<'a> {
    /// The text may begin with YAML front matter (wiki notes).
    pub front_matter: bool,
    /// The file that a review comment stands at: a `suggestion` for a prose
    /// file is prose.
    pub path: Option<&'a str>,
}

/// What stands where. All positions are bytes of [`Scan::source`].
#[derive(Debug, Default)]
pub struct Scan<'a> {
    /// The text with raw diffs blanked; positions are those of the input.
    pub source: Cow<'a, str>,
    /// Headings outside fences, quotes and lists, in order.
    pub headings: Vec<Heading>,
    /// Code that leaves the prose, in order.
    pub code: Vec<Code>,
    /// What is not in the text, in order, disjoint.
    pub drops: Vec<Drop>,
    /// Where a reference's short forms do not count: code spans, link texts.
    /// In order, disjoint.
    pub opaque: Vec<Range<usize>>,
    /// Links' targets, in order.
    pub links: Vec<(usize, String)>,
    /// Contents of inline code spans, in order.
    pub inline_code: Vec<String>,
    /// Where a long text is best cut, in order, one for each place.
    pub cuts: Vec<Cut>,
}

/// A heading's whole lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    /// Its lines, underline included.
    pub range: Range<usize>,
    /// 1 to 6.
    pub level: u8,
    /// Its text without markup; `None` where it is too long for a label or has
    /// no text, so that it stays in the prose.
    pub label: Option<String>,
}

/// A block of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// Where it began.
    pub at: usize,
    /// The fence's info string; `diff` for a raw diff, empty where there is none.
    pub info: String,
    /// Its lines, without the markers of the quotes and lists around it.
    pub text: String,
}

/// A place where a text may be cut, and how good a place it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cut {
    /// The start of a line.
    pub at: usize,
    /// What begins there.
    pub level: CutLevel,
}

/// What begins at a cut, the better place last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CutLevel {
    /// A list item, a table row, a paragraph in a list or quote.
    Item,
    /// A paragraph, list, table or quote.
    Block,
}

/// Reads `source`, which has LF line ends. Linear, whatever the text.
pub fn scan<'a>(source: &'a str, reading: Reading<'_>) -> Scan<'a> {
    let mut source = Cow::Borrowed(source);
    let mut diffs: Vec<Code> = Vec::new();
    // A raw diff is unlike any Markdown and may hold fences of its own, so it is
    // blanked and the text read again. A fence within one diff can hide the
    // next; a few rounds find those too.
    for _ in 0..4 {
        let runs = diff::runs(&source, &code_ranges(&source, reading));
        if runs.is_empty() {
            break;
        }
        let mut blanked = source.clone().into_owned().into_bytes();
        for run in runs {
            let text = source[run.clone()].to_owned();
            diffs.push(Code {
                at: run.start,
                info: "diff".to_owned(),
                text,
            });
            blanked[run]
                .iter_mut()
                .filter(|byte| **byte != b'\n')
                .for_each(|byte| *byte = b' ');
        }
        // Whole lines became spaces, so this is UTF-8; if not, the text stays.
        match String::from_utf8(blanked) {
            Ok(blanked) => source = Cow::Owned(blanked),
            Err(_) => break,
        }
    }
    let mut reader = Reader::new(&source, reading);
    for (event, range) in Parser::new_ext(&source, options(reading)).into_offset_iter() {
        reader.read(event, range);
    }
    let mut found = reader.finish();
    found.code.extend(diffs);
    found.code.sort_by_key(|code| code.at);
    Scan { source, ..found }
}

fn options(reading: Reading<'_>) -> Options {
    let mut options = Options::ENABLE_TABLES | Options::ENABLE_FOOTNOTES;
    options.set(
        Options::ENABLE_YAML_STYLE_METADATA_BLOCKS,
        reading.front_matter,
    );
    options
}

fn code_ranges(source: &str, reading: Reading<'_>) -> Vec<Range<usize>> {
    // Nothing to ask where no diff can begin.
    if !source.contains("@@ -") && !source.contains("diff --git ") {
        return Vec::new();
    }
    let mut ranges = Vec::new();
    for (event, range) in Parser::new_ext(source, options(reading)).into_offset_iter() {
        if let Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) = event {
            ranges.push(range);
        }
    }
    ranges
}

/// A link or image that is open.
struct OpenLink {
    url: String,
    image: bool,
    /// From its first to its last child.
    inner: Option<Range<usize>>,
}

/// Collects what [`scan`] returns from the parser's events.
struct Reader<'a, 'r> {
    source: &'a str,
    reading: Reading<'r>,
    found: Scan<'static>,
    depth: usize,
    heading: Option<(Heading, bool)>,
    code: Option<(Range<usize>, CodeBlockKind<'static>, String)>,
    links: Vec<OpenLink>,
}

impl<'a, 'r> Reader<'a, 'r> {
    fn new(source: &'a str, reading: Reading<'r>) -> Self {
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

    fn read(&mut self, event: Event<'_>, range: Range<usize>) {
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

    fn finish(self) -> Scan<'static> {
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
pub fn reads_as_prose(text: &str) -> bool {
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
