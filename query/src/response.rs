//! What is answered.

use crate::{Filters, Mode};
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
    /// Why fewer parts were used than asked for; empty when all were.
    pub degraded: Vec<Degraded>,
    /// What the question was taken for, where it holds filters or phrases.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub understood: Option<Understood>,
    /// Why there are no hits, where nothing that was found is relevant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub miss: Option<Miss>,
    /// Where the time went.
    pub took_ms: Took,
}

/// A question taken apart.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Understood {
    /// The words that were searched for.
    pub text: String,
    /// What must stand word by word.
    pub phrases: Vec<String>,
    /// All filters, those beside the question included.
    pub filters: Filters,
}

/// Nothing relevant was found.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Miss {
    /// For people.
    pub reason: String,
    /// The similarity of the nearest chunk, -1 to 1; absent where that leg found nothing.
    pub dense: Option<f64>,
    /// What it had to be.
    pub dense_floor: Option<f64>,
    /// The best ticket's part of the BM25 score that the question's terms could
    /// give, 0 to 1; absent where that leg found nothing.
    pub lexical: Option<f64>,
    /// What it had to be.
    pub lexical_floor: Option<f64>,
}

/// A part of the search that could not be used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Degraded {
    /// `no_encoder`, `encoder_failed`, `no_vectors`, `dense_failed`, `lexical_failed`,
    /// `lexical_chunk_failed`, `rerank_failed`, `rerank_timeout`.
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
    /// Recall by words over tickets; runs beside the dense one.
    pub lexical: f64,
    /// Recall by words over chunks of the best tickets; runs after the one before.
    pub lexical_chunk: f64,
    /// Completing each leg's scores and fusing.
    pub fuse: f64,
    /// Asking the reranker.
    pub rerank: f64,
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
    /// The question names this ticket, or a rare name that stands in it.
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
    /// BM25 of the ticket.
    pub lexical: Option<Leg>,
    /// BM25 of its best chunk.
    pub lexical_chunk: Option<Leg>,
    /// The reranker's score of the best chunk, 0 to 1; it decides the order where
    /// it is there.
    pub rerank: Option<Leg>,
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
