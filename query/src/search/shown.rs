//! What of a ticket is shown, and the rows of it.

use super::ask::Ask;
use crate::{
    Hit, Legs, SearchError,
    fetch::{Cut, Wanted, fetch, first_chunks},
    fuse::{Fused, Lists, fuse},
    snippet::words,
};
use deadpool_postgres::Client;
use std::collections::HashMap;

impl Ask<'_> {
    /// Puts what the question names first: tickets in its order, then those that
    /// hold a name of it, as the legs rank them. Their score says so.
    pub(super) fn exact_first<K: Copy>(&self, fused: &mut [Fused<K>], ticket: fn(K) -> i64) {
        let place = |key: K| {
            let id = ticket(key);
            let named = self.exact.iter().position(|exact| *exact == id);
            named.or_else(|| self.holders.contains(&id).then_some(self.exact.len()))
        };
        for fused in fused.iter_mut() {
            if place(fused.key).is_some() {
                fused.score += 1.0;
            }
        }
        // Stable: the rest keeps its order.
        fused.sort_by_key(|fused| place(fused.key).unwrap_or(usize::MAX));
    }

    /// Whether the question names this ticket, or a name that stands in it.
    pub(super) fn is_named(&self, ticket_id: i64) -> bool {
        self.exact.contains(&ticket_id) || self.holders.contains(&ticket_id)
    }

    /// The chunks to show of each ticket: the best by both legs together.
    pub(super) async fn shown(
        &self,
        client: &Client,
        tickets: &[i64],
    ) -> Result<HashMap<i64, Vec<i32>>, SearchError> {
        // A few of each leg: the best of both is hardly ever below that.
        let each = self.config.chunks_per_ticket + 2;
        let (dense, lexical) = (self.dense(), self.lexical());
        let by_vectors = async {
            match &dense {
                Some(dense) => dense.of_tickets(client, tickets, each).await,
                None => Ok(Vec::new()),
            }
        };
        let by_words = lexical.of_tickets(client, tickets, each);
        let (near, worded) = tokio::try_join!(by_vectors, by_words)?;
        let mut of: HashMap<i64, [Vec<(i32, f64)>; 2]> = HashMap::new();
        for (leg, chunks) in [near, worded].into_iter().enumerate() {
            for chunk in chunks {
                if let Some(list) = of.entry(chunk.ticket_id).or_default().get_mut(leg) {
                    list.push((chunk.seq, chunk.score));
                }
            }
        }
        let choose = |[near, worded]: &[Vec<(i32, f64)>; 2]| {
            let lists = Lists {
                dense: Some(near.as_slice()),
                lexical: None,
                lexical_chunk: Some(worded.as_slice()),
            };
            let fused = fuse(self.config.fusion.over_chunks(), lists);
            fused
                .iter()
                .take(self.config.chunks_per_ticket)
                .map(|fused| fused.key)
                .collect()
        };
        let mut shown: HashMap<i64, Vec<i32>> = of
            .iter()
            .map(|(ticket, legs)| (*ticket, choose(legs)))
            .collect();
        // Found by its title or its id alone: its beginning.
        let rest: Vec<i64> = tickets
            .iter()
            .filter(|id| !shown.contains_key(id))
            .copied()
            .collect();
        shown.extend(first_chunks(client, &rest, &self.question.conditions).await?);
        Ok(shown)
    }

    /// The hits in the order of `fused`, without what was deleted meanwhile.
    pub(super) async fn fetch<K: Copy>(
        &self,
        client: &Client,
        wanted: &[Wanted],
        fused: &[Fused<K>],
        ticket: fn(K) -> i64,
    ) -> Result<Vec<Hit>, SearchError> {
        let words = words(&self.question.text);
        let cut = Cut {
            words: &words,
            chars: self.config.snippet_chars,
        };
        let found = fetch(client, wanted, &cut).await?;
        let mut hits: Vec<Hit> = Vec::with_capacity(found.len());
        for (hit, fused) in found.into_iter().zip(fused) {
            let Some(mut hit) = hit else { continue };
            hit.rank = hits.len() + 1;
            hit.score = fused.score;
            hit.exact = self.is_named(ticket(fused.key));
            hit.legs = self.request.explain.then_some::<Legs>(fused.legs);
            hits.push(hit);
        }
        Ok(hits)
    }
}
