//! Measuring search on questions with known answers, and holding it to thresholds.
//!
//! A question's ranking is made within its own project, over tickets; what the
//! question excludes is dropped. A question without a right answer is answered
//! well by none. See [`metrics`] for the figures.

mod gate;
mod metrics;
mod questions;
mod report;

pub use gate::{Breach, Gate};
pub use metrics::{Scores, score};
pub use questions::{Question, QuestionError, read_questions};
pub use report::{Figure, Latency, Report, Row};

use crate::{Mode, SearchError, SearchRequest, SearchService};
use metrics::{as_f64, percentile};
use std::{collections::HashSet, future::Future, time::Instant};

/// The ranks that count.
pub const DEPTH: usize = 10;

/// What was answered in one mode.
#[derive(Debug, Default)]
struct Answers {
    /// Of questions that have an answer, by kind.
    scores: Vec<(String, Scores)>,
    /// Questions without one, and how many of them got none.
    misses: (usize, usize),
    /// Hits, and how many of them repeat one above.
    hits: (usize, usize),
    millis: Vec<f64>,
}

/// Asks every question in every mode and reports the figures.
///
/// `ask` gets a question, a mode and how many tickets to return at least, and
/// returns ticket ids, best first. `seen` is called after each answer, with how
/// many are done.
///
/// # Errors
/// The first error of `ask`.
pub async fn evaluate<F, A, E>(
    questions: &[Question],
    modes: &[Mode],
    ask: F,
    mut seen: impl FnMut(usize),
) -> Result<Report, E>
where
    F: Fn(Question, Mode, usize) -> A,
    A: Future<Output = Result<Vec<String>, E>>,
{
    let mut by_mode = Vec::new();
    let mut done = 0;
    for mode in modes {
        let mut answers = Answers::default();
        for question in questions {
            let k = DEPTH + question.exclude.len();
            let at = Instant::now();
            let ranking = ask(question.clone(), *mode, k).await?;
            answers.millis.push(at.elapsed().as_secs_f64() * 1000.0);
            answers.take(question, &ranking);
            done += 1;
            seen(done);
        }
        by_mode.push((*mode, answers));
    }
    Ok(Report::of(by_mode))
}

impl Answers {
    fn take(&mut self, question: &Question, ranking: &[String]) {
        if question.expects_miss() {
            self.misses.0 += 1;
            self.misses.1 += usize::from(ranking.is_empty());
        } else {
            let scored = score(question, ranking);
            self.scores.push((question.kind.clone(), scored));
        }
        let distinct: HashSet<&String> = ranking.iter().collect();
        self.hits.0 += ranking.len();
        self.hits.1 += ranking.len() - distinct.len();
    }

    fn latency(&mut self) -> Latency {
        Latency {
            p50: percentile(&mut self.millis, 0.50),
            p95: percentile(&mut self.millis, 0.95),
            p99: percentile(&mut self.millis, 0.99),
        }
    }

    /// Part of the hits that repeat one above.
    fn duplicates(&self) -> f64 {
        part(self.hits.1, self.hits.0).unwrap_or(0.0)
    }

    /// Part of the questions without an answer that got none.
    fn missed(&self) -> Option<f64> {
        part(self.misses.1, self.misses.0)
    }
}

fn part(of: usize, all: usize) -> Option<f64> {
    (all > 0).then(|| as_f64(of) / as_f64(all))
}

/// Asks `service`, within the question's project.
///
/// # Errors
/// As [`SearchService::search`]; also when a leg that was asked for is missing,
/// because the figures would then be another mode's.
pub async fn ask_service(
    service: &SearchService,
    question: &Question,
    mode: Mode,
    k: usize,
) -> Result<Vec<String>, SearchError> {
    let mut request = SearchRequest::new(question.query.clone());
    request.filters = question.scope()?;
    (request.mode, request.k) = (mode, k.min(crate::MAX_K));
    let response = service.search(&request).await?;
    if let Some(degraded) = response.degraded.first() {
        return Err(SearchError::new(
            degraded.code,
            503,
            format!("cannot measure: {}", degraded.reason),
            "measure when the model answers and the index is complete",
        ));
    }
    Ok(response.hits.into_iter().map(|hit| hit.id).collect())
}
