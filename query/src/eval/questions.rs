//! Questions and their right answers, one JSON object a line.

use crate::{Filters, SearchError};
use serde::Deserialize;
use std::{collections::BTreeMap, path::PathBuf};
use thiserror::Error;

/// One question. Fields that are not here are refused: `relevant` under a wrong
/// name would be a question that expects no answer.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// `owner/repo:kind:n`; unique. What stands before the first colon is the
    /// project that is searched, unless there are `filters`.
    pub id: String,
    /// What is asked.
    pub query: String,
    /// `fix`, `xref`, `superseded`, `dup`, `hand` …
    pub kind: String,
    /// Right answers by ticket id, with their gain. None: the right answer is that
    /// there is none.
    #[serde(default)]
    pub relevant: BTreeMap<String, u32>,
    /// Where to search, in place of the project.
    #[serde(default)]
    pub filters: Option<Filters>,
    /// Tickets to drop from a ranking: those the question was taken from.
    #[serde(default)]
    pub exclude: Vec<String>,
}

impl Question {
    /// What its answers must be.
    ///
    /// # Errors
    /// Never for an id that was read from a file; for one that no filter takes.
    pub fn scope(&self) -> Result<Filters, SearchError> {
        match (&self.filters, self.id.split_once(':')) {
            (Some(filters), _) => Ok(filters.clone()),
            (None, Some((project, _))) => Filters::default().with("project", project),
            (None, None) => Ok(Filters::default()),
        }
    }

    /// Whether the right answer is that there is none.
    pub fn expects_miss(&self) -> bool {
        self.relevant.is_empty()
    }
}

/// A file of questions that cannot be used.
#[derive(Debug, Error)]
pub enum QuestionError {
    /// It cannot be read.
    #[error("cannot read {path}")]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A line is not a question.
    #[error("{path}, line {line}, is not a question")]
    Line {
        /// Which file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// Why.
        source: serde_json::Error,
    },
}

/// All questions of `paths`, in order; empty lines are skipped.
///
/// # Errors
/// For the first file or line that cannot be read.
pub fn read_questions(paths: &[PathBuf]) -> Result<Vec<Question>, QuestionError> {
    let mut questions = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(path).map_err(|source| QuestionError::Io {
            path: path.clone(),
            source,
        })?;
        for (at, line) in text.lines().enumerate() {
            if line.trim().is_empty() {
                continue;
            }
            questions.push(
                serde_json::from_str(line).map_err(|source| QuestionError::Line {
                    path: path.clone(),
                    line: at + 1,
                    source,
                })?,
            );
        }
    }
    Ok(questions)
}
