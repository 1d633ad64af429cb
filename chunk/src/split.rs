//! A text cut to a budget: at paragraphs, then list items and table rows, then
//! sentences, then words, then characters. No overlap, and nothing is lost.

use crate::scan::{Cut, CutLevel};
use std::ops::Range;

/// What one piece may cost.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// In the unit of the cost function: tokens.
    pub tokens: usize,
    /// In bytes, whatever the tokens.
    pub bytes: usize,
}

/// Cuts `text` into pieces that each fit `room`: byte ranges in order, disjoint,
/// without white space at their ends, with all that is not white space.
///
/// `cost` of two texts joined at white space should be about the sum of their
/// costs; a caller whose budget is hard counts each piece again. A piece exceeds
/// `room` only where a single character does. `cost` never sees more than
/// `room.bytes` bytes.
pub fn split(
    text: &str,
    cuts: &[Cut],
    room: Room,
    cost: impl Fn(&str) -> usize,
) -> Vec<Range<usize>> {
    let mut packer = Packer {
        text,
        cuts,
        room,
        cost,
        done: Vec::new(),
        current: 0..0,
        used: 0,
    };
    packer.pack();
    packer.done
}

/// Cuts at words, then at characters, each piece as long as fits.
pub fn split_words(text: &str, room: Room, cost: impl Fn(&str) -> usize) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut rest = trimmed(text, 0..text.len());
    while !rest.is_empty() {
        let length = head(&text[rest.clone()], room, &cost);
        found.push(trimmed(text, rest.start..rest.start + length));
        rest = trimmed(text, rest.start + length..rest.end);
    }
    found
}

/// The length of the longest start of `text` that fits, at least one character;
/// found in a few steps, so that it may be a little short of the longest.
pub fn head(text: &str, room: Room, cost: impl Fn(&str) -> usize) -> usize {
    let least = text.chars().next().map_or(0, char::len_utf8);
    let mut limit = text.floor_char_boundary(room.bytes).max(least);
    loop {
        let end = word_end(text, limit).max(least);
        let cost = cost(&text[..end]);
        if cost <= room.tokens || end <= least {
            return end;
        }
        // Never grows: each round is at most nine tenths of the last.
        let scaled = end.saturating_mul(room.tokens) / cost.max(1) * 9 / 10;
        limit = text
            .floor_char_boundary(scaled.min(end * 9 / 10))
            .max(least);
    }
}

/// The last place at or before `limit` where a word ends; `limit` where none does.
fn word_end(text: &str, limit: usize) -> usize {
    if limit >= text.len() || text[limit..].starts_with(char::is_whitespace) {
        return limit;
    }
    let space = text[..limit].rfind(char::is_whitespace);
    space.filter(|at| *at > 0).unwrap_or(limit)
}

/// How finely a piece is already cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Grain {
    Whole,
    Block,
    Item,
    Sentence,
}

struct Packer<'a, C> {
    text: &'a str,
    cuts: &'a [Cut],
    room: Room,
    cost: C,
    done: Vec<Range<usize>>,
    current: Range<usize>,
    used: usize,
}

impl<C: Fn(&str) -> usize> Packer<'_, C> {
    fn pack(&mut self) {
        let mut stack = vec![(0..self.text.len(), Grain::Whole)];
        while let Some((range, grain)) = stack.pop() {
            let range = trimmed(self.text, range);
            if range.is_empty() {
                continue;
            }
            let cost = if range.len() > self.room.bytes {
                usize::MAX
            } else {
                (self.cost)(&self.text[range.clone()])
            };
            if self.append(&range, cost) {
                continue;
            }
            // A short beginning is filled up rather than left alone, if the
            // piece has parts.
            let short = self.used * 4 < self.room.tokens && !self.current.is_empty();
            let parts = if cost > self.room.tokens || (short && grain < Grain::Sentence) {
                self.finer(&range, grain)
            } else {
                None
            };
            match parts {
                Some((parts, grain)) => stack.extend(parts.into_iter().rev().map(|p| (p, grain))),
                None => self.begin(range, cost),
            }
        }
        self.flush();
    }

    /// Adds a piece to the current one, if it fits there.
    fn append(&mut self, range: &Range<usize>, cost: usize) -> bool {
        if self.current.is_empty() {
            self.current = range.start..range.start;
        }
        let fits = self.used.saturating_add(cost) <= self.room.tokens
            && range.end - self.current.start <= self.room.bytes;
        if fits {
            self.current.end = range.end;
            self.used += cost;
        }
        fits
    }

    /// Begins the next piece, cutting at words what is still too long.
    fn begin(&mut self, range: Range<usize>, cost: usize) {
        self.flush();
        self.current = range.clone();
        self.used = cost;
        if cost > self.room.tokens {
            let words = split_words(&self.text[range.clone()], self.room, &self.cost);
            let moved = words
                .into_iter()
                .map(|w| range.start + w.start..range.start + w.end);
            self.done.extend(moved);
            // The last one may still take more.
            self.current = self.done.pop().unwrap_or(range.end..range.end);
            self.used = (self.cost)(&self.text[self.current.clone()]);
        }
    }

    fn flush(&mut self) {
        if !self.current.is_empty() {
            self.done.push(self.current.clone());
        }
        self.current = self.current.end..self.current.end;
        self.used = 0;
    }

    /// The parts of a piece at the next finer grain that has any.
    fn finer(&self, range: &Range<usize>, grain: Grain) -> Option<(Vec<Range<usize>>, Grain)> {
        for next in [Grain::Block, Grain::Item, Grain::Sentence] {
            if next <= grain {
                continue;
            }
            let at = match next {
                Grain::Sentence => sentence_starts(&self.text[range.clone()])
                    .into_iter()
                    .map(|at| range.start + at)
                    .collect(),
                Grain::Block => self.cuts_in(range, CutLevel::Block),
                Grain::Item | Grain::Whole => self.cuts_in(range, CutLevel::Item),
            };
            if !at.is_empty() {
                let mut parts = Vec::with_capacity(at.len() + 1);
                let mut start = range.start;
                for cut in at.into_iter().chain([range.end]) {
                    parts.push(start..cut);
                    start = cut;
                }
                return Some((parts, next));
            }
        }
        None
    }

    fn cuts_in(&self, range: &Range<usize>, least: CutLevel) -> Vec<usize> {
        let first = self.cuts.partition_point(|cut| cut.at <= range.start);
        self.cuts[first..]
            .iter()
            .take_while(|cut| cut.at < range.end)
            .filter(|cut| cut.level >= least)
            .map(|cut| cut.at)
            .collect()
    }
}

/// Where sentences after the first begin: behind a stop and white space, unless
/// what follows goes on in lower case (`e.g. this`).
fn sentence_starts(text: &str) -> Vec<usize> {
    let mut found = Vec::new();
    let mut stopped = false;
    let mut spaced = false;
    for (at, c) in text.char_indices() {
        match c {
            '。' | '！' | '？' => {
                stopped = true;
                spaced = true;
            }
            '.' | '!' | '?' | '…' => {
                stopped = true;
                spaced = false;
            }
            '"' | '\'' | ')' | ']' | '*' | '_' | '`' | '”' | '’' if stopped && !spaced => {}
            c if c.is_whitespace() => spaced = stopped,
            c => {
                if stopped && spaced && !c.is_lowercase() {
                    found.push(at);
                }
                stopped = false;
                spaced = false;
            }
        }
    }
    found
}

fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let piece = &text[range.clone()];
    let start = range.start + (piece.len() - piece.trim_start().len());
    start..start + piece.trim().len()
}
