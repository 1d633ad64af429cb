//! Measuring search on questions with known answers.
//!
//! A question's ranking is made within its own repository, over tickets; what
//! the question excludes is dropped. See [`metrics`] for the figures.

mod metrics;
mod questions;
mod report;

pub use metrics::{Scores, score};
pub use questions::{Question, QuestionError, read_questions};
pub use report::{Figure, Report, Row};

use crate::{Filters, Mode, SearchError, SearchRequest, SearchService};
use std::{collections::BTreeMap, future::Future};

/// The ranks that count.
pub const DEPTH: usize = 10;

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
    let mut scores: BTreeMap<usize, Vec<(String, Scores)>> = BTreeMap::new();
    let mut done = 0;
    for (at, mode) in modes.iter().enumerate() {
        for question in questions {
            let k = DEPTH + question.exclude.len();
            let ranking = ask(question.clone(), *mode, k).await?;
            let scored = score(question, &ranking);
            scores
                .entry(at)
                .or_default()
                .push((question.kind.clone(), scored));
            done += 1;
            seen(done);
        }
    }
    let by_mode = modes.iter().copied().zip(scores.into_values());
    Ok(Report::of(by_mode.collect()))
}

/// Asks `service`, within the question's repository.
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
    request.filters = Filters::default().with("project", question.repository())?;
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
