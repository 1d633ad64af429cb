//! A cross-encoder in this process: question and passage go through the model
//! together, which sees more than two vectors do and costs as much for each pair
//! as a vector does.

use super::{
    pair::{Pair, Question},
    pair_session::PairSession,
    spec::RerankerSpec,
};
use crate::{
    ModelError, ModelFiles, Tokenizer,
    batch::batches,
    pool::{Job, Pool, Priority},
};
use std::time::Instant;
use tokio::{sync::oneshot, time::timeout_at};

/// Tokens of a batch, filling included. A deadline cannot interrupt a batch, so
/// it is small.
const BATCH_TOKENS: usize = 2048;
const BATCH_PAIRS: usize = 32;

/// How a cross-encoder runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct CrossEncoderOptions {
    /// Threads that share one copy of the model; 0 takes one for each core.
    pub threads: usize,
}

/// A model at work. Stops when it is dropped.
#[derive(Debug)]
pub struct CrossEncoder {
    name: String,
    max_tokens: usize,
    tokenizer: Tokenizer,
    pool: Pool<PairSession>,
}

impl CrossEncoder {
    /// Loads the model of `spec`. Blocks.
    ///
    /// # Errors
    /// When a file is missing or is not what it should be.
    pub fn load(
        spec: &RerankerSpec,
        files: &ModelFiles,
        options: CrossEncoderOptions,
    ) -> Result<Self, ModelError> {
        let tokenizer = Tokenizer::load(&files.tokenizer)?;
        let threads = match options.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        // Rerankers are large: one copy that all threads share, where the encoder
        // has one for each.
        let session = PairSession::load(files, threads, i64::from(tokenizer.pad))?;
        Ok(Self {
            name: spec.name.clone(),
            max_tokens: spec.max_tokens,
            tokenizer,
            pool: Pool::start(vec![session]),
        })
    }

    /// The entry's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How well each passage answers `query`, 0 to 1, in the order of `passages`.
    /// `None` for those that were not scored by `deadline`, and for those beyond the
    /// first `pairs`.
    ///
    /// A passage that does not fit beside the query is cut at its end. Dropping the
    /// future gives up what has not begun.
    ///
    /// # Errors
    /// When the runtime fails, or a text cannot be tokenized.
    pub async fn score(
        &self,
        query: &str,
        passages: &[String],
        pairs: usize,
        deadline: Instant,
    ) -> Result<Vec<Option<f32>>, ModelError> {
        let mut scores = vec![None; passages.len()];
        let rows = self.rows(query, passages, pairs, deadline).await?;
        let lengths: Vec<usize> = rows.iter().map(|row| row.ids.len()).collect();
        let mut rows: Vec<Option<Pair>> = rows.into_iter().map(Some).collect();
        let mut waiting = Vec::new();
        // Shortest first: the more are scored in time.
        for batch in batches(&lengths, BATCH_TOKENS, BATCH_PAIRS)
            .into_iter()
            .rev()
        {
            let input = batch.iter().filter_map(|place| rows[*place].take());
            let input = input.collect();
            let (reply, answer) = oneshot::channel();
            self.pool.push(Job { input, reply }, Priority::High).await?;
            waiting.push((batch, answer));
        }
        for (batch, answer) in waiting {
            // Those that are not awaited any more are dropped with the loop.
            let Ok(answer) = timeout_at(deadline.into(), answer).await else {
                break;
            };
            let logits = answer.map_err(|_| ModelError::Stopped)??;
            for (place, logit) in batch.into_iter().zip(logits) {
                scores[place] = Some(logistic(logit));
            }
        }
        Ok(scores)
    }

    /// The first passages, as many as can be tokenized in time.
    async fn rows(
        &self,
        query: &str,
        passages: &[String],
        pairs: usize,
        deadline: Instant,
    ) -> Result<Vec<Pair>, ModelError> {
        let failed = |e| ModelError::runtime("tokenizing a pair", e);
        let question = Question::new(&self.tokenizer, query, self.max_tokens).map_err(failed)?;
        let mut rows = Vec::with_capacity(pairs.min(passages.len()));
        for passage in passages.iter().take(pairs) {
            if Instant::now() >= deadline {
                break;
            }
            rows.push(question.pair(passage).map_err(failed)?);
            // Let others on this thread go on.
            tokio::task::yield_now().await;
        }
        Ok(rows)
    }
}

/// A logit as a probability.
pub(crate) fn logistic(logit: f32) -> f32 {
    (1.0 / (1.0 + (-f64::from(logit)).exp())) as f32
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::super::test_graph::{Graphs, files, spec};
    use super::*;
    use std::time::Duration;

    fn later() -> Instant {
        Instant::now() + Duration::from_secs(60)
    }

    fn load(graph: Graphs) -> CrossEncoder {
        let (_folder, files) = files(graph);
        CrossEncoder::load(&spec(), &files, CrossEncoderOptions { threads: 1 }).unwrap()
    }

    fn owned(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[tokio::test]
    async fn passages_are_scored_in_their_order() {
        let encoder = load(Graphs::Overlap);
        let passages = owned(&["bread", "the kiln cools too fast", "a kiln", ""]);
        let query = "why does the kiln cool";
        let scores = encoder.score(query, &passages, 9, later()).await.unwrap();
        let scores: Vec<f32> = scores.into_iter().flatten().collect();
        assert_eq!(scores.len(), 4);
        assert!(scores.iter().all(|score| (0.0..=1.0).contains(score)));
        let [bread, both, kiln, nothing] = scores[..] else {
            panic!("{scores:?}")
        };
        assert!(both > kiln && kiln > bread, "{scores:?}");
        assert_eq!(bread, nothing, "the filling counts for nothing");
    }

    #[tokio::test]
    async fn a_batch_scores_as_each_alone() {
        let encoder = load(Graphs::Overlap);
        let passages: Vec<String> = (0..90)
            .map(|n| format!("{} kiln {}", "glaze ".repeat(n), "cool ".repeat(n % 7)))
            .collect();
        let together = encoder.score("kiln cool", &passages, 90, later()).await;
        let together = together.unwrap();
        for (passage, score) in passages.iter().zip(&together) {
            let alone = [passage.clone()];
            let alone = encoder.score("kiln cool", &alone, 1, later()).await;
            assert_eq!(&alone.unwrap()[0], score, "{passage}");
        }
    }

    #[tokio::test]
    async fn a_graph_without_types_sees_no_more_than_its_window() {
        let encoder = load(Graphs::Length);
        let passages = owned(&["oven", &"oven ".repeat(5000)]);
        let scores = encoder.score("why", &passages, 9, later()).await.unwrap();
        // The graph's logit is the number of tokens, divided by 512.
        let lengths: Vec<f32> = scores
            .into_iter()
            .flatten()
            .map(|score| (512.0 * (score / (1.0 - score)).ln()).round())
            .collect();
        assert_eq!(lengths, [5.0, 512.0]);
    }

    #[tokio::test]
    async fn what_is_beyond_the_budget_or_the_deadline_has_no_score() {
        let encoder = load(Graphs::Overlap);
        let passages = owned(&["kiln", "glaze", "cone"]);
        let scores = encoder.score("kiln", &passages, 2, later()).await.unwrap();
        assert!(scores[0].is_some() && scores[1].is_some() && scores[2].is_none());
        let past = Instant::now();
        let scores = encoder.score("kiln", &passages, 9, past).await.unwrap();
        assert_eq!(scores, [None, None, None]);
        let none = encoder.score("kiln", &[], 9, later()).await.unwrap();
        assert!(none.is_empty());
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_deadline_in_the_middle_does_not_hold_up_the_next_question() {
        let encoder = load(Graphs::Overlap);
        let one = Instant::now();
        let long = vec!["kiln ".repeat(600); 4];
        encoder.score("why", &long, 4, later()).await.unwrap();
        let one = one.elapsed();
        // Far more than can be done in the time of some batches.
        let mut passages = vec!["kiln ".repeat(600); 2000];
        passages[1999] = "kiln".to_owned();
        let soon = Instant::now() + one * 8;
        let scores = encoder.score("why", &passages, 2000, soon).await.unwrap();
        assert!(scores.iter().any(Option::is_none));
        let scores = encoder.score("why", &long[..1], 1, later()).await.unwrap();
        assert!(scores[0].is_some(), "the next question is not held up");
    }

    #[tokio::test]
    async fn a_graph_that_gives_more_than_one_score_is_refused() {
        let encoder = load(Graphs::TwoClasses);
        let passages = owned(&["kiln", "glaze"]);
        let error = encoder.score("kiln", &passages, 9, later()).await;
        let error = error.unwrap_err();
        let cause = std::error::Error::source(&error).unwrap().to_string();
        assert!(cause.contains("one for each"), "{cause}");
    }
}
