//! The reranker's turn: it reads the question with the best chunk of each
//! candidate, and its order wins where it came in time.

use super::{Work, ask::Ask, millis};
use crate::{
    Degraded, Leg, SearchError,
    fetch::{Wanted, passages},
    fuse::Fused,
};
use std::time::Instant;

impl Ask<'_> {
    /// How many are worth keeping until the reranker has spoken.
    pub(super) fn candidates(&self) -> usize {
        match self.reranker {
            Some(_) => self.request.k.max(self.config.rerank_pairs),
            None => self.request.k,
        }
    }

    /// Reorders `fused`, and `wanted` with it. What the question names stays
    /// first; what was not scored in time follows what was, in the order it had.
    pub(super) async fn rerank<K: Copy>(
        &self,
        fused: &mut Vec<Fused<K>>,
        wanted: &mut Vec<Wanted>,
        ticket: fn(K) -> i64,
        work: &mut Work<'_>,
    ) -> Result<(), SearchError> {
        let Some(reranker) = self.reranker else {
            return Ok(());
        };
        let at = Instant::now();
        let named = fused
            .iter()
            .take_while(|fused| self.is_named(ticket(fused.key)))
            .count();
        let rest = wanted.get(named..).unwrap_or_default();
        let pairs = rest.len().min(self.config.rerank_pairs);
        let texts = passages(
            work.connections.first(),
            rest.get(..pairs).unwrap_or_default(),
        )
        .await?;
        if texts.is_empty() {
            return Ok(());
        }
        let deadline = at + self.config.rerank_deadline;
        let scores = reranker.score(&self.question.text, &texts, deadline).await;
        work.took.rerank = millis(at);
        let without = |code, reason| Degraded { code, reason };
        let scores = match scores {
            Ok(scores) => scores,
            Err(error) => {
                work.degraded
                    .push(without("rerank_failed", error.to_string()));
                return Ok(());
            }
        };
        let late = texts.len() - scores.iter().flatten().count().min(texts.len());
        if late > 0 {
            let reason = format!(
                "{late} of {} candidates were not reranked in time",
                texts.len()
            );
            work.degraded.push(without("rerank_timeout", reason));
        }
        // All or nothing: a score beside none says nothing about their order.
        if late == texts.len() {
            return Ok(());
        }
        let mut order: Vec<(usize, Option<f64>)> = (0..fused.len())
            .map(|place| {
                let score = place
                    .checked_sub(named)
                    .and_then(|place| scores.get(place).copied().flatten());
                (place, score.map(f64::from))
            })
            .collect();
        let (_, rest) = order.split_at_mut(named);
        rest.sort_by(|(a, of_a), (b, of_b)| match (of_a, of_b) {
            (Some(x), Some(y)) => y.total_cmp(x).then(a.cmp(b)),
            (Some(_), None) => std::cmp::Ordering::Less,
            (None, Some(_)) => std::cmp::Ordering::Greater,
            (None, None) => a.cmp(b),
        });
        let (old_fused, old_wanted) = (std::mem::take(fused), std::mem::take(wanted));
        for (rank, (place, score)) in order.into_iter().enumerate() {
            if let (Some(mut one), Some(rows)) =
                (old_fused.get(place).copied(), old_wanted.get(place))
            {
                one.legs.rerank = score.map(|score| Leg {
                    rank: rank + 1 - named,
                    score,
                });
                // Scores fall along the hits: what was read stands above what was not.
                if rank >= named {
                    one.score = match score {
                        Some(score) => 0.5 + score.clamp(0.0, 1.0) / 2.0,
                        None => one.score.min(1.0) / 2.0,
                    };
                }
                fused.push(one);
                wanted.push(rows.clone());
            }
        }
        Ok(())
    }
}
