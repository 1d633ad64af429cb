//! Two lists into one.

use crate::{Fusion, Leg, Legs};
use std::{collections::HashMap, hash::Hash};

/// A key with what each leg says of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fused<K> {
    pub(crate) key: K,
    pub(crate) score: f64,
    pub(crate) legs: Legs,
}

/// Fuses lists that are sorted best first and hold each key once. A leg that is
/// absent takes no part; one that is there and does not hold a key gives it
/// nothing. Best first; equal scores in the order of keys. Scores of
/// [`Fusion::Score`] lie between 0 and 1.
pub(crate) fn fuse<K: Copy + Eq + Hash + Ord>(
    fusion: Fusion,
    dense: Option<&[(K, f64)]>,
    lexical: Option<&[(K, f64)]>,
) -> Vec<Fused<K>> {
    let mut legs: HashMap<K, Legs> = HashMap::new();
    for (at, (key, score)) in dense.unwrap_or_default().iter().enumerate() {
        legs.entry(*key).or_default().dense = Some(Leg {
            rank: at + 1,
            score: *score,
        });
    }
    for (at, (key, score)) in lexical.unwrap_or_default().iter().enumerate() {
        legs.entry(*key).or_default().lexical = Some(Leg {
            rank: at + 1,
            score: *score,
        });
    }
    let best =
        |list: Option<&[(K, f64)]>| list.and_then(|list| list.first()).map(|(_, best)| *best);
    let (dense_best, lexical_best) = (best(dense), best(lexical));
    let score = |legs: &Legs| match fusion {
        Fusion::Score {
            dense: of_dense,
            lexical: of_lexical,
        } => {
            let weights = dense.map_or(0.0, |_| of_dense) + lexical.map_or(0.0, |_| of_lexical);
            let sum = of_dense * share(legs.dense, dense_best)
                + of_lexical * share(legs.lexical, lexical_best);
            if weights > 0.0 { sum / weights } else { 0.0 }
        }
        Fusion::Rrf { k } => [legs.dense, legs.lexical]
            .into_iter()
            .flatten()
            .map(|leg| 1.0 / (k + rank(leg)))
            .sum(),
    };
    let mut fused: Vec<Fused<K>> = legs
        .iter()
        .map(|(key, legs)| Fused {
            key: *key,
            score: score(legs),
            legs: *legs,
        })
        .collect();
    fused.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.key.cmp(&b.key)));
    fused
}

/// The part of the leg's best. A similarity below nothing counts as nothing.
fn share(leg: Option<Leg>, best: Option<f64>) -> f64 {
    match (leg, best) {
        (Some(leg), Some(best)) if best > 0.0 => (leg.score / best).max(0.0),
        _ => 0.0,
    }
}

#[expect(clippy::cast_precision_loss, reason = "ranks are far below 2^52")]
fn rank(leg: Leg) -> f64 {
    leg.rank as f64
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    const HALF: Fusion = Fusion::Score {
        dense: 0.5,
        lexical: 0.5,
    };

    fn keys(fused: &[Fused<i64>]) -> Vec<i64> {
        fused.iter().map(|fused| fused.key).collect()
    }

    #[test]
    fn each_leg_counts_by_the_part_of_its_best() {
        let dense = [(1, 0.8), (2, 0.4)];
        let lexical = [(2, 10.0), (3, 9.0)];
        let fused = fuse(HALF, Some(&dense), Some(&lexical));
        assert_eq!(keys(&fused), [2, 1, 3]);
        assert!((fused[0].score - 0.75).abs() < 1e-12);
        assert_eq!(
            fused[0].legs.dense,
            Some(Leg {
                rank: 2,
                score: 0.4
            })
        );
        assert_eq!(fused[1].legs.lexical, None);
    }

    #[test]
    fn one_leg_alone_keeps_its_order() {
        let dense = [(5, 0.8), (2, 0.4), (9, -0.1)];
        for fusion in [HALF, Fusion::Rrf { k: 60.0 }] {
            assert_eq!(keys(&fuse(fusion, Some(&dense), None)), [5, 2, 9]);
            assert_eq!(keys(&fuse(fusion, None, Some(&dense))), [5, 2, 9]);
        }
        assert_eq!(fuse::<i64>(HALF, None, None), []);
        assert_eq!(fuse::<i64>(HALF, Some(&[]), Some(&[])), []);
    }

    #[test]
    fn reciprocal_ranks_add() {
        let fused = fuse(
            Fusion::Rrf { k: 60.0 },
            Some(&[(1, 0.9), (2, 0.8)]),
            Some(&[(2, 7.0)]),
        );
        assert_eq!(keys(&fused), [2, 1]);
        assert!((fused[0].score - (1.0 / 62.0 + 1.0 / 61.0)).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_or_doubled_and_scores_fall(
            dense in prop::collection::btree_map(0..20_i64, -1.0..1.0_f64, 0..10),
            lexical in prop::collection::btree_map(0..20_i64, 0.0..40.0_f64, 0..10),
        ) {
            let sorted = |map: &std::collections::BTreeMap<i64, f64>| {
                let mut list: Vec<(i64, f64)> = map.iter().map(|(k, s)| (*k, *s)).collect();
                list.sort_by(|a, b| b.1.total_cmp(&a.1));
                list
            };
            let fused = fuse(HALF, Some(&sorted(&dense)), Some(&sorted(&lexical)));
            let mut found = keys(&fused);
            found.sort_unstable();
            let mut all: Vec<i64> = dense.keys().chain(lexical.keys()).copied().collect();
            all.sort_unstable();
            all.dedup();
            prop_assert_eq!(found, all);
            prop_assert!(fused.windows(2).all(|pair| pair[0].score >= pair[1].score));
            prop_assert!(fused.iter().all(|fused| (0.0..=1.0 + 1e-9).contains(&fused.score)));
        }
    }
}
