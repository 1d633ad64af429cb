//! How large the corpus is: counted anew after some seconds.
//!
//! BM25's number of documents and average length move little with one ticket,
//! and a term's document frequency, which may move a lot, is always exact.

use crate::SearchError;
use deadpool_postgres::Client;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// How long a count is used.
const FRESH: Duration = Duration::from_secs(5);

/// Counts that a search needs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Corpus {
    /// Tickets seen at visibility 0, 1, 2.
    pub(crate) tickets: [f64; 3],
    /// Their average lexical length at that visibility.
    pub(crate) ticket_len: [f64; 3],
    /// Chunks of all tickets.
    pub(crate) chunks: f64,
    /// Their average lexical length.
    pub(crate) chunk_len: f64,
}

#[derive(Debug, Default)]
pub(crate) struct CorpusCache(Mutex<Option<(Instant, Corpus)>>);

const COUNT: &str = "
    SELECT (count(*) FILTER (WHERE visibility = 0))::float8,
           (count(*) FILTER (WHERE visibility <= 1))::float8,
           count(*)::float8,
           coalesce(avg(lexical_len[1]) FILTER (WHERE visibility = 0), 0)::float8,
           coalesce(avg(lexical_len[2]) FILTER (WHERE visibility <= 1), 0)::float8,
           coalesce(avg(lexical_len[3]), 0)::float8,
           coalesce(sum(chunk_count), 0)::float8,
           coalesce(sum(chunks_len)::float8 / nullif(sum(chunk_count), 0), 0)::float8
    FROM tickets";

impl CorpusCache {
    /// The counts, at most [`FRESH`] old. Others wait while one counts.
    pub(crate) async fn get(&self, client: &Client) -> Result<Corpus, SearchError> {
        let mut cached = self.0.lock().await;
        if let Some((at, corpus)) = *cached
            && at.elapsed() < FRESH
        {
            return Ok(corpus);
        }
        let failed = |error| SearchError::postgres("counting the corpus", error);
        let statement = client.prepare_cached(COUNT).await.map_err(failed)?;
        let row = client.query_one(&statement, &[]).await.map_err(failed)?;
        let corpus = Corpus {
            tickets: [row.get(0), row.get(1), row.get(2)],
            ticket_len: [row.get(3), row.get(4), row.get(5)],
            chunks: row.get(6),
            chunk_len: row.get(7),
        };
        *cached = Some((Instant::now(), corpus));
        Ok(corpus)
    }
}
