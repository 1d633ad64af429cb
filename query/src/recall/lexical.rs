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

/// The question's terms that the corpus holds, with what each tells.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Weights {
    terms: Vec<String>,
    idf: Vec<f64>,
    /// The sum over all terms of the question, unknown ones included.
    sum: f64,
}

impl Weights {
    /// Looks up how many tickets hold each of `terms`; keeps the `most` that
    /// tell most.
    pub(crate) async fn of(
        client: &Client,
        terms: &[String],
        corpus: &Corpus,
        visibility: i16,
        most: usize,
    ) -> Result<Self, SearchError> {
        if terms.is_empty() {
            return Ok(Self::default());
        }
        let mut values = Values::default();
        let asked = values.bind(Value::Texts(terms.to_vec()));
        let level = values.bind(Value::Small(visibility));
        let sql = format!(
            "SELECT q.term, d.df FROM unnest({asked}::text[]) AS q(term) \
             CROSS JOIN LATERAL (SELECT count(DISTINCT p.ticket_id)::float8 AS df FROM postings p \
               WHERE p.term = q.term AND p.visibility <= {level}) AS d"
        );
        let rows = Statement { sql, values }
            .rows(client)
            .await
            .map_err(failed)?;
        let tickets = seen(&corpus.tickets, visibility);
        let mut known: Vec<(String, f64)> = Vec::new();
        let mut unknown = Vec::new();
        for row in &rows {
            let df: f64 = row.get(1);
            // The count of tickets may be some seconds old; df is not.
            let tickets = tickets.max(df);
            let idf = ((tickets - df + 0.5) / (df + 0.5)).ln_1p();
            if df > 0.0 {
                known.push((row.get(0), idf));
            } else {
                unknown.push(idf);
            }
        }
        known.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        known.truncate(most);
        unknown.truncate(most - known.len());
        let sum = known.iter().map(|(_, idf)| idf).chain(&unknown).sum();
        let (terms, idf) = known.into_iter().unzip();
        Ok(Self { terms, idf, sum })
    }

    fn is_empty(&self) -> bool {
        self.terms.is_empty()
    }
}

/// Chunks are scored within so many of the best tickets: a ticket with one of the
/// best chunks is hardly ever below, and scoring the chunks of all would cost more
/// than all the rest of a search.
pub(crate) const WITH_CHUNKS: usize = 1000;

/// What to look for.
pub(crate) struct Lexical<'a> {
    pub(crate) weights: &'a Weights,
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
        if self.weights.is_empty() || within.is_some_and(<[i64]>::is_empty) {
            return Ok(Vec::new());
        }
        read_tickets(client, &self.tickets_sql(limit, within)).await
    }

    /// The `limit` of `tickets` with the best chunks, best first, scored by that
    /// chunk.
    pub(crate) async fn tickets_by_chunk(
        &self,
        client: &Client,
        limit: usize,
        tickets: &[i64],
    ) -> Result<Vec<TicketScore>, SearchError> {
        if self.weights.is_empty() || tickets.is_empty() {
            return Ok(Vec::new());
        }
        let mut values = Values::default();
        let scored = self.chunks_sql(&mut values, tickets);
        let limit = values.bind(big(limit));
        let sql = format!(
            "SELECT ticket_id, max(score) AS best FROM ({scored}) AS s GROUP BY 1 \
             ORDER BY best DESC, ticket_id LIMIT {limit}"
        );
        read_tickets(client, &Statement { sql, values }).await
    }

    /// The `limit` best chunks of `tickets`, best first.
    pub(crate) async fn chunks(
        &self,
        client: &Client,
        limit: usize,
        tickets: &[i64],
    ) -> Result<Vec<ChunkScore>, SearchError> {
        if self.weights.is_empty() || tickets.is_empty() {
            return Ok(Vec::new());
        }
        let mut values = Values::default();
        let scored = self.chunks_sql(&mut values, tickets);
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
        if self.weights.is_empty() || tickets.is_empty() {
            return Ok(Vec::new());
        }
        let mut values = Values::default();
        let scored = self.chunks_sql(&mut values, tickets);
        let each = values.bind(big(each));
        let sql = format!(
            "SELECT ticket_id, seq, score FROM (SELECT *, row_number() OVER \
             (PARTITION BY ticket_id ORDER BY score DESC, seq) AS place FROM ({scored}) AS s) AS r \
             WHERE place <= {each}"
        );
        read(client, &Statement { sql, values }).await
    }

    /// The highest score that a ticket could have for this question.
    pub(crate) fn attainable(&self) -> f64 {
        self.weights.sum * (self.ticket_bm25.k1 + 1.0)
    }

    /// `w(term, idf)`.
    fn weights(&self, values: &mut Values) -> String {
        let terms = values.bind(Value::Texts(self.weights.terms.clone()));
        let idf = values.bind(Value::Floats(self.weights.idf.clone()));
        format!(
            "w AS MATERIALIZED (SELECT * FROM unnest({terms}::text[], {idf}::float8[]) \
             AS w(term, idf))"
        )
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
        let average = seen(&self.corpus.ticket_len, self.conditions.visibility);
        let score = formula(self.ticket_bm25, average, &mut values);
        let limit = values.bind(big(limit));
        let sql = format!(
            "WITH {weights}, m AS ({matched}) SELECT m.ticket_id, sum({score}) AS score FROM m \
             GROUP BY m.ticket_id ORDER BY score DESC, m.ticket_id LIMIT {limit}"
        );
        Statement { sql, values }
    }

    /// A chunk may hold a term in one posting only, so nothing is summed first.
    fn chunks_sql(&self, values: &mut Values, tickets: &[i64]) -> String {
        let weights = self.weights(values);
        let level = values.bind(Value::Small(self.conditions.visibility));
        let within = values.bind(Value::Bigs(tickets.to_vec()));
        let filter = self.conditions.on_chunk_sql(values);
        let score = formula(self.chunk_bm25, self.corpus.chunk_len, values);
        format!(
            "WITH {weights}, m AS (SELECT w.idf, c.ticket_id, c.seq, h.tf::float8 AS tf, \
                                          c.lexical_len::float8 AS len \
               FROM w JOIN postings p ON p.term = w.term AND p.visibility <= {level} \
                 AND p.ticket_id = ANY({within}) \
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

/// Of figures by visibility, the one that the reader sees.
fn seen(levels: &[f64; 3], visibility: i16) -> f64 {
    let level = usize::try_from(visibility).unwrap_or_default();
    levels.get(level).copied().unwrap_or_default()
}

async fn read_tickets(
    client: &Client,
    statement: &Statement,
) -> Result<Vec<TicketScore>, SearchError> {
    let rows = statement.rows(client).await.map_err(failed)?;
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
