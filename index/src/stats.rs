//! How much of what is in the tables.

use crate::IndexError;
use deadpool_postgres::GenericClient;
use serde::Serialize;

/// Counts and sizes. Every list is sorted by its names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Stats {
    /// Tickets by source, project, provenance and kind.
    pub tickets: Vec<TicketCount>,
    /// Units by the ticket's kind and the unit's.
    pub units: Vec<UnitCount>,
    /// Chunks of all tickets.
    pub chunks: i64,
    /// Lexical postings.
    pub postings: i64,
    /// Deletions that are remembered.
    pub tombstones: i64,
    /// Vectors of each model.
    pub vectors: Vec<VectorCount>,
    /// Tables with their indexes.
    pub sizes: Vec<TableSize>,
}

/// Tickets of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TicketCount {
    /// Kind of system.
    pub source: String,
    /// Repository, project, team or wiki.
    pub project: String,
    /// Which path owns the rows.
    pub provenance: String,
    /// Kind of ticket.
    pub kind: String,
    /// How many.
    pub tickets: i64,
    /// Their chunks.
    pub chunks: i64,
}

/// Units of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnitCount {
    /// Kind of system.
    pub source: String,
    /// Repository, project, team or wiki.
    pub project: String,
    /// Which path owns the rows.
    pub provenance: String,
    /// Kind of the ticket.
    pub ticket_kind: String,
    /// Kind of the unit.
    pub kind: String,
    /// How many, empty ones included.
    pub units: i64,
}

/// One model's vectors.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VectorCount {
    /// The model's identity.
    pub model: String,
    /// Whether searches use it.
    pub active: bool,
    /// Dimensions.
    pub dims: i32,
    /// How many vectors.
    pub vectors: i64,
    /// How many tickets have theirs.
    pub tickets: i64,
}

/// One table on disk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableSize {
    /// Its name.
    pub table: String,
    /// Bytes of rows, those stored aside included.
    pub bytes: i64,
    /// Bytes of its indexes.
    pub index_bytes: i64,
}

/// Counts exactly; takes a moment on a large database.
///
/// # Errors
/// When the tables cannot be read.
pub async fn stats(client: &impl GenericClient) -> Result<Stats, IndexError> {
    let failed = |error| IndexError::postgres("counting rows", error);
    let mut stats = Stats::default();
    let sql = "SELECT source, project, provenance, kind, count(*), sum(chunk_count)::bigint
               FROM tickets GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4";
    for row in client.query(sql, &[]).await.map_err(failed)? {
        stats.tickets.push(TicketCount {
            source: row.get(0),
            project: row.get(1),
            provenance: row.get(2),
            kind: row.get(3),
            tickets: row.get(4),
            chunks: row.get(5),
        });
    }
    let sql = "SELECT t.source, t.project, t.provenance, t.kind, u.kind, count(*)
               FROM units u JOIN tickets t USING (ticket_id)
               GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5";
    for row in client.query(sql, &[]).await.map_err(failed)? {
        stats.units.push(UnitCount {
            source: row.get(0),
            project: row.get(1),
            provenance: row.get(2),
            ticket_kind: row.get(3),
            kind: row.get(4),
            units: row.get(5),
        });
    }
    let sql = "SELECT (SELECT count(*) FROM chunks), (SELECT count(*) FROM postings),
                      (SELECT count(*) FROM tombstones)";
    let row = client.query_one(sql, &[]).await.map_err(failed)?;
    (stats.chunks, stats.postings, stats.tombstones) = (row.get(0), row.get(1), row.get(2));

    let models = "SELECT model, active, dims, slug, (SELECT count(*) FROM model_tickets r
                  WHERE r.model_id = m.model_id) FROM models m ORDER BY model";
    for row in client.query(models, &[]).await.map_err(failed)? {
        let slug: String = row.get(3);
        let sql = format!("SELECT count(*) FROM vectors_{slug}");
        stats.vectors.push(VectorCount {
            model: row.get(0),
            active: row.get(1),
            dims: row.get(2),
            vectors: client.query_one(&sql, &[]).await.map_err(failed)?.get(0),
            tickets: row.get(4),
        });
    }
    for row in client.query(SIZES, &[]).await.map_err(failed)? {
        stats.sizes.push(TableSize {
            table: row.get(0),
            bytes: row.get(1),
            index_bytes: row.get(2),
        });
    }
    Ok(stats)
}

/// The tables of the schema that holds ours.
const SIZES: &str = "
    SELECT relname::text, pg_table_size(oid), pg_indexes_size(oid) FROM pg_class
    WHERE relkind = 'r'
      AND relnamespace = (SELECT relnamespace FROM pg_class WHERE oid = to_regclass('tickets'))
    ORDER BY relname";
