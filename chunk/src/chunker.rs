//! A whole document into chunks: units in order, each with its own sections.

use crate::code_refs::CodeRefs;
use crate::html;
use crate::limits::{CountTokens, Limits};
use crate::prefix::prefix;
use crate::refs::RefReader;
use crate::scan::{Code, Cut, CutLevel, Reading, scan};
use crate::sections::{Section, sections};
use crate::sentence::sentence;
use crate::split::{Room, split, split_words};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::Range;
use whence_contract::{
    COMMENT_SEQ_BASE, Chunk, ChunkedTicket, CodeRef, ContentHash, Document, Unit, UnitKind,
};

/// Removed code that one unit keeps for lexical search.
const MOST_CODE_BYTES: usize = 4096;

/// Cuts a document. A pure function: same input, same output, for any input.
///
/// - Every text is at most [`Limits::tokens`] by `counter`, prefix and special
///   tokens included.
/// - Descriptions count from 0, all other units from [`COMMENT_SEQ_BASE`] with
///   one running number; descriptions come first.
/// - A unit that says nothing (blank, or an issue template's comments only) has
///   no chunk and leaves no gap. A blank description still has one, the title,
///   because a ticket without any text could not be found.
/// - Code leaves the text. What it names follows as a sentence at the end of the
///   unit, its text is kept on the unit's first chunk, its references on each.
pub fn chunk(document: &Document, limits: &Limits, counter: &dyn CountTokens) -> ChunkedTicket {
    let refs = RefReader::new(document, &limits.refs);
    let chunker = Chunker {
        document,
        limits,
        counter,
        refs: &refs,
        empty: counter.count(""),
        titled: prefix(&document.title, &[], limits, counter),
    };
    let title_refs = refs
        .find(&document.title, &[])
        .into_iter()
        .map(|(_, id)| id);
    let title_refs: BTreeSet<String> = title_refs.collect();

    let mut chunks = Vec::new();
    let (mut description, mut other) = (0, COMMENT_SEQ_BASE);
    let is_description = |unit: &&Unit| unit.kind == UnitKind::Description;
    let units = || (0u32..).zip(&document.units);
    let ordered = units()
        .filter(|(_, unit)| is_description(unit))
        .chain(units().filter(|(_, unit)| !is_description(unit)));
    for (index, unit) in ordered {
        let seq = if is_description(&unit) {
            &mut description
        } else {
            &mut other
        };
        for mut chunk in chunker.unit(index, unit) {
            chunk.seq = *seq;
            if *seq == 0 {
                chunk.ticket_refs = sorted(chunk.ticket_refs.into_iter().chain(title_refs.clone()));
            }
            *seq += 1;
            chunks.push(chunk);
        }
    }
    let named = chunks
        .iter()
        .flat_map(|chunk| chunk.ticket_refs.iter().cloned());
    let ticket_refs = sorted(named.chain(title_refs.clone()));
    ChunkedTicket {
        document: without_bodies(document),
        chunks,
        ticket_refs,
    }
}

fn without_bodies(document: &Document) -> Document {
    let unit = |unit: &Unit| Unit {
        body: String::new(),
        ..unit.clone()
    };
    let units = document.units.iter().map(unit).collect();
    Document {
        units,
        ..document.clone()
    }
}

fn sorted(ids: impl Iterator<Item = String>) -> Vec<String> {
    ids.collect::<BTreeSet<_>>().into_iter().collect()
}

struct Chunker<'a> {
    document: &'a Document,
    limits: &'a Limits,
    counter: &'a dyn CountTokens,
    refs: &'a RefReader<'a>,
    /// Tokens of no text: the special ones.
    empty: usize,
    /// The prefix where no heading stands above, as in most comments.
    titled: String,
}

impl Chunker<'_> {
    /// The chunks of one unit; `seq` is not yet set.
    fn unit(&self, index: u32, unit: &Unit) -> Vec<Chunk> {
        let body = lf(&unit.body);
        let reading = Reading {
            front_matter: self.document.source == "wiki",
            path: unit.path.as_deref(),
        };
        let scanned = scan(&body, reading);
        let mut prose = sections(&scanned);
        let mut code_refs = CodeRefs::default();
        code_refs.blocks(&scanned.code);
        if !scanned.code.is_empty() {
            let said = sentence(unit.kind, &code_refs.refs, prose.is_empty());
            append(&mut prose, &said);
        }
        if prose.is_empty() {
            prose.extend(self.fallback(unit.kind, &body));
        }
        for span in &scanned.inline_code {
            code_refs.span(span);
        }
        if let Some(path) = &unit.path {
            code_refs.file(path);
        }
        code_refs.refs.sort();

        let base = Base {
            index,
            kind: unit.kind,
            code_refs: &code_refs.refs,
        };
        let mut chunks: Vec<Chunk> = prose
            .iter()
            .flat_map(|section| self.section(&base, section))
            .collect();
        if let Some(first) = chunks.first_mut() {
            first.code = kept_code(&scanned.code);
        }
        chunks
    }

    /// For a unit without prose and code: its bare text (an image, a rule), or
    /// the title for a blank description.
    fn fallback(&self, kind: UnitKind, body: &str) -> Option<Section> {
        let mut text = body.to_owned();
        for comment in html::drops(body, 0..body.len()).into_iter().rev() {
            if body[comment.range.clone()].starts_with("<!--") {
                text.replace_range(comment.range, "");
            }
        }
        let text = text.trim().to_owned();
        let titled = kind == UnitKind::Description && !self.document.title.trim().is_empty();
        (!text.is_empty() || titled).then(|| Section {
            text,
            ..Section::default()
        })
    }

    fn section(&self, base: &Base<'_>, section: &Section) -> Vec<Chunk> {
        let prefix = if section.heading_path.is_empty() {
            self.titled.clone()
        } else {
            prefix(
                &self.document.title,
                &section.heading_path,
                self.limits,
                self.counter,
            )
        };
        let mut refs = self.refs.find(&section.text, &section.opaque);
        let links = section.links.iter();
        refs.extend(links.filter_map(|(at, url)| Some((*at, self.refs.find_url(url)?))));
        let headings = section.heading_path.iter();
        refs.extend(
            headings
                .flat_map(|h| self.refs.find(h, &[]))
                .map(|(_, id)| (0, id)),
        );

        refs.sort();

        let ranges = self.ranges(&prefix, section);
        let mut chunks = Vec::with_capacity(ranges.len());
        for (at, (range, tokens)) in ranges.iter().enumerate() {
            // What stands between two chunks belongs to the one before.
            let from = if at == 0 { 0 } else { range.start };
            let to = ranges
                .get(at + 1)
                .map_or(usize::MAX, |(next, _)| next.start);
            let here = refs.iter().filter(|(at, _)| (from..to).contains(at));
            let text = format!("{prefix}{}", &section.text[range.clone()]);
            let (text, prefix_len) = if range.is_empty() {
                let title = prefix.trim_end();
                (title.to_owned(), title.len())
            } else {
                (text, prefix.len())
            };
            chunks.push(Chunk {
                unit: base.index,
                kind: base.kind,
                seq: 0,
                heading_path: section.heading_path.clone(),
                prefix_len: small(prefix_len),
                tokens: small(*tokens),
                text_hash: ContentHash::of(&text),
                text,
                code: String::new(),
                code_refs: base.code_refs.to_vec(),
                ticket_refs: sorted(here.map(|(_, id)| id.clone())),
            });
        }
        chunks
    }

    /// Where a section is cut, with the tokens of each text.
    fn ranges(&self, prefix: &str, section: &Section) -> Vec<(Range<usize>, usize)> {
        let most = Room {
            tokens: self.limits.tokens(),
            bytes: self.limits.bytes(),
        };
        let text = section.text.as_str();
        let count = |piece: &str| self.counter.count(&format!("{prefix}{piece}"));
        if text.len() <= most.bytes {
            let tokens = count(text);
            if tokens <= most.tokens {
                return vec![(0..text.len(), tokens)];
            }
        }
        let room = Room {
            tokens: most.tokens.saturating_sub(count("")),
            ..most
        };
        let cost = |piece: &str| self.counter.count(piece).saturating_sub(self.empty);
        let mut found = Vec::new();
        for range in split(text, &section.cuts, room, cost) {
            let tokens = count(&text[range.clone()]);
            if tokens <= most.tokens {
                found.push((range, tokens));
                continue;
            }
            // A tokenizer whose counts do not add up at white space.
            for part in split_words(&text[range.clone()], most, count) {
                let part = range.start + part.start..range.start + part.end;
                found.push((part.clone(), count(&text[part])));
            }
        }
        found
    }
}

/// What all chunks of a unit share.
struct Base<'a> {
    index: u32,
    kind: UnitKind,
    code_refs: &'a [CodeRef],
}

/// LF line ends and no NUL: normalize has seen to it, and a caller without it
/// gets the same hash.
fn lf(body: &str) -> Cow<'_, str> {
    if !body.contains(['\r', '\0']) {
        return Cow::Borrowed(body);
    }
    Cow::Owned(
        body.replace("\r\n", "\n")
            .replace('\r', "\n")
            .replace('\0', ""),
    )
}

/// Puts a sentence at the end of a unit, as a paragraph in which no reference
/// is looked for.
fn append(prose: &mut Vec<Section>, sentence: &str) {
    if sentence.is_empty() {
        return;
    }
    if prose.is_empty() {
        prose.push(Section::default());
    }
    let Some(last) = prose.last_mut() else { return };
    if !last.text.is_empty() {
        last.text.push_str("\n\n");
        last.cuts.push(Cut {
            at: last.text.len(),
            level: CutLevel::Block,
        });
    }
    let start = last.text.len();
    last.text.push_str(sentence);
    last.opaque.push(start..last.text.len());
}

fn kept_code(code: &[Code]) -> String {
    let mut kept = String::new();
    for block in code {
        let left = MOST_CODE_BYTES.saturating_sub(kept.len());
        kept.push_str(&block.text[..block.text.floor_char_boundary(left)]);
        if !kept.is_empty() && !kept.ends_with('\n') && kept.len() < MOST_CODE_BYTES {
            kept.push('\n');
        }
    }
    kept
}

/// Bounded by the budget, so it always fits.
fn small(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
