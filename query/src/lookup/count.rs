//! How many tickets pass the filters, by what.

use super::{LookupService, counted, cut};
use crate::{
    Filters, SearchError,
    filters::Conditions,
    sql::{Statement, Values},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What tickets are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CountBy {
    /// `issue`, `merge-request`, `note`, `local`.
    Kind,
    /// `open`, `closed`, `merged` or the system's own word.
    State,
    /// Repository, project, team or wiki.
    Project,
    /// The kind of system.
    Source,
    /// Who opened it.
    Author,
    /// A ticket counts for each of its labels.
    Label,
}

impl CountBy {
    /// The column, and what has to be joined for it.
    fn sql(self) -> (&'static str, &'static str) {
        match self {
            Self::Kind => ("t.kind", ""),
            Self::State => ("t.state", ""),
            Self::Project => ("t.project", ""),
            Self::Source => ("t.source", ""),
            Self::Author => ("t.author", ""),
            Self::Label => ("l.name", "LEFT JOIN ticket_labels l USING (ticket_id)"),
        }
    }
}

/// Tickets, counted.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Count {
    /// Tickets that pass the filters.
    pub total: u64,
    /// What they were counted by, where that was asked for.
    pub by: Option<CountBy>,
    /// The most frequent first; equal ones by value, those without one last.
    pub groups: Vec<CountGroup>,
    /// There are more groups than are shown.
    pub more: bool,
}

/// Tickets that have one value.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CountGroup {
    /// Absent: the tickets that have none.
    pub value: Option<String>,
    /// How many.
    pub tickets: u64,
}

impl LookupService {
    /// Counts what `filters` let pass, in at most `limit` groups.
    ///
    /// # Errors
    /// What Postgres says.
    pub async fn count(
        &self,
        filters: &Filters,
        by: Option<CountBy>,
        limit: u32,
    ) -> Result<Count, SearchError> {
        let mut values = Values::default();
        let filter = Conditions::of(filters).on_whole_ticket_sql(&mut values);
        let (column, join) = by.map_or(("NULL::text", ""), CountBy::sql);
        // One statement, so that the groups are of the tickets in the total.
        let sql = format!(
            "WITH passing AS MATERIALIZED (SELECT t.* FROM tickets t WHERE true{filter}), \
             grouped AS (SELECT {column} AS value, count(*) AS tickets \
                         FROM passing t {join} GROUP BY 1) \
             SELECT (SELECT count(*) FROM passing), value, tickets FROM grouped \
             ORDER BY tickets DESC, value COLLATE \"C\" NULLS LAST LIMIT {}",
            limit.saturating_add(1)
        );
        self.with(async |client| {
            let rows = Statement { sql, values }.rows(client).await;
            let mut rows = rows.map_err(|error| SearchError::postgres("counting", error))?;
            let total = rows.first().map_or(0, |row| counted(row.get(0)));
            if by.is_none() {
                rows.clear();
            }
            let more = cut(&mut rows, limit);
            let group = |row: &tokio_postgres::Row| CountGroup {
                value: row.get(1),
                tickets: counted(row.get(2)),
            };
            Ok(Count {
                total,
                by,
                groups: rows.iter().map(group).collect(),
                more,
            })
        })
        .await
    }
}
