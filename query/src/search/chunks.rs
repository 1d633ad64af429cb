//! Chunks as hits: two legs, and not too many of one ticket.

use super::{
    Found, Work,
    ask::Ask,
    floor::Nearest,
    leg::{settle, timed},
    millis,
};
use crate::{
    Legs, SearchError,
    fetch::Wanted,
    fuse::{Fused, Lists, fuse},
    recall::{ChunkScore, lexical::WITH_CHUNKS},
};
use std::{
    collections::{HashMap, HashSet},
    time::Instant,
};

type Key = (i64, i32);

impl Ask<'_> {
    pub(super) async fn chunks(&self, work: &mut Work<'_>) -> Result<Found, SearchError> {
        let mut depth = self.depth();
        let (mut fused, nearest) = loop {
            let (mut fused, nearest, more) = self.fused_chunks(work, depth).await?;
            self.exact_first(&mut fused, |(ticket_id, _)| ticket_id);
            self.thin_out(&mut fused);
            // What one ticket may not have, others get: they may lie deeper.
            if fused.len() >= self.request.k || !more || self.request.per_ticket.is_none() {
                break (fused, nearest);
            }
            depth = depth.saturating_mul(4);
        };
        fused.truncate(self.candidates());
        let mut wanted: Vec<Wanted> = fused
            .iter()
            .map(|fused| Wanted {
                ticket_id: fused.key.0,
                seqs: vec![fused.key.1],
            })
            .collect();
        self.rerank(&mut fused, &mut wanted, |(ticket_id, _)| ticket_id, work)
            .await?;
        fused.truncate(self.request.k);
        wanted.truncate(self.request.k);
        let at = Instant::now();
        let hits = self
            .fetch(
                work.connections.first(),
                &wanted,
                &fused,
                |(ticket_id, _)| ticket_id,
            )
            .await?;
        work.took.fetch = millis(at);
        Ok((hits, nearest))
    }

    /// The fused list, what it is worth, and whether there may be more below it.
    async fn fused_chunks(
        &self,
        work: &mut Work<'_>,
        depth: usize,
    ) -> Result<(Vec<Fused<Key>>, Nearest, bool), SearchError> {
        let (dense, lexical) = (self.dense(), self.lexical());
        let connections = work.connections;
        let by_vectors = dense
            .as_ref()
            .map(|dense| dense.chunks(connections.first(), depth));
        let by_words = self.mode.lexical().then_some(async {
            let client = connections.second();
            let tickets = lexical
                .tickets(client, depth.max(WITH_CHUNKS), None)
                .await?;
            let ids: Vec<i64> = tickets.iter().map(|ticket| ticket.ticket_id).collect();
            lexical.chunks(client, depth, &ids).await
        });
        let ((near, near_took), (worded, worded_took)) =
            tokio::join!(timed(by_vectors), timed(by_words));
        (work.took.dense, work.took.lexical_chunk) = (near_took, worded_took);
        let legs = [("dense_failed", near), ("lexical_chunk_failed", worded)];
        let lists = settle(legs, work.degraded)?;
        let more = lists.iter().flatten().any(|list| list.len() >= depth);

        let at = Instant::now();
        let lists = lists.map(|list| list.map(|list| pairs(&list)));
        let mut fused = fuse(
            self.request
                .fusion
                .unwrap_or(self.config.fusion)
                .over_chunks(),
            Lists {
                dense: lists[0].as_deref(),
                lexical: None,
                lexical_chunk: lists[1].as_deref(),
            },
        );
        let nearest = Nearest::of(fused.len(), &lists[0], &lists[1]);
        let known: HashSet<i64> = fused.iter().map(|fused| fused.key.0).collect();
        let named: Vec<i64> = self.named().filter(|id| !known.contains(id)).collect();
        for (ticket_id, seqs) in self.shown(connections.first(), &named).await? {
            let keys = seqs.iter().map(|seq| (ticket_id, *seq));
            fused.extend(keys.map(|key| Fused {
                key,
                score: 0.0,
                legs: Legs::default(),
            }));
        }
        work.took.fuse = millis(at);
        Ok((fused, nearest, more))
    }

    /// Keeps at most the wished number of each ticket's chunks, the best ones.
    fn thin_out(&self, fused: &mut Vec<Fused<Key>>) {
        let Some(most) = self.request.per_ticket else {
            return;
        };
        let mut seen: HashMap<i64, usize> = HashMap::new();
        fused.retain(|fused| {
            let count = seen.entry(fused.key.0).or_default();
            *count += 1;
            *count <= most
        });
    }
}

fn pairs(chunks: &[ChunkScore]) -> Vec<(Key, f64)> {
    chunks
        .iter()
        .map(|chunk| ((chunk.ticket_id, chunk.seq), chunk.score))
        .collect()
}
