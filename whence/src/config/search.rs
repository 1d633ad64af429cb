//! How questions are answered: the search's own settings, flat, so that each is
//! one key.

use super::{Config, Rerank};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use whence_query::{Bm25, Floor, Fusion, SearchConfig};

/// How questions are answered. The defaults were measured: see
/// [decision 10](decisions/0010-three-legs.md).
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Search {
    /// How the legs become one order: `score` divides each leg's scores by its best,
    /// weighs and adds them; `rrf` adds `1 / (rrf_k + rank)`.
    pub(crate) fusion: FusionKind,
    /// Weight of the vectors in `score`.
    pub(crate) dense_weight: f64,
    /// Weight of BM25 over tickets in `score`.
    pub(crate) lexical_weight: f64,
    /// Weight of BM25 over chunks in `score`.
    pub(crate) lexical_chunk_weight: f64,
    /// The constant of `rrf`.
    pub(crate) rrf_k: f64,
    /// How soon more of the same term stops to count, over tickets.
    pub(crate) ticket_k1: f64,
    /// How much length is held against a ticket, 0 to 1.
    pub(crate) ticket_b: f64,
    /// How soon more of the same term stops to count, over chunks.
    pub(crate) chunk_k1: f64,
    /// How much length is held against a chunk, 0 to 1.
    pub(crate) chunk_b: f64,
    /// Candidates of each leg, at least.
    pub(crate) recall: usize,
    /// Up to so many chunks behind the filters, vectors are compared one by one.
    pub(crate) exact_below: usize,
    /// The most of a question's terms that are looked up: those that tell most.
    pub(crate) terms: usize,
    /// Cosine similarity that the nearest chunk needs for an answer. Absent: the
    /// model's own; -1 for any.
    pub(crate) dense_floor: Option<f64>,
    /// Part of the possible BM25 score that is enough for an answer without the
    /// vectors' word, 0 to 1.
    pub(crate) lexical_floor: f64,
    /// Characters of a chunk that are shown, at most.
    pub(crate) snippet_chars: usize,
    /// Chunks of a ticket that are shown, at most.
    pub(crate) chunks_per_ticket: usize,
    /// Milliseconds after which a search is given up.
    pub(crate) deadline_ms: u64,
}

/// How the legs become one order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FusionKind {
    /// By scores.
    Score,
    /// By ranks.
    Rrf,
}

impl Default for Search {
    fn default() -> Self {
        let of = SearchConfig::default();
        let Fusion::Score {
            dense,
            lexical,
            lexical_chunk,
        } = of.fusion
        else {
            unreachable!("the default fusion is by scores");
        };
        Self {
            fusion: FusionKind::Score,
            dense_weight: dense,
            lexical_weight: lexical,
            lexical_chunk_weight: lexical_chunk,
            rrf_k: 60.0,
            ticket_k1: of.ticket_bm25.k1,
            ticket_b: of.ticket_bm25.b,
            chunk_k1: of.chunk_bm25.k1,
            chunk_b: of.chunk_bm25.b,
            recall: of.recall,
            exact_below: of.exact_below,
            terms: of.terms,
            dense_floor: of.floor.dense,
            lexical_floor: of.floor.lexical,
            snippet_chars: of.snippet_chars,
            chunks_per_ticket: of.chunks_per_ticket,
            deadline_ms: u64::try_from(of.deadline.as_millis()).unwrap_or(u64::MAX),
        }
    }
}

impl Search {
    /// What is wrong with a value, naming its key.
    pub(super) fn problem(&self) -> Option<String> {
        let numbers = [
            ("dense_weight", self.dense_weight),
            ("lexical_weight", self.lexical_weight),
            ("lexical_chunk_weight", self.lexical_chunk_weight),
            ("rrf_k", self.rrf_k),
            ("ticket_k1", self.ticket_k1),
            ("chunk_k1", self.chunk_k1),
        ];
        let parts = [
            ("ticket_b", self.ticket_b),
            ("chunk_b", self.chunk_b),
            ("lexical_floor", self.lexical_floor),
        ];
        let counts = [
            ("recall", self.recall),
            ("terms", self.terms),
            ("snippet_chars", self.snippet_chars),
            ("chunks_per_ticket", self.chunks_per_ticket),
            (
                "deadline_ms",
                usize::try_from(self.deadline_ms).unwrap_or(usize::MAX),
            ),
        ];
        let negative = numbers
            .into_iter()
            .find(|(_, value)| !(value.is_finite() && *value >= 0.0))
            .map(|(key, value)| format!("search.{key} is {value}; it must be 0 or more"));
        let beyond = parts
            .into_iter()
            .find(|(_, value)| !(0.0..=1.0).contains(value))
            .map(|(key, value)| format!("search.{key} is {value}; it must be 0 to 1"));
        let none = counts
            .into_iter()
            .find(|(_, value)| *value == 0)
            .map(|(key, _)| format!("search.{key} is 0; it must be 1 or more"));
        let weightless = self.dense_weight + self.lexical_weight + self.lexical_chunk_weight;
        let weightless =
            (weightless == 0.0).then(|| "all weights of search are 0; one must be more".to_owned());
        negative.or(beyond).or(none).or(weightless)
    }
}

impl Config {
    /// The settings of the search, those of the reranker included.
    pub(crate) fn search(&self) -> SearchConfig {
        let (of, rerank): (&Search, &Rerank) = (&self.search, &self.rerank);
        SearchConfig {
            ticket_bm25: Bm25 {
                k1: of.ticket_k1,
                b: of.ticket_b,
            },
            chunk_bm25: Bm25 {
                k1: of.chunk_k1,
                b: of.chunk_b,
            },
            fusion: match of.fusion {
                FusionKind::Score => Fusion::Score {
                    dense: of.dense_weight,
                    lexical: of.lexical_weight,
                    lexical_chunk: of.lexical_chunk_weight,
                },
                FusionKind::Rrf => Fusion::Rrf { k: of.rrf_k },
            },
            recall: of.recall,
            exact_below: of.exact_below,
            terms: of.terms,
            floor: Floor {
                dense: of.dense_floor,
                lexical: of.lexical_floor,
            },
            rerank_pairs: rerank.pairs,
            rerank_deadline: Duration::from_millis(rerank.deadline_ms),
            snippet_chars: of.snippet_chars,
            chunks_per_ticket: of.chunks_per_ticket,
            deadline: Duration::from_millis(of.deadline_ms),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_of_the_search() {
        assert_eq!(Config::default().search(), SearchConfig::default());
    }

    #[test]
    fn a_wrong_value_names_its_key() {
        let wrong = [
            (
                Search {
                    ticket_b: 2.0,
                    ..Search::default()
                },
                "search.ticket_b",
            ),
            (
                Search {
                    recall: 0,
                    ..Search::default()
                },
                "search.recall",
            ),
            (
                Search {
                    rrf_k: f64::NAN,
                    ..Search::default()
                },
                "search.rrf_k",
            ),
        ];
        for (search, key) in wrong {
            assert!(
                search
                    .problem()
                    .is_some_and(|problem| problem.contains(key))
            );
        }
        assert_eq!(Search::default().problem(), None);
    }
}
