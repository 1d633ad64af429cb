//! Thresholds that a measurement is held to.

use super::Report;
use crate::Mode;
use serde::{Deserialize, Serialize};

/// What must hold, of the hybrid mode; what is absent is not asked. From
/// `gate.toml` beside the questions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Gate {
    /// nDCG@10 over all questions with an answer, at least.
    pub ndcg_at_10: Option<f64>,
    /// Recall@10 over them, at least.
    pub recall_at_10: Option<f64>,
    /// MRR@10 over them, at least.
    pub mrr_at_10: Option<f64>,
    /// Part of them with a right first answer, at least.
    pub first: Option<f64>,
    /// Part of the questions of kind `golden` with a right answer among the first
    /// ten, at least.
    pub golden: Option<f64>,
    /// Part of the questions without an answer that get none, at least.
    pub misses: Option<f64>,
    /// Part of the hits that repeat a ticket above them, at most.
    pub duplicates: Option<f64>,
    /// The 95th percentile of an answer's time in milliseconds, at most.
    pub p95_ms: Option<f64>,
}

/// A threshold that was not met.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Breach {
    /// Its key in `gate.toml`.
    pub key: &'static str,
    /// What it asks.
    pub threshold: f64,
    /// What was measured; absent where no question measures it.
    pub measured: Option<f64>,
}

impl Gate {
    /// The thresholds that `report` does not meet, in the order of their keys. One
    /// that no question measures is not met.
    pub fn check(&self, report: &Report) -> Vec<Breach> {
        let all = report.overall(Mode::Hybrid);
        let golden = report.of_kind(Mode::Hybrid, "golden");
        let at_least = [
            (
                "ndcg_at_10",
                self.ndcg_at_10,
                all.map(|row| row.ndcg_at_10.mean),
            ),
            (
                "recall_at_10",
                self.recall_at_10,
                all.map(|row| row.recall_at_10.mean),
            ),
            (
                "mrr_at_10",
                self.mrr_at_10,
                all.map(|row| row.mrr_at_10.mean),
            ),
            ("first", self.first, all.map(|row| row.first)),
            ("golden", self.golden, golden.map(|row| row.hit_at_10)),
            ("misses", self.misses, report.misses(Mode::Hybrid)),
        ];
        let at_most = [
            (
                "duplicates",
                self.duplicates,
                report.duplicates(Mode::Hybrid),
            ),
            (
                "p95_ms",
                self.p95_ms,
                report.latency(Mode::Hybrid).map(|of| of.p95),
            ),
        ];
        let below = at_least
            .into_iter()
            .filter_map(|(key, threshold, measured)| Some((key, threshold?, measured)))
            .filter(|(_, threshold, measured)| measured.is_none_or(|value| value < *threshold));
        let above = at_most
            .into_iter()
            .filter_map(|(key, threshold, measured)| Some((key, threshold?, measured)))
            .filter(|(_, threshold, measured)| measured.is_none_or(|value| value > *threshold));
        let breach = |(key, threshold, measured)| Breach {
            key,
            threshold,
            measured,
        };
        below.chain(above).map(breach).collect()
    }
}
