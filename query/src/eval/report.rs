//! What was measured, for programs and for people.

use super::{
    Answers,
    metrics::{Scores, as_f64, mean_with_interval},
};
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

/// One mode on one kind of question that has an answer.
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
    /// Part of the questions with a right answer among the first ten.
    pub hit_at_10: f64,
    /// Part of the questions whose first answer is right.
    pub first: f64,
}

/// Percentiles of the time of an answer in milliseconds, as the asker sees it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Latency {
    /// Half of the answers took less.
    pub p50: f64,
    /// 95 of 100.
    pub p95: f64,
    /// 99 of 100.
    pub p99: f64,
}

/// What of a mode is no mean over questions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Service {
    /// Which legs.
    pub mode: Mode,
    /// How long answers took.
    pub latency_ms: Latency,
    /// Part of the hits that repeat a ticket above them.
    pub duplicates: f64,
    /// Part of the questions without an answer that got none; absent where there
    /// are no such questions.
    pub misses: Option<f64>,
}

/// All modes; in each first `all`, then the kinds by name.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// The figures.
    pub rows: Vec<Row>,
    /// The rest, one of each mode.
    pub service: Vec<Service>,
}

impl Report {
    pub(super) fn of(modes: Vec<(Mode, Answers)>) -> Self {
        let (mut rows, mut service) = (Vec::new(), Vec::new());
        for (mode, mut answers) in modes {
            service.push(Service {
                mode,
                latency_ms: answers.latency(),
                duplicates: answers.duplicates(),
                misses: answers.missed(),
            });
            let scores = answers.scores;
            let mut kinds: Vec<&str> = scores.iter().map(|(kind, _)| kind.as_str()).collect();
            kinds.sort_unstable();
            kinds.dedup();
            let all = scores.iter().map(|(_, scores)| *scores).collect();
            rows.push(row(mode, "all", all));
            for kind in kinds {
                let of_kind = scores.iter().filter(|(other, _)| other == kind);
                let of_kind = of_kind.map(|(_, scores)| *scores).collect();
                rows.push(row(mode, kind, of_kind));
            }
        }
        Self { rows, service }
    }

    /// The row over all questions.
    pub fn overall(&self, mode: Mode) -> Option<&Row> {
        self.of_kind(mode, "all").filter(|row| row.questions > 0)
    }

    /// The row of one kind.
    pub fn of_kind(&self, mode: Mode, kind: &str) -> Option<&Row> {
        self.rows
            .iter()
            .find(|row| row.mode == mode && row.kind == kind)
    }

    /// Part of the questions without an answer that got none.
    pub fn misses(&self, mode: Mode) -> Option<f64> {
        self.service(mode)?.misses
    }

    /// Part of the hits that repeat a ticket above them.
    pub fn duplicates(&self, mode: Mode) -> Option<f64> {
        Some(self.service(mode)?.duplicates)
    }

    /// How long answers took.
    pub fn latency(&self, mode: Mode) -> Option<Latency> {
        Some(self.service(mode)?.latency_ms)
    }

    fn service(&self, mode: Mode) -> Option<&Service> {
        self.service.iter().find(|service| service.mode == mode)
    }
}

fn row(mode: Mode, kind: &str, scores: Vec<Scores>) -> Row {
    let values = |of: fn(&Scores) -> f64| scores.iter().map(of).collect::<Vec<_>>();
    let figure = |of: fn(&Scores) -> f64| {
        let (mean, low, high) = mean_with_interval(&values(of));
        Figure { mean, low, high }
    };
    let mean =
        |of: fn(&Scores) -> f64| values(of).iter().sum::<f64>() / as_f64(scores.len().max(1));
    Row {
        mode,
        kind: kind.to_owned(),
        questions: scores.len(),
        ndcg_at_10: figure(|scores| scores.ndcg),
        recall_at_10: figure(|scores| scores.recall),
        mrr_at_10: figure(|scores| scores.mrr),
        hit_at_10: mean(|scores| scores.hit),
        first: mean(|scores| scores.first),
    }
}

fn name(mode: Mode) -> &'static str {
    match mode {
        Mode::Hybrid => "hybrid",
        Mode::Dense => "dense",
        Mode::Lexical => "lexical",
    }
}

impl fmt::Display for Report {
    /// Tables for a terminal, 80 columns wide.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:8} {:11} {:>4}  {:20} {:>9} {:>7} {:>7} {:>6}",
            "mode", "questions", "n", "nDCG@10 (95 %)", "recall@10", "MRR@10", "hit@10", "first"
        )?;
        for row in &self.rows {
            let Figure { mean, low, high } = row.ndcg_at_10;
            writeln!(
                f,
                "{:8} {:11} {:>4}  {:20} {:>9.3} {:>7.3} {:>7.3} {:>6.3}",
                name(row.mode),
                row.kind,
                row.questions,
                format!("{mean:.3} ({low:.3}–{high:.3})"),
                row.recall_at_10.mean,
                row.mrr_at_10.mean,
                row.hit_at_10,
                row.first
            )?;
        }
        writeln!(
            f,
            "\n{:8} {:>8} {:>8} {:>8}  {:>10} {:>15}",
            "mode", "p50 ms", "p95 ms", "p99 ms", "duplicates", "expected misses"
        )?;
        for of in &self.service {
            let Latency { p50, p95, p99 } = of.latency_ms;
            let misses = of
                .misses
                .map_or("-".to_owned(), |part| format!("{part:.3}"));
            writeln!(
                f,
                "{:8} {p50:>8.1} {p95:>8.1} {p99:>8.1}  {:>10.3} {misses:>15}",
                name(of.mode),
                of.duplicates
            )?;
        }
        Ok(())
    }
}
