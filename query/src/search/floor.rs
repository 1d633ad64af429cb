//! An honest miss: the best that was found may still be nothing.

use super::ask::Ask;
use crate::{Hit, Miss};

/// How good the best of each leg was.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Nearest {
    found: usize,
    dense: Option<f64>,
    lexical: Option<f64>,
}

impl Nearest {
    /// From lists that are sorted best first.
    pub(super) fn of<K>(
        found: usize,
        dense: &Option<Vec<(K, f64)>>,
        lexical: &Option<Vec<(K, f64)>>,
    ) -> Self {
        let best = |list: &Option<Vec<(K, f64)>>| Some(list.as_ref()?.first()?.1);
        Self {
            found,
            dense: best(dense),
            lexical: best(lexical),
        }
    }
}

impl Ask<'_> {
    /// Why the hits are not worth showing, where they are not.
    pub(super) fn miss(&self, hits: &[Hit], nearest: Nearest) -> Option<Miss> {
        if hits.iter().any(|hit| hit.exact) {
            return None;
        }
        let attainable = self.lexical().attainable();
        let lexical = nearest.lexical.map(|score| {
            if attainable > 0.0 {
                score / attainable
            } else {
                0.0
            }
        });
        let floor = self.config.floor.lexical;
        let miss = |reason: String| {
            Some(Miss {
                reason,
                dense: nearest.dense,
                dense_floor: nearest.dense.and(self.dense_floor),
                lexical,
                lexical_floor: lexical.map(|_| floor),
            })
        };
        if hits.is_empty() {
            return miss(self.question.nothing.clone());
        }
        // Few behind a filter: all of them are wanted, however near they are.
        let chosen = !self.question.conditions.is_empty() && nearest.found <= self.request.k;
        if self.request.include_weak || chosen {
            return None;
        }
        // Words alone cannot tell: one of many may be the one that matters. Nor can
        // a model whose numbers nobody has measured.
        let (Some(dense), Some(dense_floor)) = (nearest.dense, self.dense_floor) else {
            return None;
        };
        if dense >= dense_floor || lexical.is_some_and(|share| share >= floor) {
            return None;
        }
        miss("nothing that was found is relevant; include_weak shows it all the same".to_owned())
    }
}
