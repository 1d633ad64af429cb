//! Files and how much was said on them.

use super::{LookupService, TicketSummary, counted, snapshot, summary::SUMMARY};
use crate::{
    Filters, SearchError,
    filters::Conditions,
    sql::{Statement, Value, Values},
};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use whence_contract::Timestamp;

/// How much tickets have to do with one file, under that name alone.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Hotspot {
    /// The path.
    pub file: String,
    /// Tickets that changed it or name it.
    pub tickets: u64,
    /// Tickets that changed it.
    pub changed: u64,
    /// Tickets whose text names it.
    pub named: u64,
    /// The same by kind of ticket, by name.
    pub kinds: Vec<HotspotKind>,
    /// The most recently changed of them.
    pub recent: Vec<TicketSummary>,
}

/// Tickets of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HotspotKind {
    /// `issue`, `merge-request`, `note`, `local`.
    pub kind: String,
    /// Tickets that changed the file or name it.
    pub tickets: u64,
    /// Tickets that changed it.
    pub changed: u64,
    /// Tickets whose text names it.
    pub named: u64,
}

/// The files with the most tickets.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Hotspots {
    /// The most tickets first; of equal ones, by path.
    pub files: Vec<TopFile>,
}

/// A file with many tickets.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TopFile {
    /// The path.
    pub file: String,
    /// Tickets that changed it or name it.
    pub tickets: u64,
    /// Tickets that changed it.
    pub changed: u64,
    /// Tickets whose text names it.
    pub named: u64,
    /// The projects of these tickets, by name.
    pub projects: Vec<String>,
    /// When the last of them changed upstream.
    pub updated_at: Option<Timestamp>,
}

fn failed(error: tokio_postgres::Error) -> SearchError {
    SearchError::postgres("counting the tickets of files", error)
}

impl LookupService {
    /// One file, with its `recent` last tickets.
    ///
    /// # Errors
    /// What Postgres says. Of a file that nothing speaks of, all counts are 0.
    pub async fn hotspot(
        &self,
        file: &str,
        filters: &Filters,
        recent: u32,
    ) -> Result<Hotspot, SearchError> {
        let conditions = Conditions::of(filters);
        let mut values = Values::default();
        let path = values.bind(Value::Text(file.to_owned()));
        let pattern = values.bind(Value::Jsons(vec![json!([{ "file": file }])]));
        let level = values.bind(Value::Small(conditions.visibility));
        let filter = conditions.on_whole_ticket_sql(&mut values);
        let of = format!(
            "WITH f AS ( \
               SELECT ticket_id, bool_or(changed) AS changed, bool_or(NOT changed) AS named FROM ( \
                 SELECT ticket_id, true AS changed FROM ticket_files WHERE new_path = {path} \
                 UNION ALL SELECT ticket_id, true FROM ticket_files WHERE old_path = {path} \
                 UNION ALL SELECT c.ticket_id, false FROM unnest({pattern}::jsonb[]) AS p(pattern) \
                   JOIN chunks c ON c.code_refs @> p.pattern AND c.visibility <= {level}) u \
               GROUP BY ticket_id)"
        );
        let kinds = Statement {
            sql: format!(
                "{of} SELECT t.kind, count(*), count(*) FILTER (WHERE f.changed), \
                             count(*) FILTER (WHERE f.named) \
                 FROM f JOIN tickets t USING (ticket_id) WHERE true{filter} \
                 GROUP BY t.kind ORDER BY t.kind"
            ),
            values: values.clone(),
        };
        let last = Statement {
            sql: format!(
                "{of} SELECT {SUMMARY} FROM f JOIN tickets t USING (ticket_id) WHERE true{filter} \
                 ORDER BY t.updated_at DESC NULLS LAST, t.ticket_id DESC LIMIT {recent}"
            ),
            values,
        };
        self.with(async |client| {
            let at = snapshot(client).await?;
            let kinds = kinds.rows(&at).await.map_err(failed)?;
            let kind = |row: &tokio_postgres::Row| HotspotKind {
                kind: row.get(0),
                tickets: counted(row.get(1)),
                changed: counted(row.get(2)),
                named: counted(row.get(3)),
            };
            let kinds: Vec<HotspotKind> = kinds.iter().map(kind).collect();
            let last = last.rows(&at).await.map_err(failed)?;
            Ok(Hotspot {
                file: file.to_owned(),
                tickets: kinds.iter().map(|kind| kind.tickets).sum(),
                changed: kinds.iter().map(|kind| kind.changed).sum(),
                named: kinds.iter().map(|kind| kind.named).sum(),
                kinds,
                recent: last.iter().map(TicketSummary::of).collect(),
            })
        })
        .await
    }

    /// The `limit` files with the most tickets. Reads every text's references.
    ///
    /// # Errors
    /// What Postgres says.
    pub async fn hotspots(&self, filters: &Filters, limit: u32) -> Result<Hotspots, SearchError> {
        let conditions = Conditions::of(filters);
        let mut values = Values::default();
        let level = values.bind(Value::Small(conditions.visibility));
        let filter = conditions.on_whole_ticket_sql(&mut values);
        let sql = format!(
            "WITH f AS ( \
               SELECT file, ticket_id, bool_or(changed) AS changed, bool_or(NOT changed) AS named \
               FROM (SELECT new_path AS file, ticket_id, true AS changed FROM ticket_files \
                     UNION ALL SELECT r ->> 'file', c.ticket_id, false \
                       FROM chunks c, jsonb_array_elements(c.code_refs) r \
                       WHERE c.code_refs <> '[]' AND c.visibility <= {level} AND r ? 'file') u \
               GROUP BY file, ticket_id) \
             SELECT f.file, count(*), count(*) FILTER (WHERE f.changed), \
                    count(*) FILTER (WHERE f.named), \
                    array_agg(DISTINCT t.project ORDER BY t.project), max(t.updated_at) \
             FROM f JOIN tickets t USING (ticket_id) WHERE true{filter} \
             GROUP BY f.file ORDER BY count(*) DESC, f.file COLLATE \"C\" LIMIT {limit}"
        );
        self.with(async |client| {
            let rows = Statement { sql, values }.rows(client).await;
            let file = |row: &tokio_postgres::Row| TopFile {
                file: row.get(0),
                tickets: counted(row.get(1)),
                changed: counted(row.get(2)),
                named: counted(row.get(3)),
                projects: row.get(4),
                updated_at: row.get(5),
            };
            let files = rows.map_err(failed)?.iter().map(file).collect();
            Ok(Hotspots { files })
        })
        .await
    }
}
