//! The rows that are shown.

use crate::{
    Hit, HitChunk, SearchError,
    filters::Conditions,
    snippet::snippet,
    sql::{Statement, Value, Values},
};
use deadpool_postgres::Client;
use std::collections::HashMap;

/// A hit before its rows are read: a ticket, its chunks best first.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    pub(crate) ticket_id: i64,
    pub(crate) seqs: Vec<i32>,
}

/// How a chunk's text is cut.
pub(crate) struct Cut<'a> {
    pub(crate) words: &'a [String],
    pub(crate) chars: usize,
}

const TICKETS: &str = "
    SELECT t.ticket_id, t.id, t.title, t.kind, t.source, t.project, t.provenance, t.state, t.author,
           t.url, t.created_at, t.updated_at, t.indexed_at,
           ARRAY(SELECT l.name FROM ticket_labels l WHERE l.ticket_id = t.ticket_id ORDER BY l.place)
    FROM tickets t WHERE t.ticket_id = ANY($1)";

const CHUNKS: &str = "
    SELECT c.ticket_id, c.seq, c.kind, c.author, u.created_at, coalesce(u.url, t.url),
           c.heading_path, c.text, c.prefix_len
    FROM unnest($1::bigint[], $2::int[]) AS w(ticket_id, seq)
    JOIN chunks c USING (ticket_id, seq)
    JOIN units u ON u.ticket_id = c.ticket_id AND u.unit = c.unit
    JOIN tickets t ON t.ticket_id = c.ticket_id";

/// The hits in the order of `wanted`, without scores. What was deleted since it
/// was found is left out: `None`.
pub(crate) async fn fetch(
    client: &Client,
    wanted: &[Wanted],
    cut: &Cut<'_>,
) -> Result<Vec<Option<Hit>>, SearchError> {
    let failed = |error| SearchError::postgres("reading the hits", error);
    let ids: Vec<i64> = wanted.iter().map(|wanted| wanted.ticket_id).collect();
    let (mut of, mut seqs) = (Vec::new(), Vec::new());
    for wanted in wanted {
        for seq in &wanted.seqs {
            of.push(wanted.ticket_id);
            seqs.push(*seq);
        }
    }
    let tickets = client.prepare_cached(TICKETS).await.map_err(failed)?;
    let chunks = client.prepare_cached(CHUNKS).await.map_err(failed)?;
    let tickets = client.query(&tickets, &[&ids]).await.map_err(failed)?;
    let chunks = client.query(&chunks, &[&of, &seqs]).await.map_err(failed)?;

    let mut texts: HashMap<(i64, i32), HitChunk> = HashMap::new();
    for row in chunks {
        let text: &str = row.get(7);
        let prefix = usize::try_from(row.get::<_, i32>(8)).unwrap_or_default();
        let prose = text.get(prefix..).unwrap_or(text);
        let chunk = HitChunk {
            seq: row.get(1),
            kind: row.get(2),
            author: row.get(3),
            created_at: row.get(4),
            url: row.get(5),
            heading_path: row.get(6),
            snippet: snippet(prose, cut.words, cut.chars),
        };
        texts.insert((row.get(0), row.get(1)), chunk);
    }
    let mut found: HashMap<i64, Hit> = HashMap::new();
    for row in tickets {
        let hit = Hit {
            rank: 0,
            id: row.get(1),
            title: row.get(2),
            kind: row.get(3),
            source: row.get(4),
            project: row.get(5),
            provenance: row.get(6),
            state: row.get(7),
            author: row.get(8),
            url: row.get(9),
            labels: row.get(13),
            created_at: row.get(10),
            updated_at: row.get(11),
            indexed_at: row.get(12),
            score: 0.0,
            exact: false,
            legs: None,
            chunks: Vec::new(),
        };
        found.insert(row.get(0), hit);
    }
    let complete = |wanted: &Wanted| {
        let mut hit = found.get(&wanted.ticket_id)?.clone();
        let chunks = wanted
            .seqs
            .iter()
            .filter_map(|seq| texts.get(&(wanted.ticket_id, *seq)));
        hit.chunks = chunks.cloned().collect();
        Some(hit)
    };
    Ok(wanted.iter().map(complete).collect())
}

const PASSAGES: &str = "
    SELECT w.place, t.title, c.text, c.prefix_len
    FROM unnest($1::bigint[], $2::int[], $3::int[]) AS w(ticket_id, seq, place)
    JOIN chunks c USING (ticket_id, seq) JOIN tickets t USING (ticket_id)";

/// What a reranker reads of each of `wanted`, in its order: the ticket's title
/// and the text of its best chunk. Empty for what was deleted meanwhile.
pub(crate) async fn passages(
    client: &Client,
    wanted: &[Wanted],
) -> Result<Vec<String>, SearchError> {
    let failed = |error| SearchError::postgres("reading the candidates", error);
    let (mut of, mut seqs, mut places) = (Vec::new(), Vec::new(), Vec::new());
    for (place, wanted) in wanted.iter().enumerate() {
        if let (Some(seq), Ok(place)) = (wanted.seqs.first(), i32::try_from(place)) {
            of.push(wanted.ticket_id);
            seqs.push(*seq);
            places.push(place);
        }
    }
    let statement = client.prepare_cached(PASSAGES).await.map_err(failed)?;
    let rows = client
        .query(&statement, &[&of, &seqs, &places])
        .await
        .map_err(failed)?;
    let mut texts = vec![String::new(); wanted.len()];
    for row in rows {
        let (title, text): (&str, &str) = (row.get(1), row.get(2));
        let place = usize::try_from(row.get::<_, i32>(0)).ok();
        let prefix = usize::try_from(row.get::<_, i32>(3)).unwrap_or_default();
        let prose = text.get(prefix..).unwrap_or(text);
        if let Some(slot) = place.and_then(|place| texts.get_mut(place)) {
            *slot = format!("{title}\n\n{prose}");
        }
    }
    Ok(texts)
}

/// The first chunk of each ticket that may be seen.
pub(crate) async fn first_chunks(
    client: &Client,
    tickets: &[i64],
    conditions: &Conditions,
) -> Result<Vec<(i64, Vec<i32>)>, SearchError> {
    if tickets.is_empty() {
        return Ok(Vec::new());
    }
    let mut values = Values::default();
    let ids = values.bind(Value::Bigs(tickets.to_vec()));
    let filter = conditions.on_chunk_sql(&mut values);
    let sql = format!(
        "SELECT c.ticket_id, min(c.seq) FROM chunks c JOIN tickets t USING (ticket_id) \
         WHERE c.ticket_id = ANY({ids}){filter} GROUP BY c.ticket_id"
    );
    let rows = Statement { sql, values }
        .rows(client)
        .await
        .map_err(|error| SearchError::postgres("reading the hits", error))?;
    Ok(rows
        .iter()
        .map(|row| (row.get(0), vec![row.get(1)]))
        .collect())
}
