//! One ticket, whole.

use super::{
    LookupService, TicketSummary,
    links::{self, Links, Subject},
    prose::Prose,
    resolve::resolve,
    snapshot,
    summary::SUMMARY,
    visibility,
};
use crate::{Filters, SearchError, filters::Conditions};
use deadpool_postgres::{GenericClient, Transaction};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::HashMap;
use tokio_postgres::types::{Json, ToSql};
use whence_contract::Timestamp;

/// A ticket as it is stored, but for what may not be seen.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct TicketView {
    /// What lists say of it.
    #[serde(flatten)]
    pub summary: TicketSummary,
    /// Former ids, which still find it.
    pub aliases: Vec<String>,
    /// The system's milestone.
    pub milestone: Option<String>,
    /// `public`, `internal`, `confidential`.
    pub visibility: String,
    /// The labels with what the system says of them.
    pub label_details: Vec<LabelView>,
    /// When this state was written here.
    pub indexed_at: Timestamp,
    /// Fields of this system that have no place of their own.
    pub meta: Map<String, Value>,
    /// The prose, in reading order.
    pub units: Vec<UnitView>,
    /// Changed files of a merge request.
    pub files: Vec<FileView>,
    /// What happened, without prose; in upstream's order.
    pub events: Vec<EventView>,
    /// Ties that the system states.
    pub links: Links,
    /// Ties that texts make by naming a ticket.
    pub mentions: Links,
    /// Notes that were put beside it, in their order.
    pub local_notes: Vec<UnitView>,
}

/// One piece of prose by one author.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct UnitView {
    /// `description`, `comment`, `review`, `review-comment`, `finding`.
    pub kind: String,
    /// The system's id of it.
    pub upstream_id: Option<String>,
    /// Absent where the account is gone.
    pub author: Option<String>,
    /// Upstream's time of creation.
    pub created_at: Option<Timestamp>,
    /// Upstream's time of the last change.
    pub updated_at: Option<Timestamp>,
    /// `public`, `internal`, `confidential`.
    pub visibility: String,
    /// The place a person opens, where it has one of its own.
    pub url: Option<String>,
    /// A review's verdict.
    pub verdict: Option<String>,
    /// The file that a review comment stands at.
    pub path: Option<String>,
    /// Markdown without code, which a sentence names instead. Text from upstream
    /// is data: it may say anything.
    pub text: String,
}

/// A label with what the system says of it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LabelView {
    /// As shown upstream.
    pub name: String,
    /// As upstream spells it.
    pub color: Option<String>,
    /// Free text.
    pub description: Option<String>,
}

/// A file that a merge request changes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FileView {
    /// Path before.
    pub old_path: String,
    /// Path after.
    pub new_path: String,
    /// It was created.
    pub new_file: bool,
    /// It was deleted.
    pub deleted_file: bool,
    /// It was renamed.
    pub renamed_file: bool,
}

/// Something happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EventView {
    /// Such as `closed`, `labeled`, `merged`.
    pub kind: String,
    /// Who did it.
    #[serde(default)]
    pub actor: Option<String>,
    /// When.
    #[serde(default)]
    pub at: Option<Timestamp>,
    /// The system's own words.
    #[serde(default)]
    pub text: Option<String>,
}

impl LookupService {
    /// The ticket that `name` means: an id as people write it, a former one, an
    /// address. Of `filters` only the visibility counts.
    ///
    /// # Errors
    /// `not_found` where there is none that may be seen, and what Postgres says.
    pub async fn ticket(&self, name: &str, filters: &Filters) -> Result<TicketView, SearchError> {
        let level = Conditions::of(filters).visibility;
        self.with(async |client| {
            let at = snapshot(client).await?;
            let Some(ticket_id) = resolve(&at, name, level).await? else {
                return Err(SearchError::new(
                    "not_found",
                    404,
                    format!("no ticket is called {name:?}"),
                    "write it as its system does (owner/repo#7, group/project!3, PROJ-12), or \
                     search for it",
                ));
            };
            view(&at, ticket_id, level).await
        })
        .await
    }
}

fn failed(error: tokio_postgres::Error) -> SearchError {
    SearchError::postgres("reading the ticket", error)
}

async fn view(at: &Transaction<'_>, ticket_id: i64, level: i16) -> Result<TicketView, SearchError> {
    let by: &[&(dyn ToSql + Sync)] = &[&ticket_id];
    let sql = format!(
        "SELECT {SUMMARY}, t.aliases, t.milestone, t.visibility, t.indexed_at, t.meta, t.events \
         FROM tickets t WHERE t.ticket_id = $1"
    );
    let statement = at.prepare_cached(&sql).await.map_err(failed)?;
    let row = at.query_one(&statement, by).await.map_err(failed)?;
    let summary = TicketSummary::of(&row);
    let aliases: Vec<String> = row.get("aliases");
    let names: Vec<String> = std::iter::once(summary.id.clone())
        .chain(aliases.iter().cloned())
        .collect();
    let subject = Subject {
        ticket_id,
        names: &names,
        level,
    };
    let own: i16 = row.get("visibility");
    let Json(meta): Json<Map<String, Value>> = row.get("meta");
    let Json(events): Json<Vec<EventView>> = row.get("events");
    Ok(TicketView {
        label_details: labels(at, by).await?,
        milestone: row.get("milestone"),
        visibility: visibility(own).to_owned(),
        indexed_at: row.get("indexed_at"),
        meta,
        units: units(at, ticket_id, level).await?,
        files: files(at, by).await?,
        events,
        links: links::stated(at, &subject).await?,
        mentions: links::mentions(at, &subject).await?,
        local_notes: match summary.provenance == "local" {
            // They are what is shown.
            true => Vec::new(),
            false => local_notes(at, &summary.source, &names, level).await?,
        },
        summary,
        aliases,
    })
}

async fn labels(
    at: &Transaction<'_>,
    by: &[&(dyn ToSql + Sync)],
) -> Result<Vec<LabelView>, SearchError> {
    let sql = "SELECT name, color, description FROM ticket_labels WHERE ticket_id = $1 \
               ORDER BY place";
    let statement = at.prepare_cached(sql).await.map_err(failed)?;
    let rows = at.query(&statement, by).await.map_err(failed)?;
    let label = |row: &tokio_postgres::Row| LabelView {
        name: row.get(0),
        color: row.get(1),
        description: row.get(2),
    };
    Ok(rows.iter().map(label).collect())
}

async fn files(
    at: &Transaction<'_>,
    by: &[&(dyn ToSql + Sync)],
) -> Result<Vec<FileView>, SearchError> {
    let sql = "SELECT old_path, new_path, new_file, deleted_file, renamed_file \
               FROM ticket_files WHERE ticket_id = $1 ORDER BY place";
    let statement = at.prepare_cached(sql).await.map_err(failed)?;
    let rows = at.query(&statement, by).await.map_err(failed)?;
    let file = |row: &tokio_postgres::Row| FileView {
        old_path: row.get(0),
        new_path: row.get(1),
        new_file: row.get(2),
        deleted_file: row.get(3),
        renamed_file: row.get(4),
    };
    Ok(rows.iter().map(file).collect())
}

async fn units(
    at: &Transaction<'_>,
    ticket_id: i64,
    level: i16,
) -> Result<Vec<UnitView>, SearchError> {
    let sql = "SELECT unit, heading_path, text, prefix_len FROM chunks \
               WHERE ticket_id = $1 AND visibility <= $2 ORDER BY unit, seq";
    let statement = at.prepare_cached(sql).await.map_err(failed)?;
    let rows = at.query(&statement, &[&ticket_id, &level]).await;
    let mut prose: HashMap<i32, Prose> = HashMap::new();
    for row in rows.map_err(failed)? {
        let headings: Vec<String> = row.get(1);
        let prefix = usize::try_from(row.get::<_, i32>(3)).unwrap_or_default();
        let of = prose.entry(row.get(0)).or_default();
        of.push(&headings, row.get(2), prefix);
    }
    let sql = "SELECT unit, kind, upstream_id, author, created_at, updated_at, visibility, url, \
                      verdict, path FROM units \
               WHERE ticket_id = $1 AND visibility <= $2 ORDER BY unit";
    let statement = at.prepare_cached(sql).await.map_err(failed)?;
    let rows = at.query(&statement, &[&ticket_id, &level]).await;
    let unit = |row: &tokio_postgres::Row| UnitView {
        kind: row.get("kind"),
        upstream_id: row.get("upstream_id"),
        author: row.get("author"),
        created_at: row.get("created_at"),
        updated_at: row.get("updated_at"),
        visibility: visibility(row.get("visibility")).to_owned(),
        url: row.get("url"),
        verdict: row.get("verdict"),
        path: row.get("path"),
        text: prose
            .remove(&row.get("unit"))
            .unwrap_or_default()
            .into_text(),
    };
    Ok(rows.map_err(failed)?.iter().map(unit).collect())
}

/// The notes beside a ticket lie under the id that it had when they were pushed.
async fn local_notes(
    at: &Transaction<'_>,
    source: &str,
    names: &[String],
    level: i16,
) -> Result<Vec<UnitView>, SearchError> {
    let sql = "SELECT ticket_id FROM tickets \
               WHERE provenance = 'local' AND source = $1 AND visibility <= $3 \
               AND lower(id) = ANY(SELECT lower(n) FROM unnest($2::text[]) n) ORDER BY ticket_id";
    let statement = at.prepare_cached(sql).await.map_err(failed)?;
    let rows = at.query(&statement, &[&source, &names, &level]).await;
    let mut notes = Vec::new();
    for row in rows.map_err(failed)? {
        notes.extend(units(at, row.get(0), level).await?);
    }
    Ok(notes)
}
