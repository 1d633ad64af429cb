//! A ticket as rows, as plain values: what `apply` sends.

use crate::{IndexError, error, lexical::chunk_visibility};
use serde::Serialize;
use std::collections::HashSet;
use whence_contract::{
    ChunkedTicket, CodeRef, EmbeddedTicket, FileChange, Link, TicketKey, Timestamp, Visibility,
};
use whence_log::ErrorKind;

/// A level: who sees `n` sees all below `n`.
pub(crate) fn visibility(visibility: Visibility) -> i16 {
    match visibility {
        Visibility::Public => 0,
        Visibility::Internal => 1,
        Visibility::Confidential => 2,
    }
}

/// A row of `units`.
#[derive(Debug, Serialize)]
pub(crate) struct UnitRow<'a> {
    unit: usize,
    kind: &'static str,
    upstream_id: Option<&'a str>,
    author: Option<&'a str>,
    created_at: Option<Timestamp>,
    updated_at: Option<Timestamp>,
    visibility: i16,
    url: Option<&'a str>,
    verdict: Option<&'a str>,
    path: Option<&'a str>,
}

/// A row of `chunks`, but for its length.
#[derive(Debug, Serialize)]
pub(crate) struct ChunkRow<'a> {
    seq: u32,
    unit: u32,
    kind: &'static str,
    author: Option<&'a str>,
    visibility: i16,
    heading_path: &'a [String],
    text: &'a str,
    prefix_len: u32,
    tokens: u32,
    text_hash: &'a str,
    code_refs: &'a [CodeRef],
    ticket_refs: &'a [String],
    lexical_len: i32,
}

/// A row of `ticket_labels`.
#[derive(Debug, Serialize)]
pub(crate) struct LabelRow<'a> {
    place: usize,
    name: &'a str,
    color: Option<&'a str>,
    description: Option<&'a str>,
}

/// A row of `ticket_files`.
#[derive(Debug, Serialize)]
pub(crate) struct FileRow<'a> {
    place: usize,
    #[serde(flatten)]
    change: &'a FileChange,
}

/// A row of `ticket_links`.
#[derive(Debug, Serialize)]
pub(crate) struct LinkRow<'a> {
    place: usize,
    #[serde(flatten)]
    link: &'a Link,
}

pub(crate) fn units(ticket: &ChunkedTicket) -> Vec<UnitRow<'_>> {
    let units = ticket.document.units.iter().enumerate();
    units
        .map(|(unit, of)| UnitRow {
            unit,
            kind: of.kind.as_str(),
            upstream_id: of.upstream_id.as_deref(),
            author: of.author.as_deref(),
            created_at: of.created_at,
            updated_at: of.updated_at,
            visibility: visibility(of.visibility),
            url: of.url.as_deref(),
            verdict: of.verdict.as_deref(),
            path: of.path.as_deref(),
        })
        .collect()
}

pub(crate) fn chunks<'a>(ticket: &'a ChunkedTicket, lens: &[i32]) -> Vec<ChunkRow<'a>> {
    let chunks = ticket.chunks.iter().zip(lens);
    chunks
        .map(|(chunk, len)| ChunkRow {
            seq: chunk.seq,
            unit: chunk.unit,
            kind: chunk.kind.as_str(),
            author: usize::try_from(chunk.unit)
                .ok()
                .and_then(|unit| ticket.document.units.get(unit))
                .and_then(|unit| unit.author.as_deref()),
            visibility: chunk_visibility(ticket, chunk),
            heading_path: &chunk.heading_path,
            text: &chunk.text,
            prefix_len: chunk.prefix_len,
            tokens: chunk.tokens,
            text_hash: chunk.text_hash.as_str(),
            code_refs: &chunk.code_refs,
            ticket_refs: &chunk.ticket_refs,
            lexical_len: *len,
        })
        .collect()
}

/// Without repetitions: upstream's names are unique, but a file is not upstream.
pub(crate) fn labels(ticket: &ChunkedTicket) -> Vec<LabelRow<'_>> {
    let mut seen = HashSet::new();
    let labels = ticket
        .document
        .labels
        .iter()
        .filter(|label| seen.insert(&label.name));
    labels
        .enumerate()
        .map(|(place, label)| LabelRow {
            place,
            name: &label.name,
            color: label.color.as_deref(),
            description: label.description.as_deref(),
        })
        .collect()
}

pub(crate) fn files(ticket: &ChunkedTicket) -> Vec<FileRow<'_>> {
    let files = ticket.document.files.iter().enumerate();
    files
        .map(|(place, change)| FileRow { place, change })
        .collect()
}

pub(crate) fn links(ticket: &ChunkedTicket) -> Vec<LinkRow<'_>> {
    let links = ticket.document.links.iter().enumerate();
    links.map(|(place, link)| LinkRow { place, link }).collect()
}

/// What would leave a row unreachable is refused before anything is written.
///
/// # Errors
/// [`ErrorKind::Refused`] naming the ticket and the chunk.
pub(crate) fn check(
    key: &TicketKey,
    ticket: &EmbeddedTicket,
    dims: usize,
) -> Result<(), IndexError> {
    let refuse =
        |what: String| error::IndexError::bare(ErrorKind::Refused, format!("{key}: {what}"));
    let mut known = HashSet::new();
    for embedding in &ticket.vectors {
        let (hash, len) = (&embedding.text_hash, embedding.vector.len());
        if len != dims {
            return Err(refuse(format!(
                "the vector of text {hash} has {len} dimensions, the model {} has {dims}",
                ticket.model
            )));
        }
        if !embedding.vector.iter().all(|x| x.is_finite()) {
            return Err(refuse(format!(
                "the vector of text {hash} holds a value that is no number"
            )));
        }
        known.insert(hash);
    }
    let units = ticket.ticket.document.units.len();
    let mut seqs = HashSet::new();
    for chunk in &ticket.ticket.chunks {
        let seq = chunk.seq;
        if usize::try_from(chunk.unit).is_ok_and(|unit| unit >= units) {
            return Err(refuse(format!(
                "chunk {seq} belongs to unit {}, the ticket has {units} units",
                chunk.unit
            )));
        }
        if !seqs.insert(seq) {
            return Err(refuse(format!("two chunks with seq {seq}")));
        }
        if !known.contains(&chunk.text_hash) {
            return Err(refuse(format!("chunk {seq} has no vector")));
        }
    }
    Ok(())
}
