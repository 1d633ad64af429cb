//! Recall by words: BM25, exact, over tickets and over chunks.
//!
//! The score of a text is the sum over the question's terms of
//! `idf · tf · (k1 + 1) / (tf + k1 · (1 − b + b · len / average))` with
//! `idf = ln(1 + (N − df + 0.5) / (df + 0.5))`. `df` counts tickets that hold
//! the term in text the reader may see, whatever the filters: a filter then
//! takes hits away and never changes the others' order. Where a filter looks at
//! chunks, a ticket's frequencies are those of the chunks that pass.

use super::{ChunkScore, TicketScore, sort_chunks, sort_tickets};
use crate::{
    Bm25, SearchError,
    corpus::Corpus,
    filters::Conditions,
    sql::{Statement, Value, Values},
};
use deadpool_postgres::Client;

/// What to look for.
pub(crate) struct Lexical<'a> {
    /// Of the question, each once.
    pub(crate) terms: &'a [String],
    pub(crate) conditions: &'a Conditions,
    pub(crate) corpus: Corpus,
    pub(crate) ticket_bm25: Bm25,
    pub(crate) chunk_bm25: Bm25,
}

impl Lexical<'_> {
    /// The `limit` best tickets, best first; of these `within`, where given.
    pub(crate) async fn tickets(
        &self,
        client: &Client,
        limit: usize,
        within: Option<&[i64]>,
    ) -> Result<Vec<TicketScore>, SearchError> {
        if self.terms.is_empty() || within.is_some_and(<[i64]>::is_empty) {
            return Ok(Vec::new());
        }
        let rows = self
            .tickets_sql(limit, within)
            .rows(client)
            .await
            .map_err(failed)?;
        let mut tickets: Vec<TicketScore> = rows
            .iter()
            .map(|row| TicketScore {
                ticket_id: row.get(0),
                score: row.get(1),
            })
            .collect();
        sort_tickets(&mut tickets);
        Ok(tickets)
    }

    /// The `limit` best chunks, best first.
    pub(crate) async fn chunks(
        &self,
        client: &Client,
        limit: usize,
    ) -> Result<Vec<ChunkScore>, SearchError> {
        if self.terms.is_empty() {
            return Ok(Vec::new());
        }
        let mut values = Values::default();
        let scored = self.chunks_sql(&mut values, None);
        let limit = values.bind(big(limit));
        let sql = format!("{scored} ORDER BY score DESC, ticket_id, seq LIMIT {limit}");
        read(client, &Statement { sql, values }).await
    }

    /// The best `each` chunks of each of `tickets`.
    pub(crate) async fn of_tickets(
        &self,
        client: &Client,
        tickets: &[i64],
        each: usize,
    ) -> Result<Vec<ChunkScore>, SearchError> {
        if self.terms.is_empty() || tickets.is_empty() {
            return Ok(Vec::new());
        }
        let mut values = Values::default();
        let scored = self.chunks_sql(&mut values, Some(tickets));
        let each = values.bind(big(each));
        let sql = format!(
            "SELECT ticket_id, seq, score FROM (SELECT *, row_number() OVER \
             (PARTITION BY ticket_id ORDER BY score DESC, seq) AS place FROM ({scored}) AS s) AS r \
             WHERE place <= {each}"
        );
        read(client, &Statement { sql, values }).await
    }

    /// `w(term, idf)`.
    fn weights(&self, values: &mut Values) -> String {
        let terms = values.bind(Value::Texts(self.terms.to_vec()));
        let tickets = values.bind(Value::Float(self.seen(self.corpus.tickets)));
        let level = values.bind(Value::Small(self.conditions.visibility));
        // The count may be some seconds old; df is not.
        format!(
            "w AS MATERIALIZED ( \
               SELECT q.term, ln(1 + (greatest({tickets}, d.df) - d.df + 0.5) / (d.df + 0.5)) AS idf \
               FROM unnest({terms}::text[]) AS q(term) \
               CROSS JOIN LATERAL (SELECT count(DISTINCT p.ticket_id)::float8 AS df FROM postings p \
                 WHERE p.term = q.term AND p.visibility <= {level}) AS d \
               WHERE d.df > 0)"
        )
    }

    fn seen(&self, levels: [f64; 3]) -> f64 {
        let level = usize::try_from(self.conditions.visibility).unwrap_or_default();
        levels.get(level).copied().unwrap_or_default()
    }

    fn tickets_sql(&self, limit: usize, within: Option<&[i64]>) -> Statement {
        let mut values = Values::default();
        let weights = self.weights(&mut values);
        let level = values.bind(Value::Small(self.conditions.visibility));
        let within = match within {
            Some(ids) => format!(
                " AND p.ticket_id = ANY({})",
                values.bind(Value::Bigs(ids.to_vec()))
            ),
            None => String::new(),
        };
        let column = self.conditions.visibility + 1;
        let matched = if self.conditions.on_chunks() {
            let filter = self.conditions.on_chunk_sql(&mut values);
            format!(
                "SELECT w.term, w.idf, p.ticket_id, sum(h.tf)::float8 AS tf, \
                        t.lexical_len[{column}]::float8 AS len \
                 FROM w JOIN postings p ON p.term = w.term AND p.visibility <= {level}{within} \
                 CROSS JOIN LATERAL unnest(p.seqs, p.tfs) AS h(seq, tf) \
                 JOIN chunks c ON c.ticket_id = p.ticket_id AND c.seq = h.seq \
                 JOIN tickets t ON t.ticket_id = p.ticket_id \
                 WHERE true{filter} GROUP BY 1, 2, 3, t.lexical_len"
            )
        } else if self.conditions.visibility > 0 {
            let filter = self.conditions.on_ticket_sql(&mut values);
            format!(
                "SELECT w.term, w.idf, p.ticket_id, sum(p.tf)::float8 AS tf, \
                        t.lexical_len[{column}]::float8 AS len \
                 FROM w JOIN postings p ON p.term = w.term AND p.visibility <= {level}{within} \
                 JOIN tickets t ON t.ticket_id = p.ticket_id \
                 WHERE true{filter} GROUP BY 1, 2, 3, t.lexical_len"
            )
        } else {
            // One row for each term and ticket, and all that is needed in it.
            let filter = self.conditions.on_ticket_sql(&mut values);
            let join = if filter.is_empty() {
                ""
            } else {
                " JOIN tickets t ON t.ticket_id = p.ticket_id"
            };
            format!(
                "SELECT w.term, w.idf, p.ticket_id, p.tf::float8 AS tf, p.len::float8 AS len \
                 FROM w JOIN postings p ON p.term = w.term AND p.visibility <= {level}{within}{join} \
                 WHERE true{filter}"
            )
        };
        let average = self.seen(self.corpus.ticket_len);
        let score = formula(self.ticket_bm25, average, &mut values);
        let limit = values.bind(big(limit));
        let sql = format!(
            "WITH {weights}, m AS ({matched}) SELECT m.ticket_id, sum({score}) AS score FROM m \
             GROUP BY m.ticket_id ORDER BY score DESC, m.ticket_id LIMIT {limit}"
        );
        Statement { sql, values }
    }

    /// A chunk may hold a term in one posting only, so nothing is summed first.
    fn chunks_sql(&self, values: &mut Values, tickets: Option<&[i64]>) -> String {
        let weights = self.weights(values);
        let level = values.bind(Value::Small(self.conditions.visibility));
        let within = match tickets {
            Some(ids) => format!(
                " AND p.ticket_id = ANY({})",
                values.bind(Value::Bigs(ids.to_vec()))
            ),
            None => String::new(),
        };
        let filter = self.conditions.on_chunk_sql(values);
        let score = formula(self.chunk_bm25, self.corpus.chunk_len, values);
        format!(
            "WITH {weights}, m AS (SELECT w.idf, c.ticket_id, c.seq, h.tf::float8 AS tf, \
                                          c.lexical_len::float8 AS len \
               FROM w JOIN postings p ON p.term = w.term AND p.visibility <= {level}{within} \
               CROSS JOIN LATERAL unnest(p.seqs, p.tfs) AS h(seq, tf) \
               JOIN chunks c ON c.ticket_id = p.ticket_id AND c.seq = h.seq \
               JOIN tickets t ON t.ticket_id = p.ticket_id WHERE true{filter}) \
             SELECT m.ticket_id, m.seq, sum({score}) AS score FROM m GROUP BY 1, 2"
        )
    }
}

/// One term's part of a score, over `m(idf, tf, len)`.
fn formula(bm25: Bm25, average: f64, values: &mut Values) -> String {
    let Bm25 { k1, b } = bm25;
    // Without any text there is nothing to divide by, and nothing to find.
    let average = if average > 0.0 { average } else { 1.0 };
    let gain = values.bind(Value::Float(k1 + 1.0));
    let flat = values.bind(Value::Float(k1 * (1.0 - b)));
    let slope = values.bind(Value::Float(k1 * b / average));
    format!("m.idf * m.tf * {gain} / (m.tf + {flat} + {slope} * m.len)")
}

async fn read(client: &Client, statement: &Statement) -> Result<Vec<ChunkScore>, SearchError> {
    let rows = statement.rows(client).await.map_err(failed)?;
    let mut chunks: Vec<ChunkScore> = rows
        .iter()
        .map(|row| ChunkScore {
            ticket_id: row.get(0),
            seq: row.get(1),
            score: row.get(2),
        })
        .collect();
    sort_chunks(&mut chunks);
    Ok(chunks)
}

fn failed(error: tokio_postgres::Error) -> SearchError {
    SearchError::postgres("searching by words", error)
}

fn big(count: usize) -> Value {
    Value::Big(i64::try_from(count).unwrap_or(i64::MAX))
}
