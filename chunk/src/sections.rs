//! The prose of a unit as sections: what stands under one heading, without code
//! and layout, and where it may be cut.

use crate::scan::{Cut, Heading, Scan};
use std::ops::Range;

/// What stands under one heading. Positions are bytes of [`Section::text`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    /// Headings above the text, outermost first; its own is the last.
    pub heading_path: Vec<String>,
    /// The prose: Markdown, never blank, without its heading.
    pub text: String,
    /// Where the text is best cut, in order.
    pub cuts: Vec<Cut>,
    /// Where a reference's short forms do not count, in order.
    pub opaque: Vec<Range<usize>>,
    /// Links' targets, in order.
    pub links: Vec<(usize, String)>,
}

/// The sections of a unit in order; those without prose are left out.
///
/// A heading with nothing under it opens no section: it stays in the text of
/// the section before, so that an unfilled issue template is one text and no
/// word is lost.
pub fn sections(scan: &Scan<'_>) -> Vec<Section> {
    let mut parts = vec![Part {
        level: 0,
        label: None,
        lines: 0..0,
        text: 0..0,
    }];
    for (index, heading) in scan.headings.iter().enumerate() {
        let end = scan
            .headings
            .get(index + 1)
            .map_or(scan.source.len(), |next| next.range.start);
        parts.push(Part::new(heading, end));
    }
    parts[0].text.end = parts
        .get(1)
        .map_or(scan.source.len(), |part| part.lines.start);
    fold_empty(&mut parts, scan);

    let mut path: Vec<(u8, &str)> = Vec::new();
    let mut found = Vec::new();
    for part in &parts {
        path.retain(|(level, _)| *level < part.level);
        if let Some(label) = &part.label {
            path.push((part.level, label));
        }
        let mut section = build(scan, part.text.clone());
        if !section.text.is_empty() {
            section.heading_path = path.iter().map(|(_, label)| (*label).to_owned()).collect();
            found.push(section);
        }
    }
    found
}

/// One heading and what follows it up to the next.
struct Part {
    level: u8,
    label: Option<String>,
    lines: Range<usize>,
    text: Range<usize>,
}

impl Part {
    fn new(heading: &Heading, end: usize) -> Self {
        let Heading {
            range: lines,
            level,
            label,
        } = heading.clone();
        // Without a label the heading's own line is prose.
        let start = if label.is_some() {
            lines.end
        } else {
            lines.start
        };
        Self {
            level,
            label,
            text: start.min(end)..end,
            lines,
        }
    }
}

/// Gives the lines of headings that head nothing to the part before.
fn fold_empty(parts: &mut Vec<Part>, scan: &Scan<'_>) {
    // From the end: a heading stays where it has prose of its own, or the next
    // part that stays lies below it.
    let mut kept: Vec<Part> = Vec::new();
    let mut folded_to = None;
    for mut part in std::mem::take(parts).into_iter().rev() {
        let heads = kept.last().is_some_and(|next| next.level > part.level);
        let stays = part.level == 0
            || part.label.is_none()
            || heads
            || !build(scan, part.text.clone()).text.is_empty();
        let end = folded_to.take().unwrap_or(part.text.end);
        part.text.end = end;
        if stays {
            kept.push(part);
        } else {
            folded_to = Some(end);
        }
    }
    kept.reverse();
    *parts = kept;
}

/// The text of a source range, with all positions moved along.
fn build(scan: &Scan<'_>, range: Range<usize>) -> Section {
    let mut out = Builder::default();
    let mut at = range.start;
    let mut drop = scan
        .drops
        .partition_point(|drop| drop.range.end <= range.start);
    while at < range.end {
        let line = &scan.source[at..range.end];
        let end = at + line.find('\n').unwrap_or(line.len());
        let mut pieces = Pieces::default();
        while let Some(next) = scan.drops.get(drop).filter(|next| next.range.start < end) {
            pieces.keep(scan, at.max(pieces.end)..next.range.start);
            pieces.touched = true;
            // The space belongs to the line where the drop begins.
            pieces.fill = if next.range.start >= at {
                next.fill
            } else {
                ""
            };
            pieces.end = next.range.end;
            if next.range.end > end {
                break;
            }
            drop += 1;
        }
        pieces.keep(scan, at.max(pieces.end)..end);
        out.line(&scan.source, &pieces);
        at = end + 1;
    }
    out.text.truncate(out.text.trim_end().len());
    out.section(scan, range)
}

/// What is kept of one line.
#[derive(Default)]
struct Pieces {
    kept: Vec<(&'static str, Range<usize>)>,
    text: String,
    fill: &'static str,
    touched: bool,
    end: usize,
}

impl Pieces {
    fn keep(&mut self, scan: &Scan<'_>, range: Range<usize>) {
        if range.start >= range.end {
            return;
        }
        let mut range = range;
        // Where something was taken out, one space is enough, and none begins a
        // line.
        if self.touched && (self.text.is_empty() || self.text.ends_with(' ')) {
            self.fill = "";
            if !self.text.is_empty() {
                let piece = &scan.source[range.clone()];
                range.start += piece.len() - piece.trim_start_matches(' ').len();
            }
        }
        if !range.is_empty() {
            self.text.push_str(self.fill);
            self.text.push_str(&scan.source[range.clone()]);
            self.kept.push((std::mem::take(&mut self.fill), range));
        }
    }
}

#[derive(Default)]
struct Builder {
    text: String,
    /// (source, text, length), in order.
    segments: Vec<(usize, usize, usize)>,
    blank: bool,
}

impl Builder {
    fn line(&mut self, source: &str, pieces: &Pieces) {
        if is_blank(&pieces.text, pieces.touched) {
            // A table's delimiter row parts nothing.
            self.blank |= !self.text.is_empty() && !pieces.text.contains('|');
            return;
        }
        if std::mem::take(&mut self.blank) {
            self.text.push('\n');
        }
        for (fill, range) in &pieces.kept {
            self.text.push_str(fill);
            self.segments
                .push((range.start, self.text.len(), range.len()));
            self.text.push_str(&source[range.clone()]);
        }
        self.text
            .truncate(self.text.trim_end_matches([' ', '\t']).len());
        self.text.push('\n');
    }

    /// Where a place of the source stands in the text, or what follows it.
    fn map(&self, at: usize) -> usize {
        let next = self
            .segments
            .partition_point(|(source, _, length)| source + length <= at);
        let mapped = self
            .segments
            .get(next)
            .map_or(self.text.len(), |(source, text, _)| {
                text + at.saturating_sub(*source)
            });
        mapped.min(self.text.len())
    }

    fn section(self, scan: &Scan<'_>, range: Range<usize>) -> Section {
        let first = scan.cuts.partition_point(|cut| cut.at < range.start);
        let mut cuts: Vec<Cut> = scan.cuts[first..]
            .iter()
            .take_while(|cut| cut.at < range.end)
            .map(|cut| Cut {
                at: self.map(cut.at),
                ..*cut
            })
            .filter(|cut| cut.at > 0 && cut.at < self.text.len())
            .collect();
        cuts.sort_by_key(|cut| (cut.at, std::cmp::Reverse(cut.level)));
        cuts.dedup_by_key(|cut| cut.at);
        let first = scan.opaque.partition_point(|span| span.start < range.start);
        let opaque = scan.opaque[first..]
            .iter()
            .take_while(|span| span.start < range.end)
            .map(|span| self.map(span.start)..self.map(span.end))
            .filter(|span| span.start < span.end)
            .collect();
        let first = scan.links.partition_point(|(at, _)| *at < range.start);
        let links = scan.links[first..]
            .iter()
            .take_while(|(at, _)| *at < range.end)
            .map(|(at, url)| (self.map(*at), url.clone()))
            .collect();
        Section {
            heading_path: Vec::new(),
            text: self.text,
            cuts,
            opaque,
            links,
        }
    }
}

/// Lines of markers alone say nothing: rules, table delimiters, an empty quote,
/// a list item whose code was taken out.
fn is_blank(line: &str, touched: bool) -> bool {
    let marker = |c: char| c.is_whitespace() || ">-*_+|:=#".contains(c);
    let rest = line.trim_matches(marker);
    let numbers = |rest: &str| {
        rest.len() < 12
            && rest.ends_with(['.', ')'])
            && rest.bytes().rev().skip(1).all(|b| b.is_ascii_digit())
    };
    rest.is_empty() || (touched && numbers(rest))
}
