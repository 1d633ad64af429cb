//! What was measured, for programs and for people.

use super::metrics::{Scores, mean_with_interval};
use crate::Mode;
use serde::Serialize;
use std::fmt;

/// A mean over questions with its 95 % bootstrap interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// The mean.
    pub mean: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// One mode on one kind of question.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Which legs.
    pub mode: Mode,
    /// The kind, or `all`.
    pub kind: String,
    /// How many.
    pub questions: usize,
    /// nDCG@10.
    pub ndcg_at_10: Figure,
    /// Recall@10.
    pub recall_at_10: Figure,
    /// MRR@10.
    pub mrr_at_10: Figure,
}

/// All modes; in each first `all`, then the kinds by name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The figures.
    pub rows: Vec<Row>,
}

impl Report {
    pub(super) fn of(modes: Vec<(Mode, Vec<(String, Scores)>)>) -> Self {
        let mut rows = Vec::new();
        for (mode, scores) in modes {
            let mut kinds: Vec<&str> = scores.iter().map(|(kind, _)| kind.as_str()).collect();
            kinds.sort_unstable();
            kinds.dedup();
            rows.push(row(
                mode,
                "all",
                scores.iter().map(|(_, scores)| *scores).collect(),
            ));
            for kind in kinds {
                let of_kind = scores.iter().filter(|(other, _)| other == kind);
                rows.push(row(
                    mode,
                    kind,
                    of_kind.map(|(_, scores)| *scores).collect(),
                ));
            }
        }
        Self { rows }
    }

    /// The row over all questions.
    pub fn overall(&self, mode: Mode) -> Option<&Row> {
        self.rows
            .iter()
            .find(|row| row.mode == mode && row.kind == "all")
    }
}

fn row(mode: Mode, kind: &str, scores: Vec<Scores>) -> Row {
    let figure = |of: fn(&Scores) -> f64| {
        let (mean, low, high) = mean_with_interval(&scores.iter().map(of).collect::<Vec<_>>());
        Figure { mean, low, high }
    };
    Row {
        mode,
        kind: kind.to_owned(),
        questions: scores.len(),
        ndcg_at_10: figure(|scores| scores.ndcg),
        recall_at_10: figure(|scores| scores.recall),
        mrr_at_10: figure(|scores| scores.mrr),
    }
}

impl fmt::Display for Report {
    /// A table for a terminal, 78 columns wide.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:8} {:11} {:>4}  {:22} {:>9} {:>7}",
            "mode", "questions", "n", "nDCG@10 (95 %)", "recall@10", "MRR@10"
        )?;
        for row in &self.rows {
            let mode = match row.mode {
                Mode::Hybrid => "hybrid",
                Mode::Dense => "dense",
                Mode::Lexical => "lexical",
            };
            let Figure { mean, low, high } = row.ndcg_at_10;
            writeln!(
                f,
                "{mode:8} {:11} {:>4}  {:22} {:>9.3} {:>7.3}",
                row.kind,
                row.questions,
                format!("{mean:.3} ({low:.3}–{high:.3})"),
                row.recall_at_10.mean,
                row.mrr_at_10.mean
            )?;
        }
        Ok(())
    }
}
