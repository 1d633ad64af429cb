//! What can be tuned in a search, with defaults that were measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Settings of the search itself.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SearchConfig {
    /// BM25 over whole tickets.
    pub ticket_bm25: Bm25,
    /// BM25 over chunks: a leg of its own; it also ranks chunks when they are
    /// what is asked for, and chooses the one that is shown.
    pub chunk_bm25: Bm25,
    /// How the legs become one order.
    pub fusion: Fusion,
    /// How many chunks or tickets each leg recalls at least.
    pub recall: usize,
    /// Up to so many chunks behind the filters, vectors are compared one by one,
    /// which misses none; beyond it the index is used.
    pub exact_below: usize,
    /// The most of a question's terms that are looked up: those that tell most.
    pub terms: usize,
    /// Below these, nothing that was found is relevant.
    pub floor: Floor,
    /// The most candidates that the reranker reads.
    pub rerank_pairs: usize,
    /// What is not reranked by then keeps its place.
    #[serde(with = "millis")]
    pub rerank_deadline: Duration,
    /// How many characters of a chunk are shown at most.
    pub snippet_chars: usize,
    /// How many chunks of a ticket are shown at most.
    pub chunks_per_ticket: usize,
    /// A search that takes longer is given up.
    #[serde(with = "millis")]
    pub deadline: Duration,
}

impl Default for SearchConfig {
    fn default() -> Self {
        Self {
            ticket_bm25: Bm25 { k1: 1.5, b: 0.75 },
            chunk_bm25: Bm25 { k1: 1.2, b: 0.75 },
            fusion: Fusion::Score {
                dense: 0.40,
                lexical: 0.48,
                lexical_chunk: 0.12,
            },
            recall: 200,
            exact_below: 10_000,
            terms: 64,
            floor: Floor::default(),
            rerank_pairs: 50,
            rerank_deadline: Duration::from_millis(1500),
            snippet_chars: 320,
            chunks_per_ticket: 1,
            deadline: Duration::from_secs(10),
        }
    }
}

/// The two constants of BM25.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bm25 {
    /// How soon more of the same term stops to count.
    pub k1: f64,
    /// How much length is held against a text, 0 to 1.
    pub b: f64,
}

/// How the legs become one order.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Fusion {
    /// Each leg's scores divided by its best, then weighted and added.
    Score {
        /// Weight of the dense leg.
        #[schemars(range(min = 0))]
        dense: f64,
        /// Weight of BM25 over tickets.
        #[schemars(range(min = 0))]
        lexical: f64,
        /// Weight of BM25 over chunks.
        #[serde(default)]
        #[schemars(range(min = 0))]
        lexical_chunk: f64,
    },
    /// Reciprocal rank fusion: the sum of `1 / (k + rank)`.
    Rrf {
        /// The constant; 60 as usual.
        #[schemars(range(min = 0))]
        k: f64,
    },
}

impl Fusion {
    /// For lists of chunks, where BM25 over chunks speaks for all words.
    pub(crate) fn over_chunks(self) -> Self {
        match self {
            Self::Score {
                dense,
                lexical,
                lexical_chunk,
            } => Self::Score {
                dense,
                lexical: 0.0,
                lexical_chunk: lexical + lexical_chunk,
            },
            Self::Rrf { k } => Self::Rrf { k },
        }
    }

    /// What is wrong with its numbers.
    pub fn problem(self) -> Option<&'static str> {
        let bad = |number: f64| !(number.is_finite() && number >= 0.0);
        match self {
            Self::Score {
                dense,
                lexical,
                lexical_chunk,
            } if [dense, lexical, lexical_chunk].into_iter().any(bad) => {
                Some("a weight of the fusion is negative or no number")
            }
            Self::Rrf { k } if bad(k) => Some("the k of rrf is negative or no number"),
            Self::Score { .. } | Self::Rrf { .. } => None,
        }
    }
}

/// Where relevance ends. A search by vectors whose best hits are below the floors
/// of all legs is a miss; words alone cannot tell. Calibrated on questions that have an answer and on questions from
/// other fields, see `docs/decisions/0010-three-legs.md`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Floor {
    /// Cosine similarity, -1 to 1. Absent: the model's own; a model without one
    /// is never below it.
    pub dense: Option<f64>,
    /// Part of the highest BM25 score that the question's terms could give, 0 to 1.
    pub lexical: f64,
}

impl Default for Floor {
    fn default() -> Self {
        Self {
            dense: None,
            lexical: 0.25,
        }
    }
}

mod millis {
    use serde::{Deserialize, Deserializer, Serializer};
    use std::time::Duration;

    pub(super) fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(u64::try_from(time.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_millis)
    }
}
