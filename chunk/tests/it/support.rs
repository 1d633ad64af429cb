//! Documents and counters for tests.

use whence_chunk::{CountTokens, Limits, RefRules, chunk};
use whence_contract::{
    COMMENT_SEQ_BASE, ChunkedTicket, ContentHash, Document, TicketKind, Unit, UnitKind,
};

/// One token for each four bytes of a word or sign, and two for each text:
/// deterministic and additive at white space, like a real tokenizer.
pub(crate) struct Words;

impl CountTokens for Words {
    fn count(&self, text: &str) -> usize {
        let pieces = |word: &str| {
            word.split_inclusive(|c: char| !c.is_alphanumeric())
                .map(piece)
                .sum::<usize>()
        };
        2 + text.split_whitespace().map(pieces).sum::<usize>()
    }
}

fn piece(piece: &str) -> usize {
    piece.len().div_ceil(4)
}

pub(crate) fn limits(max_tokens: usize) -> Limits {
    let known_projects = ["MAZ".to_owned()].into();
    Limits {
        max_tokens,
        refs: RefRules { known_projects },
    }
}

pub(crate) fn unit(kind: UnitKind, body: &str) -> Unit {
    Unit::new(kind, body)
}

pub(crate) fn document(source: &str, project: &str, id: &str, units: Vec<Unit>) -> Document {
    let title = "The relay drops frames";
    Document {
        units,
        ..Document::new(source, project, id, TicketKind::Issue, title)
    }
}

pub(crate) fn github(units: Vec<Unit>) -> Document {
    document("github", "acme/rocket", "acme/rocket#1", units)
}

pub(crate) fn described(body: &str) -> Document {
    github(vec![unit(UnitKind::Description, body)])
}

/// What holds for every output, whatever the input.
pub(crate) fn assert_laws(
    document: &Document,
    limits: &Limits,
    counter: &dyn CountTokens,
) -> ChunkedTicket {
    let ticket = chunk(document, limits, counter);
    let mut last = None;
    for chunk in &ticket.chunks {
        let tokens = counter.count(&chunk.text);
        assert!(
            tokens <= limits.tokens(),
            "{tokens} tokens in {:?}",
            chunk.text
        );
        assert_eq!(chunk.tokens as usize, tokens);
        assert!(last < Some(chunk.seq), "{} after {last:?}", chunk.seq);
        last = Some(chunk.seq);
        assert_eq!(chunk.text_hash, ContentHash::of(&chunk.text));
        assert!(chunk.text.is_char_boundary(chunk.prefix_len as usize));
        assert!(!chunk.text.trim().is_empty());
        assert!(chunk.code.len() <= 4100 && chunk.code_refs.len() <= 51);
        assert!(chunk.code_refs.is_sorted() && chunk.ticket_refs.is_sorted());
        let unit = &document.units[chunk.unit as usize];
        assert_eq!(unit.kind, chunk.kind);
        assert_eq!(
            chunk.seq < COMMENT_SEQ_BASE,
            chunk.kind == UnitKind::Description
        );
        for id in &chunk.ticket_refs {
            assert!(ticket.ticket_refs.contains(id) && *id != document.id);
        }
    }
    // No gaps in either band.
    for band in [0, COMMENT_SEQ_BASE] {
        let seqs = ticket.chunks.iter().map(|chunk| chunk.seq);
        let seqs: Vec<u32> = seqs
            .filter(|seq| (*seq >= COMMENT_SEQ_BASE) == (band > 0))
            .collect();
        assert!(
            seqs.iter()
                .zip(band..)
                .all(|(seq, expected)| *seq == expected)
        );
    }
    for (index, unit) in (0u32..).zip(&document.units) {
        let says = !without_comments(&unit.body).trim().is_empty();
        let has = ticket.chunks.iter().any(|chunk| chunk.unit == index);
        assert!(has || !says, "no chunk of {:?}", unit.body);
    }
    assert!(
        ticket
            .document
            .units
            .iter()
            .all(|unit| unit.body.is_empty())
    );
    assert_eq!(
        ticket,
        chunk(document, limits, counter),
        "not deterministic"
    );
    ticket
}

fn without_comments(body: &str) -> String {
    let body = body.replace('\0', "");
    let mut rest = body.as_str();
    let mut kept = String::new();
    while let Some((before, after)) = rest.split_once("<!--") {
        kept.push_str(before);
        match after.split_once("-->") {
            Some((_, after)) => rest = after,
            None => return kept + after,
        }
    }
    kept + rest
}

/// The texts without prefix, in order.
pub(crate) fn bodies(ticket: &ChunkedTicket) -> String {
    let body = |chunk: &whence_contract::Chunk| chunk.text[chunk.prefix_len as usize..].to_owned();
    ticket
        .chunks
        .iter()
        .map(body)
        .collect::<Vec<_>>()
        .join("\n")
}
