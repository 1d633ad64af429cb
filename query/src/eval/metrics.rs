//! The figures of one question, and their means with intervals.

use super::{DEPTH, Question};
use std::collections::HashSet;

/// One question's figures, each between 0 and 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Scores {
    /// Normalized discounted cumulative gain; the gain is the grade.
    pub ndcg: f64,
    /// Which part of the right answers is among the first ten.
    pub recall: f64,
    /// One over the first right answer's rank; 0 beyond ten.
    pub mrr: f64,
    /// Whether any right answer is among the first ten: 1 or 0.
    pub hit: f64,
    /// Whether the first answer is right: 1 or 0.
    pub first: f64,
}

/// Scores a ranking of ticket ids, best first; repetitions count once.
pub fn score(question: &Question, ranking: &[String]) -> Scores {
    let mut seen = HashSet::new();
    let ranking: Vec<&String> = ranking
        .iter()
        .filter(|id| !question.exclude.contains(id) && seen.insert(*id))
        .take(DEPTH)
        .collect();
    let gains: Vec<f64> = ranking
        .iter()
        .map(|id| {
            question
                .relevant
                .get(*id)
                .map_or(0.0, |grade| f64::from(*grade))
        })
        .collect();
    let mut ideal: Vec<f64> = question
        .relevant
        .values()
        .map(|grade| f64::from(*grade))
        .collect();
    ideal.sort_by(|a, b| b.total_cmp(a));
    ideal.truncate(DEPTH);
    let best = discounted(&ideal);
    let found = gains.iter().filter(|gain| **gain > 0.0).count();
    let first = gains.iter().position(|gain| *gain > 0.0);
    Scores {
        ndcg: if best > 0.0 {
            discounted(&gains) / best
        } else {
            0.0
        },
        recall: if question.relevant.is_empty() {
            0.0
        } else {
            as_f64(found) / as_f64(question.relevant.len())
        },
        mrr: first.map_or(0.0, |at| 1.0 / as_f64(at + 1)),
        hit: f64::from(u8::from(first.is_some())),
        first: f64::from(u8::from(first == Some(0))),
    }
}

fn discounted(gains: &[f64]) -> f64 {
    gains
        .iter()
        .enumerate()
        .map(|(at, gain)| gain / as_f64(at + 2).log2())
        .sum()
}

#[expect(clippy::cast_precision_loss, reason = "counts of questions and ranks")]
pub(super) fn as_f64(count: usize) -> f64 {
    count as f64
}

/// The value below which `part` of `values` lie, by rank; 0 of none.
pub(super) fn percentile(values: &mut [f64], part: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rank within a slice"
    )]
    let rank = (as_f64(values.len()) * part).ceil() as usize;
    values.get(rank.saturating_sub(1)).copied().unwrap_or(0.0)
}

/// How many times the questions are drawn anew.
const DRAWS: usize = 1000;

/// The mean with its 95 % bootstrap interval over questions: the same for the
/// same values, whenever it is computed.
pub(super) fn mean_with_interval(values: &[f64]) -> (f64, f64, f64) {
    if values.is_empty() {
        return (0.0, 0.0, 0.0);
    }
    let mean = values.iter().sum::<f64>() / as_f64(values.len());
    let mut random = Random(0x5eed);
    let mut means: Vec<f64> = (0..DRAWS)
        .map(|_| {
            let drawn = values
                .iter()
                .map(|_| values.get(random.below(values.len())));
            drawn.flatten().sum::<f64>() / as_f64(values.len())
        })
        .collect();
    means.sort_by(f64::total_cmp);
    let at = |part: usize| means.get(DRAWS * part / 1000).copied().unwrap_or(mean);
    (mean, at(25), at(975))
}

/// SplitMix64: enough for drawing questions, and needs no crate.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^= z >> 31;
        usize::try_from(z % bound.max(1) as u64).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn question() -> Question {
        serde_json::from_str(
            r#"{"id": "a/b:hand:1", "query": "q", "kind": "hand",
                "relevant": {"a/b#1": 2, "a/b#2": 1}, "exclude": ["a/b#9"]}"#,
        )
        .unwrap()
    }

    fn ranking(ids: &[u32]) -> Vec<String> {
        ids.iter().map(|id| format!("a/b#{id}")).collect()
    }

    #[test]
    fn figures_by_hand() {
        let question = question();
        assert_eq!(question.scope().unwrap().get("project"), ["a/b"]);
        let best = score(&question, &ranking(&[9, 1, 2, 3]));
        assert_eq!(
            best,
            Scores {
                ndcg: 1.0,
                recall: 1.0,
                mrr: 1.0,
                hit: 1.0,
                first: 1.0
            }
        );
        let late = score(&question, &ranking(&[5, 5, 2]));
        let ideal = 2.0 + 1.0 / 3_f64.log2();
        assert!((late.ndcg - (1.0 / 3_f64.log2()) / ideal).abs() < 1e-12);
        assert_eq!((late.recall, late.mrr), (0.5, 0.5));
        assert_eq!((late.hit, late.first), (1.0, 0.0));
        let beyond: Vec<u32> = (20..30).chain([1]).collect();
        assert_eq!(score(&question, &ranking(&beyond)), Scores::default());
        // What is excluded takes no rank.
        let beyond: Vec<u32> = (20..29).chain([9, 1]).collect();
        assert!((score(&question, &ranking(&beyond)).mrr - 0.1).abs() < 1e-12);
    }

    #[test]
    fn an_interval_is_deterministic_and_holds_the_mean() {
        let values: Vec<f64> = (0..200).map(|i| f64::from(i % 5) / 4.0).collect();
        let (mean, low, high) = mean_with_interval(&values);
        assert!((mean - 0.5).abs() < 1e-12 && low < mean && mean < high);
        assert!(high - low < 0.12, "{low} {high}");
        assert_eq!(mean_with_interval(&values), (mean, low, high));
        assert_eq!(mean_with_interval(&[]), (0.0, 0.0, 0.0));
    }
}
