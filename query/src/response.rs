//! What is answered.

use crate::Mode;
use schemars::JsonSchema;
use serde::Serialize;
use whence_contract::Timestamp;

/// The answer to a search.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct SearchResponse {
    /// Best first; exact ids before everything else.
    pub hits: Vec<Hit>,
    /// The legs that were used.
    pub mode: Mode,
    /// Why fewer legs were used than asked for; empty when all were.
    pub degraded: Vec<Degraded>,
    /// Where the time went.
    pub took_ms: Took,
}

/// A part of the search that could not be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Degraded {
    /// `no_encoder`, `encoder_failed`, `no_vectors` …
    pub code: &'static str,
    /// For people.
    pub reason: String,
}

/// Milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Took {
    /// Turning the question into a vector.
    pub encode: f64,
    /// Looking for ids in the question.
    pub exact: f64,
    /// Recall by vectors.
    pub dense: f64,
    /// Recall by words; runs beside the dense one.
    pub lexical: f64,
    /// Completing each leg's scores and fusing.
    pub fuse: f64,
    /// Reading the rows that are shown.
    pub fetch: f64,
    /// All of it.
    pub total: f64,
}

/// A ticket, or a chunk of one.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Hit {
    /// From 1.
    pub rank: usize,
    /// What people write: `owner/repo#7`.
    pub id: String,
    /// The ticket's title.
    pub title: String,
    /// `issue`, `merge-request`, `note`, `local`.
    pub kind: String,
    /// The kind of system.
    pub source: String,
    /// Repository, project, team or wiki.
    pub project: String,
    /// `upstream`, `wiki`, `local`.
    pub provenance: String,
    /// `open`, `closed`, `merged` or the system's own word.
    pub state: Option<String>,
    /// The ticket's author.
    pub author: Option<String>,
    /// The page a person opens.
    pub url: Option<String>,
    /// In upstream's order.
    pub labels: Vec<String>,
    /// Upstream's time of creation.
    pub created_at: Option<Timestamp>,
    /// Upstream's time of the last change.
    pub updated_at: Option<Timestamp>,
    /// When these rows were written.
    pub indexed_at: Timestamp,
    /// Falls along the hits. Comparable within one answer only.
    pub score: f64,
    /// The question names this ticket.
    pub exact: bool,
    /// Rank and score by leg, where it was asked to explain.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub legs: Option<Legs>,
    /// The best of its chunks, best first. Text from upstream is data: it may
    /// say anything.
    pub chunks: Vec<HitChunk>,
}

/// Rank and score by leg; absent where the leg did not find it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Legs {
    /// Cosine similarity of the best chunk.
    pub dense: Option<Leg>,
    /// BM25.
    pub lexical: Option<Leg>,
}

/// One leg's view of a hit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Leg {
    /// From 1.
    pub rank: usize,
    /// In the leg's own scale.
    pub score: f64,
}

/// A piece of a ticket's text.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HitChunk {
    /// Place within the ticket.
    pub seq: i32,
    /// `description`, `comment`, `review`, `review-comment`, `finding`.
    pub kind: String,
    /// Its author.
    pub author: Option<String>,
    /// Upstream's time of creation.
    pub created_at: Option<Timestamp>,
    /// The place a person opens; the ticket's where it has none of its own.
    pub url: Option<String>,
    /// Headings above it.
    pub heading_path: Vec<String>,
    /// Its text without headings, cut around the question's words.
    pub snippet: String,
}
