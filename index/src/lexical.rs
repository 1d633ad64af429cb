//! Postings of one ticket: what lexical search needs of it, as a pure function.
//!
//! A ticket's term frequency counts the title [`TITLE_WEIGHT`] times, each
//! heading once, then the prose and the code of all chunks. A chunk's counts
//! exactly its text, prefix included, and its code. Text of different
//! visibility goes to different rows, so that what a reader may not see does
//! not count for what he may.

use crate::rows::visibility;
use std::collections::{BTreeMap, HashMap};
use whence_contract::{Chunk, ChunkedTicket};
use whence_model::lexical::terms;

/// How often a title's term counts.
pub const TITLE_WEIGHT: i32 = 3;

/// All postings of one ticket.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Lexical {
    /// By term, then visibility.
    pub(crate) postings: BTreeMap<(String, i16), Posting>,
    /// The ticket's length as seen at visibility 0, 1, 2.
    pub(crate) ticket_len: [i32; 3],
    /// Each chunk's length, in the order of the chunks.
    pub(crate) chunk_len: Vec<i32>,
}

/// One term in one ticket, in text of one visibility.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Posting {
    /// Frequency in the ticket.
    pub(crate) tf: i32,
    /// Chunks that hold it, ascending, and how often each.
    pub(crate) seqs: Vec<i32>,
    pub(crate) tfs: Vec<i32>,
}

pub(crate) fn lexical(ticket: &ChunkedTicket) -> Lexical {
    let mut lexical = Lexical::default();
    let own = visibility(ticket.document.visibility);
    lexical.add(own, TITLE_WEIGHT, counts(&ticket.document.title));

    let mut above: Option<&Chunk> = None;
    for chunk in &ticket.chunks {
        let seen = chunk_visibility(ticket, chunk);
        let known = above
            .filter(|above| above.unit == chunk.unit)
            .map_or(0, |above| {
                above
                    .heading_path
                    .iter()
                    .zip(&chunk.heading_path)
                    .take_while(|(above, here)| above == here)
                    .count()
            });
        for heading in chunk.heading_path.iter().skip(known) {
            lexical.add(seen, 1, counts(heading));
        }
        above = Some(chunk);

        let (prefix, prose) = parts(chunk);
        let mut own = counts(prose);
        merge(&mut own, counts(&chunk.code));
        lexical.add(seen, 1, own.clone());
        merge(&mut own, counts(prefix));
        lexical.chunk_len.push(own.values().sum());
        let seq = i32::try_from(chunk.seq).unwrap_or(i32::MAX);
        for (term, tf) in own {
            let posting = lexical.postings.entry((term, seen)).or_default();
            posting.seqs.push(seq);
            posting.tfs.push(tf);
        }
    }
    // Seen at a level is everything up to it.
    for level in 1..3 {
        lexical.ticket_len[level] += lexical.ticket_len[level - 1];
    }
    lexical
}

/// The stricter of the ticket's visibility and the unit's.
pub(crate) fn chunk_visibility(ticket: &ChunkedTicket, chunk: &Chunk) -> i16 {
    let unit = usize::try_from(chunk.unit)
        .ok()
        .and_then(|unit| ticket.document.units.get(unit));
    let unit = unit.map_or(0, |unit| visibility(unit.visibility));
    unit.max(visibility(ticket.document.visibility))
}

/// Prefix and prose. A prefix that ends within a character is none.
fn parts(chunk: &Chunk) -> (&str, &str) {
    usize::try_from(chunk.prefix_len)
        .ok()
        .and_then(|at| chunk.text.split_at_checked(at))
        .unwrap_or(("", &chunk.text))
}

fn counts(text: &str) -> HashMap<String, i32> {
    let mut counts = HashMap::new();
    for term in terms(text) {
        *counts.entry(term).or_insert(0) += 1;
    }
    counts
}

fn merge(into: &mut HashMap<String, i32>, from: HashMap<String, i32>) {
    for (term, tf) in from {
        *into.entry(term).or_insert(0) += tf;
    }
}

impl Lexical {
    fn add(&mut self, seen: i16, weight: i32, counts: HashMap<String, i32>) {
        for (term, tf) in counts {
            self.postings.entry((term, seen)).or_default().tf += weight * tf;
            if let Some(len) = usize::try_from(seen)
                .ok()
                .and_then(|s| self.ticket_len.get_mut(s))
            {
                *len += weight * tf;
            }
        }
    }
}
