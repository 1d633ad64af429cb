//! What the legs found, as one list.

use crate::{Fusion, Leg, Legs};
use std::{collections::HashMap, hash::Hash};

/// A key with what each leg says of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fused<K> {
    pub(crate) key: K,
    pub(crate) score: f64,
    pub(crate) legs: Legs,
}

/// What each leg found, best first, each key once; `None` for a leg that takes
/// no part.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lists<'a, K> {
    pub(crate) dense: Option<&'a [(K, f64)]>,
    pub(crate) lexical: Option<&'a [(K, f64)]>,
    pub(crate) lexical_chunk: Option<&'a [(K, f64)]>,
}

/// A leg's list, its weight, and its place in [`Legs`].
type Part<'a, K> = (
    Option<&'a [(K, f64)]>,
    f64,
    fn(&mut Legs) -> &mut Option<Leg>,
);

/// Fuses the lists. A leg that takes no part leaves its weight to the others;
/// one that takes part and does not hold a key gives it nothing. Best first;
/// equal scores in the order of keys. Scores of [`Fusion::Score`] lie between 0
/// and 1.
pub(crate) fn fuse<K: Copy + Eq + Hash + Ord>(
    fusion: Fusion,
    lists: Lists<'_, K>,
) -> Vec<Fused<K>> {
    let (dense, lexical, lexical_chunk) = match fusion {
        Fusion::Score {
            dense,
            lexical,
            lexical_chunk,
        } => (dense, lexical, lexical_chunk),
        Fusion::Rrf { .. } => (1.0, 1.0, 1.0),
    };
    let parts: [Part<'_, K>; 3] = [
        (lists.dense, dense, |legs| &mut legs.dense),
        (lists.lexical, lexical, |legs| &mut legs.lexical),
        (lists.lexical_chunk, lexical_chunk, |legs| {
            &mut legs.lexical_chunk
        }),
    ];
    let weights: f64 = parts
        .iter()
        .filter(|(list, ..)| list.is_some())
        .map(|(_, weight, _)| weight)
        .sum();
    let mut scored: HashMap<K, (f64, Legs)> = HashMap::new();
    for (list, weight, place) in parts {
        let list = list.unwrap_or_default();
        let best = list.first().map(|(_, best)| *best);
        for (at, (key, score)) in list.iter().enumerate() {
            let leg = Leg {
                rank: at + 1,
                score: *score,
            };
            let (sum, legs) = scored.entry(*key).or_default();
            *sum += match fusion {
                Fusion::Score { .. } if weights > 0.0 => weight * share(*score, best) / weights,
                Fusion::Score { .. } => 0.0,
                Fusion::Rrf { k } => 1.0 / (k + rank(leg)),
            };
            *place(legs) = Some(leg);
        }
    }
    let mut fused: Vec<Fused<K>> = scored
        .into_iter()
        .map(|(key, (score, legs))| Fused { key, score, legs })
        .collect();
    fused.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.key.cmp(&b.key)));
    fused
}

/// The part of the leg's best. A similarity below nothing counts as nothing.
fn share(score: f64, best: Option<f64>) -> f64 {
    match best {
        Some(best) if best > 0.0 => (score / best).max(0.0),
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
        lexical_chunk: 0.0,
    };

    fn both<'a>(
        dense: Option<&'a [(i64, f64)]>,
        lexical: Option<&'a [(i64, f64)]>,
    ) -> Lists<'a, i64> {
        Lists {
            dense,
            lexical,
            lexical_chunk: None,
        }
    }

    fn keys(fused: &[Fused<i64>]) -> Vec<i64> {
        fused.iter().map(|fused| fused.key).collect()
    }

    #[test]
    fn each_leg_counts_by_the_part_of_its_best() {
        let dense = [(1, 0.8), (2, 0.4)];
        let lexical = [(2, 10.0), (3, 9.0)];
        let fused = fuse(HALF, both(Some(&dense), Some(&lexical)));
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
            assert_eq!(keys(&fuse(fusion, both(Some(&dense), None))), [5, 2, 9]);
            assert_eq!(keys(&fuse(fusion, both(None, Some(&dense)))), [5, 2, 9]);
        }
        assert_eq!(fuse(HALF, both(None, None)), []);
        assert_eq!(fuse(HALF, both(Some(&[]), Some(&[]))), []);
    }

    #[test]
    fn reciprocal_ranks_add() {
        let lists = both(Some(&[(1, 0.9), (2, 0.8)]), Some(&[(2, 7.0)]));
        let fused = fuse(Fusion::Rrf { k: 60.0 }, lists);
        assert_eq!(keys(&fused), [2, 1]);
        assert!((fused[0].score - (1.0 / 62.0 + 1.0 / 61.0)).abs() < 1e-12);
    }

    #[test]
    fn a_leg_of_no_weight_is_shown_and_changes_nothing() {
        let (dense, lexical) = ([(1, 0.8), (2, 0.4)], [(2, 10.0), (3, 9.0)]);
        let two = fuse(HALF, both(Some(&dense), Some(&lexical)));
        let three = Lists {
            lexical_chunk: Some(&[(3, 5.0), (1, 1.0)]),
            ..both(Some(&dense), Some(&lexical))
        };
        let three = fuse(HALF, three);
        assert_eq!(keys(&two), keys(&three));
        assert_eq!(three[2].legs.lexical_chunk.unwrap().rank, 1);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_or_doubled_and_scores_fall(
            dense in prop::collection::btree_map(0..20_i64, -1.0..1.0_f64, 0..10),
            lexical in prop::collection::btree_map(0..20_i64, 0.0..40.0_f64, 0..10),
            chunk in prop::collection::btree_map(0..20_i64, 0.0..40.0_f64, 0..10),
        ) {
            let sorted = |map: &std::collections::BTreeMap<i64, f64>| {
                let mut list: Vec<(i64, f64)> = map.iter().map(|(k, s)| (*k, *s)).collect();
                list.sort_by(|a, b| b.1.total_cmp(&a.1));
                list
            };
            let lists = [sorted(&dense), sorted(&lexical), sorted(&chunk)];
            let fusion = Fusion::Score { dense: 0.45, lexical: 0.3, lexical_chunk: 0.25 };
            let fused = fuse(fusion, Lists {
                dense: Some(&lists[0]),
                lexical: Some(&lists[1]),
                lexical_chunk: Some(&lists[2]),
            });
            let mut found = keys(&fused);
            found.sort_unstable();
            let mut all: Vec<i64> =
                dense.keys().chain(lexical.keys()).chain(chunk.keys()).copied().collect();
            all.sort_unstable();
            all.dedup();
            prop_assert_eq!(found, all);
            prop_assert!(fused.windows(2).all(|pair| pair[0].score >= pair[1].score));
            prop_assert!(fused.iter().all(|fused| (0.0..=1.0 + 1e-9).contains(&fused.score)));
        }
    }
}
