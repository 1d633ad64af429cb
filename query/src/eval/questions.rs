//! Questions and their right answers, one JSON object a line.

use serde::Deserialize;
use std::{collections::BTreeMap, path::PathBuf};
use thiserror::Error;

/// One question.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Question {
    /// `owner/repo:kind:n`; unique.
    pub id: String,
    /// What is asked.
    pub query: String,
    /// `fix`, `xref`, `superseded`, `dup`, `hand` …
    pub kind: String,
    /// Right answers by ticket id, with their gain.
    pub relevant: BTreeMap<String, u32>,
    /// Tickets to drop from a ranking: those the question was taken from.
    #[serde(default)]
    pub exclude: Vec<String>,
}

impl Question {
    /// The part of the id before its first colon.
    pub fn repository(&self) -> &str {
        self.id.split(':').next().unwrap_or(&self.id)
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
