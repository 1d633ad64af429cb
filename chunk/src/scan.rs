//! One unit's Markdown, read once: where its headings, code, links and possible
//! cuts stand. CommonMark decides (through pulldown-cmark) what a fence is.

use crate::diff;
use crate::html::Drop;
use crate::reader::Reader;
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag};
use std::borrow::Cow;
use std::ops::Range;

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
