//! The two legs. Each finds its own candidates, with all filters inside.

pub(crate) mod dense;
pub(crate) mod lexical;

/// A chunk that a leg found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct ChunkScore {
    pub(crate) ticket_id: i64,
    pub(crate) seq: i32,
    pub(crate) score: f64,
}

/// A ticket that a leg found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct TicketScore {
    pub(crate) ticket_id: i64,
    pub(crate) score: f64,
}

/// Best first; equal scores in the order of keys, so that an answer is stable.
pub(crate) fn sort_chunks(chunks: &mut [ChunkScore]) {
    chunks.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then((a.ticket_id, a.seq).cmp(&(b.ticket_id, b.seq)))
    });
}

/// Best first; equal scores in the order of keys.
pub(crate) fn sort_tickets(tickets: &mut [TicketScore]) {
    tickets.sort_by(|a, b| {
        b.score
            .total_cmp(&a.score)
            .then(a.ticket_id.cmp(&b.ticket_id))
    });
}
