//! A ticket cut into texts that fit a model.

use crate::{ContentHash, Document, Payload, UnitKind};
use serde::{Deserialize, Serialize};

/// Chunks of everything but the description count from here, so that a longer
/// description never moves a comment's `seq`.
pub const COMMENT_SEQ_BASE: u32 = 1_000_000;

/// One whole ticket, cut.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChunkedTicket {
    /// The document without its prose: each unit's `body` is empty, because
    /// the chunks carry the text.
    pub document: Document,
    /// In order of `seq`; one unit's chunks are contiguous.
    pub chunks: Vec<Chunk>,
    /// Canonical ids that the prose names, sorted, without duplicates and
    /// without the ticket itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ticket_refs: Vec<String>,
}

impl Payload for ChunkedTicket {
    const SCHEMA: &'static str = "whence.chunks";
}

/// One text to embed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Chunk {
    /// Index into the document's `units`.
    pub unit: u32,
    /// The unit's kind.
    pub kind: UnitKind,
    /// Place within the ticket: the description's from 0, all others from
    /// [`COMMENT_SEQ_BASE`]. Unique within a ticket.
    pub seq: u32,
    /// Headings above the text, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heading_path: Vec<String>,
    /// Exactly what is embedded: prefix, prose, the sentence on code.
    pub text: String,
    /// How many bytes of `text` are prefix (title and headings), so that a
    /// snippet can leave them out and lexical statistics count them once.
    pub prefix_len: u32,
    /// Tokens of `text` by the model's tokenizer, special tokens included.
    pub tokens: u32,
    /// Hash of `text`; the key under which its vector is reused.
    pub text_hash: ContentHash,
    /// Code that was taken out of the prose, for lexical search only. Bounded.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub code: String,
    /// Files, functions and modules that the unit's code names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub code_refs: Vec<CodeRef>,
    /// Canonical ids that this text names, sorted, without duplicates.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ticket_refs: Vec<String>,
}

/// A place in code, without line numbers: those go stale at the next commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CodeRef {
    /// Repository-relative path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Function or method name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub func: Option<String>,
    /// Module or package name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
}
