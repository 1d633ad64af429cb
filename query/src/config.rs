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
    /// BM25 over chunks: ranks chunks when they are what is asked for, and
    /// chooses the one that is shown.
    pub chunk_bm25: Bm25,
    /// How the two legs become one order.
    pub fusion: Fusion,
    /// How many chunks or tickets each leg recalls at least.
    pub recall: usize,
    /// Up to so many chunks behind the filters, vectors are compared one by one,
    /// which misses none; beyond it the index is used.
    pub exact_below: usize,
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
                dense: 0.5,
                lexical: 0.5,
            },
            recall: 200,
            exact_below: 10_000,
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

/// How the two legs become one order.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Fusion {
    /// Each leg's scores divided by its best, then weighted and added.
    Score {
        /// Weight of the dense leg.
        dense: f64,
        /// Weight of the lexical leg.
        lexical: f64,
    },
    /// Reciprocal rank fusion: the sum of `1 / (k + rank)`.
    Rrf {
        /// The constant; 60 as usual.
        k: f64,
    },
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
