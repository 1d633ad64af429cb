//! Recall by vectors.
//!
//! An index walk that drops what a filter refuses may end before it has enough
//! rows; comparing one by one never does, and is as fast where few chunks are
//! left. So the filter's rows are counted, up to a bound, and that decides.

use super::{ChunkScore, sort_chunks};
use crate::{
    SearchError,
    filters::Conditions,
    sql::{Statement, Value, Values},
};
use deadpool_postgres::Client;
use pgvector::Vector;
use std::collections::HashSet;
use whence_contract::ModelId;

/// A model's table of vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Vectors {
    table: String,
    kind: String,
    dims: i32,
}

impl Vectors {
    /// The table of `model`; `None` where it was never set up.
    pub(crate) async fn of(client: &Client, model: &ModelId) -> Result<Option<Self>, SearchError> {
        let failed = |error| SearchError::postgres("looking up the model", error);
        let sql = "SELECT slug, type, dims FROM models WHERE model = $1";
        let statement = client.prepare_cached(sql).await.map_err(failed)?;
        let row = client
            .query_opt(&statement, &[&model.0])
            .await
            .map_err(failed)?;
        Ok(row.map(|row| Self {
            table: format!("vectors_{}", row.get::<_, String>(0)),
            kind: row.get(1),
            dims: row.get(2),
        }))
    }

    /// Whether a vector fits.
    pub(crate) fn takes(&self, vector: &[f32]) -> bool {
        usize::try_from(self.dims).is_ok_and(|dims| dims == vector.len())
    }

    /// The operand of a distance.
    fn operand(&self, vector: &[f32], values: &mut Values) -> String {
        let place = values.bind(Value::Vector(Vector::from(vector.to_vec())));
        match self.kind.as_str() {
            "halfvec" => format!("{place}::public.vector::public.halfvec({})", self.dims),
            _ => format!("{place}::public.vector"),
        }
    }

    fn statement(
        &self,
        vector: &[f32],
        conditions: &Conditions,
        limit: usize,
        path: Path,
    ) -> Statement {
        let mut values = Values::default();
        let operand = self.operand(vector, &mut values);
        let table = &self.table;
        let distance = format!("v.embedding OPERATOR(public.<=>) {operand}");
        let filter = conditions.on_chunk_sql(&mut values);
        let limit = values.bind(Value::Big(as_i64(limit)));
        let sql = match path {
            // The order comes from the vectors alone, by their index; each then finds
            // its chunks, until there are enough. Left to itself, the planner joins
            // all chunks first: it takes the two columns of the join for independent
            // and expects hardly a row.
            Path::Index { reach } => {
                let reach = values.bind(Value::Big(as_i64(reach)));
                format!(
                    "SELECT v.ticket_id, c.seq, 1 - v.distance AS score FROM ( \
                       SELECT v.ticket_id, v.text_hash, {distance} AS distance FROM {table} v \
                       ORDER BY {distance} LIMIT {reach}) AS v \
                     CROSS JOIN LATERAL (SELECT c.seq FROM chunks c \
                       JOIN tickets t ON t.ticket_id = c.ticket_id \
                       WHERE c.ticket_id = v.ticket_id AND c.text_hash = v.text_hash{filter} \
                       OFFSET 0) AS c \
                     LIMIT {limit}"
                )
            }
            // The sum keeps the planner from the index.
            Path::Exact => format!(
                "SELECT c.ticket_id, c.seq, 1 - ({distance}) AS score \
                 FROM chunks c JOIN tickets t ON t.ticket_id = c.ticket_id \
                 JOIN {table} v ON c.ticket_id = v.ticket_id AND c.text_hash = v.text_hash \
                 WHERE true{filter} ORDER BY ({distance}) + 0, c.ticket_id, c.seq LIMIT {limit}"
            ),
        };
        Statement { sql, values }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Path {
    /// Walks at most `reach` vectors. The planner weighs the walk against looking
    /// at all by this number; without it, it expects a walk over everything.
    Index {
        reach: usize,
    },
    Exact,
}

/// What to look for.
pub(crate) struct Dense<'a> {
    pub(crate) vectors: &'a Vectors,
    pub(crate) vector: &'a [f32],
    pub(crate) conditions: &'a Conditions,
    pub(crate) exact_below: usize,
    /// Chunks of all tickets, as last counted.
    pub(crate) chunks: f64,
}

impl Dense<'_> {
    /// The `limit` nearest chunks, best first; fewer only where there are no more.
    pub(crate) async fn chunks(
        &self,
        client: &Client,
        limit: usize,
    ) -> Result<Vec<ChunkScore>, SearchError> {
        let path = self.path(client, limit).await?;
        if path != Path::Exact {
            let found = self.run(client, limit, path).await?;
            if found.len() >= limit {
                return Ok(found);
            }
            // The walk ended early, or there is no more: only looking at all tells.
        }
        self.run(client, limit, Path::Exact).await
    }

    /// The nearest chunks of at least `tickets` tickets, best first; chunks of
    /// one long ticket do not crowd out the others.
    pub(crate) async fn chunks_of_tickets(
        &self,
        client: &Client,
        tickets: usize,
    ) -> Result<Vec<ChunkScore>, SearchError> {
        let mut limit = tickets.saturating_mul(2);
        loop {
            let found = self.chunks(client, limit).await?;
            let distinct = found
                .iter()
                .map(|chunk| chunk.ticket_id)
                .collect::<HashSet<_>>()
                .len();
            if distinct >= tickets || found.len() < limit {
                return Ok(found);
            }
            limit = limit.saturating_mul(4);
        }
    }

    /// The best `each` chunks of each of `tickets`, compared one by one.
    pub(crate) async fn of_tickets(
        &self,
        client: &Client,
        tickets: &[i64],
        each: usize,
    ) -> Result<Vec<ChunkScore>, SearchError> {
        if tickets.is_empty() {
            return Ok(Vec::new());
        }
        let mut values = Values::default();
        let operand = self.vectors.operand(self.vector, &mut values);
        let ids = values.bind(Value::Bigs(tickets.to_vec()));
        let filter = self.conditions.on_chunk_sql(&mut values);
        let each = values.bind(Value::Big(as_i64(each)));
        let table = &self.vectors.table;
        let sql = format!(
            "SELECT ticket_id, seq, score FROM ( \
               SELECT c.ticket_id, c.seq, 1 - (v.embedding OPERATOR(public.<=>) {operand}) AS score, \
                      row_number() OVER (PARTITION BY c.ticket_id ORDER BY \
                        v.embedding OPERATOR(public.<=>) {operand}, c.seq) AS place \
               FROM chunks c JOIN tickets t ON t.ticket_id = c.ticket_id \
               JOIN {table} v ON c.ticket_id = v.ticket_id AND c.text_hash = v.text_hash \
               WHERE c.ticket_id = ANY({ids}){filter}) AS r WHERE place <= {each}"
        );
        read(client, &Statement { sql, values }).await
    }

    async fn run(
        &self,
        client: &Client,
        limit: usize,
        path: Path,
    ) -> Result<Vec<ChunkScore>, SearchError> {
        let statement = self
            .vectors
            .statement(self.vector, self.conditions, limit, path);
        read(client, &statement).await
    }

    async fn path(&self, client: &Client, limit: usize) -> Result<Path, SearchError> {
        // Some vectors are of chunks that may not be seen.
        let near = limit.saturating_mul(2);
        #[expect(clippy::cast_precision_loss, reason = "a bound, far below 2^52")]
        let bound = self.exact_below as f64;
        if self.chunks <= bound {
            return Ok(Path::Exact);
        }
        if self.conditions.is_empty() {
            return Ok(Path::Index { reach: near });
        }
        let mut values = Values::default();
        let filter = self.conditions.on_chunk_sql(&mut values);
        let limit = values.bind(Value::Big(as_i64(self.exact_below) + 1));
        let sql = format!(
            "SELECT count(*) FROM (SELECT FROM chunks c JOIN tickets t USING (ticket_id) \
             WHERE true{filter} LIMIT {limit}) AS r"
        );
        let rows = Statement { sql, values }
            .rows(client)
            .await
            .map_err(|error| SearchError::postgres("estimating the filter", error))?;
        let count: i64 = rows.first().map_or(0, |row| row.get(0));
        Ok(if count <= as_i64(self.exact_below) {
            Path::Exact
        } else {
            // More than `exact_below` pass: one in so many, at worst.
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a count of rows"
            )]
            let one_in = (self.chunks / bound.max(1.0)).ceil() as usize;
            Path::Index {
                reach: near.saturating_mul(one_in.max(1)),
            }
        })
    }
}

async fn read(client: &Client, statement: &Statement) -> Result<Vec<ChunkScore>, SearchError> {
    let rows = statement
        .rows(client)
        .await
        .map_err(|error| SearchError::postgres("searching by vectors", error))?;
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

fn as_i64(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
