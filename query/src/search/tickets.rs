//! Tickets as hits: three legs, each completed by what the others found.

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
    recall::{ChunkScore, TicketScore, lexical::WITH_CHUNKS, sort_tickets},
};
use std::{collections::HashSet, time::Instant};

/// What each leg found, best first; `None` for a leg that is not used or failed.
struct Recalled {
    dense: Option<Vec<TicketScore>>,
    lexical: Option<Vec<TicketScore>>,
    lexical_chunk: Option<Vec<TicketScore>>,
}

impl Ask<'_> {
    pub(super) async fn tickets(&self, work: &mut Work<'_>) -> Result<Found, SearchError> {
        let mut recalled = self.recall(work).await?;
        let at = Instant::now();
        self.complete(&mut recalled, work).await?;
        let lists = [&recalled.dense, &recalled.lexical, &recalled.lexical_chunk]
            .map(|list| list.as_deref().map(pairs));
        let mut fused = fuse(
            self.request.fusion.unwrap_or(self.config.fusion),
            Lists {
                dense: lists[0].as_deref(),
                lexical: lists[1].as_deref(),
                lexical_chunk: lists[2].as_deref(),
            },
        );
        let found: HashSet<i64> = fused.iter().map(|fused| fused.key).collect();
        let nameless = self.named().filter(|id| !found.contains(id));
        fused.extend(nameless.map(|id| Fused {
            key: id,
            score: 0.0,
            legs: Legs::default(),
        }));
        let nearest = Nearest::of(fused.len(), &lists[0], &lists[1]);
        self.exact_first(&mut fused, |key| key);
        work.took.fuse = millis(at);

        fused.truncate(self.candidates());
        let ids: Vec<i64> = fused.iter().map(|fused| fused.key).collect();
        let at = Instant::now();
        let client = work.connections.first();
        let mut shown = self.shown(client, &ids).await?;
        let mut wanted: Vec<Wanted> = ids
            .iter()
            .map(|id| Wanted {
                ticket_id: *id,
                seqs: shown.remove(id).unwrap_or_default(),
            })
            .collect();
        work.took.fetch = millis(at);
        self.rerank(&mut fused, &mut wanted, |key| key, work)
            .await?;
        fused.truncate(self.request.k);
        wanted.truncate(self.request.k);

        let at = Instant::now();
        let hits = self.fetch(client, &wanted, &fused, |key| key).await?;
        work.took.fetch += millis(at);
        Ok((hits, nearest))
    }

    async fn recall(&self, work: &mut Work<'_>) -> Result<Recalled, SearchError> {
        let (dense, lexical, depth) = (self.dense(), self.lexical(), self.depth());
        let connections = work.connections;
        let by_vectors = dense.as_ref().map(|dense| async move {
            let found = dense.chunks_of_tickets(connections.first(), depth).await?;
            Ok(best_of_tickets(&found))
        });
        let by_words = async {
            let words = self.mode.lexical();
            let (client, deep) = (connections.second(), depth.max(WITH_CHUNKS));
            let (mut worded, worded_took) =
                timed(words.then(|| lexical.tickets(client, deep, None))).await;
            // The chunks of the best are scored when those are known.
            let ids: Option<Vec<i64>> = match &worded {
                Some(Ok(found)) => Some(found.iter().map(|ticket| ticket.ticket_id).collect()),
                Some(Err(_)) | None => None,
            };
            let by_chunks = ids
                .as_deref()
                .map(|ids| lexical.tickets_by_chunk(client, depth, ids));
            let passages = timed(by_chunks).await;
            if let Some(Ok(found)) = &mut worded {
                found.truncate(depth);
            }
            ((worded, worded_took), passages)
        };
        let ((near, near_took), ((worded, worded_took), (passages, passages_took))) =
            tokio::join!(timed(by_vectors), by_words);
        (work.took.dense, work.took.lexical) = (near_took, worded_took);
        work.took.lexical_chunk = passages_took;
        let legs = [
            ("dense_failed", near),
            ("lexical_failed", worded),
            ("lexical_chunk_failed", passages),
        ];
        let [dense, lexical, lexical_chunk] = settle(legs, work.degraded)?;
        Ok(Recalled {
            dense,
            lexical,
            lexical_chunk,
        })
    }

    /// Each leg scores what only others found, and what the question names: a
    /// ticket just below a leg's depth is not one without any likeness.
    async fn complete(
        &self,
        recalled: &mut Recalled,
        work: &mut Work<'_>,
    ) -> Result<(), SearchError> {
        let Recalled {
            dense: near,
            lexical: worded,
            lexical_chunk: passages,
        } = recalled;
        let all: HashSet<i64> = [near.as_ref(), worded.as_ref(), passages.as_ref()]
            .into_iter()
            .flatten()
            .flatten()
            .map(|ticket| ticket.ticket_id)
            .chain(self.named())
            .collect();
        let missing = |list: &Option<Vec<TicketScore>>| -> Vec<i64> {
            let Some(list) = list else {
                return Vec::new();
            };
            let known: HashSet<i64> = list.iter().map(|ticket| ticket.ticket_id).collect();
            all.difference(&known).copied().collect()
        };
        let absent = [missing(near), missing(worded), missing(passages)];
        let (dense, lexical) = (self.dense(), self.lexical());
        let connections = work.connections;
        let by_vectors = async {
            match &dense {
                Some(dense) => {
                    let found = dense.of_tickets(connections.first(), &absent[0], 1).await?;
                    Ok(best_of_tickets(&found))
                }
                None => Ok(Vec::new()),
            }
        };
        let by_words = lexical.tickets(connections.second(), absent[1].len(), Some(&absent[1]));
        let by_chunks = lexical.tickets_by_chunk(connections.third(), absent[2].len(), &absent[2]);
        let (more_near, more_worded, more_passages) =
            tokio::try_join!(by_vectors, by_words, by_chunks)?;
        for (list, more) in [
            (near, more_near),
            (worded, more_worded),
            (passages, more_passages),
        ] {
            if let Some(list) = list {
                list.extend(more);
                sort_tickets(list);
            }
        }
        Ok(())
    }
}

/// A ticket is as near as its nearest chunk.
fn best_of_tickets(chunks: &[ChunkScore]) -> Vec<TicketScore> {
    let mut seen = HashSet::new();
    let best = chunks.iter().filter(|chunk| seen.insert(chunk.ticket_id));
    best.map(|chunk| TicketScore {
        ticket_id: chunk.ticket_id,
        score: chunk.score,
    })
    .collect()
}

fn pairs(tickets: &[TicketScore]) -> Vec<(i64, f64)> {
    tickets
        .iter()
        .map(|ticket| (ticket.ticket_id, ticket.score))
        .collect()
}
