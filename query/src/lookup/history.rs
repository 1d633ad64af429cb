//! The decision history of a file: tickets that changed it or name it, under
//! all the names it had.

use super::{LookupService, TicketSummary, cut, snapshot, summary::SUMMARY};
use crate::{
    Filters, SearchError,
    filters::Conditions,
    sql::{Statement, Value, Values},
};
use deadpool_postgres::Transaction;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use std::collections::{HashMap, HashSet};
use whence_contract::Timestamp;

/// So many renames in a row, and so many names, are followed.
const MOST_STEPS: usize = 20;
const MOST_NAMES: usize = 50;

/// A merge request that was given up renamed nothing.
const HAPPENED: &str = "t.state IS DISTINCT FROM 'closed'";

/// What tickets have to say on a file.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct FileHistory {
    /// The path that was asked for.
    pub path: String,
    /// It and all names that were followed: the earlier ones nearest first, then
    /// the later ones.
    pub names: Vec<Name>,
    /// The newest first.
    pub entries: Vec<HistoryEntry>,
    /// There are more entries than are shown.
    pub more: bool,
}

/// A name that the file had.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Name {
    /// The path.
    pub path: String,
    /// `asked`, `before` or `after` the one that was asked for.
    pub when: &'static str,
    /// In which project it was called so; absent for the one that was asked for.
    pub project: Option<String>,
    /// The ticket that renamed it.
    pub ticket: Option<String>,
}

/// A ticket in a file's history.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct HistoryEntry {
    /// When it was closed or merged; else created.
    pub at: Option<Timestamp>,
    /// How it relates, changes before mentions.
    pub relations: Vec<Relation>,
    /// The ticket.
    #[serde(flatten)]
    pub ticket: TicketSummary,
}

/// How a ticket relates to a file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
pub struct Relation {
    /// `added`, `changed`, `renamed`, `deleted`: the merge request did it;
    /// `named`: a text speaks of it.
    pub how: String,
    /// The name under which.
    pub path: String,
    /// The path before a rename.
    pub from: Option<String>,
    /// The place of the first text that names it.
    pub url: Option<String>,
}

/// A name with the projects it holds in, as it is compared.
#[derive(Clone, Debug)]
struct Known {
    name: Name,
    source: Option<String>,
}

impl LookupService {
    /// The history of `path`, at most `limit` tickets. `filters` narrow the
    /// tickets; renames are followed in those projects only.
    ///
    /// # Errors
    /// What Postgres says. A path that nothing speaks of has an empty history.
    pub async fn file_history(
        &self,
        path: &str,
        filters: &Filters,
        limit: u32,
    ) -> Result<FileHistory, SearchError> {
        self.with(async |client| {
            let at = snapshot(client).await?;
            let conditions = Conditions::of(filters);
            let known = names(&at, path, &conditions).await?;
            let mut found = related(&at, &known, &conditions, limit.saturating_add(1)).await?;
            let more = cut(&mut found, limit);
            let ids: Vec<i64> = found.iter().map(|(id, ..)| *id).collect();
            let mut relations = relations(&at, &known, &ids, &conditions).await?;
            let entries = found.into_iter().map(|(id, at, ticket)| HistoryEntry {
                at,
                relations: relations.remove(&id).unwrap_or_default(),
                ticket,
            });
            Ok(FileHistory {
                path: path.to_owned(),
                entries: entries.collect(),
                names: known.into_iter().map(|known| known.name).collect(),
                more,
            })
        })
        .await
    }
}

fn failed(error: tokio_postgres::Error) -> SearchError {
    SearchError::postgres("reading the history of the file", error)
}

/// Follows renames backwards, then forwards; never back again from there, where
/// a name may have been given to another file.
async fn names(
    at: &Transaction<'_>,
    path: &str,
    conditions: &Conditions,
) -> Result<Vec<Known>, SearchError> {
    let asked = Known {
        name: Name {
            path: path.to_owned(),
            when: "asked",
            project: None,
            ticket: None,
        },
        source: None,
    };
    let mut known = vec![asked.clone()];
    for (when, here, there) in [
        ("before", "new_path", "old_path"),
        ("after", "old_path", "new_path"),
    ] {
        let mut seen = HashSet::new();
        let mut edge = vec![asked.clone()];
        for _ in 0..MOST_STEPS {
            if edge.is_empty() || known.len() >= MOST_NAMES {
                break;
            }
            let mut values = Values::default();
            let joined = join(&edge, &mut values, &format!("f.{here}"));
            let filter = conditions.on_whole_ticket_sql(&mut values);
            let sql = format!(
                "SELECT DISTINCT ON (t.source, t.project, f.{there}) \
                        t.source, t.project, f.{there}, t.id \
                 FROM ticket_files f JOIN tickets t USING (ticket_id) {joined} \
                 WHERE f.renamed_file AND f.old_path <> f.new_path AND {HAPPENED}{filter} \
                 ORDER BY t.source, t.project, f.{there}, t.created_at DESC, t.ticket_id"
            );
            let rows = Statement { sql, values }.rows(at).await.map_err(failed)?;
            edge = rows
                .iter()
                .map(|row| Known {
                    source: row.get(0),
                    name: Name {
                        path: row.get(2),
                        when,
                        project: row.get(1),
                        ticket: row.get(3),
                    },
                })
                .filter(|next| next.name.path != path)
                .filter(|next| {
                    let (source, name) = (next.source.clone(), next.name.clone());
                    seen.insert((source, name.project, name.path))
                })
                .collect();
            known.extend(edge.iter().cloned());
        }
    }
    known.truncate(MOST_NAMES);
    Ok(known)
}

/// ` JOIN` of the names with a column of `f`, in the projects where they hold.
fn join(known: &[Known], values: &mut Values, column: &str) -> String {
    let of = |read: fn(&Known) -> Option<String>| known.iter().map(read).collect();
    let sources = values.bind(Value::MaybeTexts(of(|known| known.source.clone())));
    let projects = values.bind(Value::MaybeTexts(of(|known| known.name.project.clone())));
    let paths = values.bind(Value::MaybeTexts(of(|known| Some(known.name.path.clone()))));
    format!(
        "JOIN unnest({sources}::text[], {projects}::text[], {paths}::text[]) \
              AS n(source, project, path) ON n.path = {column} \
         AND (n.project IS NULL OR (n.source = t.source AND n.project = t.project))"
    )
}

/// A name within `code_refs`, as the index finds it.
fn patterns(known: &[Known], values: &mut Values) -> String {
    let paths: HashSet<&str> = known.iter().map(|known| known.name.path.as_str()).collect();
    let patterns = paths.iter().map(|path| json!([{ "file": path }]));
    values.bind(Value::Jsons(patterns.collect()))
}

/// The tickets, the newest first.
async fn related(
    at: &Transaction<'_>,
    known: &[Known],
    conditions: &Conditions,
    limit: u32,
) -> Result<Vec<(i64, Option<Timestamp>, TicketSummary)>, SearchError> {
    let mut values = Values::default();
    let (new, old) = (
        join(known, &mut values, "f.new_path"),
        join(known, &mut values, "f.old_path"),
    );
    let patterns = patterns(known, &mut values);
    let filter = conditions.on_whole_ticket_sql(&mut values);
    let level = values.bind(Value::Small(conditions.visibility));
    let sql = format!(
        "WITH f AS ( \
           SELECT f.ticket_id FROM ticket_files f JOIN tickets t USING (ticket_id) {new} \
           UNION SELECT f.ticket_id FROM ticket_files f JOIN tickets t USING (ticket_id) {old} \
           UNION SELECT c.ticket_id FROM unnest({patterns}::jsonb[]) AS p(pattern) \
             JOIN chunks c ON c.code_refs @> p.pattern AND c.visibility <= {level}) \
         SELECT {SUMMARY}, coalesce(t.closed_at, t.created_at, t.updated_at) AS at \
         FROM f JOIN tickets t USING (ticket_id) WHERE true{filter} \
         ORDER BY at DESC NULLS LAST, t.ticket_id DESC LIMIT {limit}"
    );
    let rows = Statement { sql, values }.rows(at).await.map_err(failed)?;
    let entry =
        |row: &tokio_postgres::Row| (row.get("ticket_id"), row.get("at"), TicketSummary::of(row));
    Ok(rows.iter().map(entry).collect())
}

/// How each ticket relates: what it changed in upstream's order, then what it names.
async fn relations(
    at: &Transaction<'_>,
    known: &[Known],
    tickets: &[i64],
    conditions: &Conditions,
) -> Result<HashMap<i64, Vec<Relation>>, SearchError> {
    let mut values = Values::default();
    let ids = values.bind(Value::Bigs(tickets.to_vec()));
    let joined = join(known, &mut values, "ANY(ARRAY[f.old_path, f.new_path])");
    let patterns = patterns(known, &mut values);
    let level = values.bind(Value::Small(conditions.visibility));
    let sql = format!(
        "SELECT f.ticket_id, 0 AS sort, f.place AS place, \
                CASE WHEN f.deleted_file THEN 'deleted' WHEN f.new_file THEN 'added' \
                     WHEN f.renamed_file THEN 'renamed' ELSE 'changed' END AS how, \
                f.new_path AS path, \
                CASE WHEN f.renamed_file THEN f.old_path END AS before, NULL AS url \
         FROM ticket_files f JOIN tickets t USING (ticket_id) {joined} \
         WHERE f.ticket_id = ANY({ids}) \
         UNION ALL (SELECT DISTINCT ON (c.ticket_id, p.pattern) \
                c.ticket_id, 1, c.seq, 'named', p.pattern -> 0 ->> 'file', NULL, \
                coalesce(u.url, t.url) \
         FROM unnest({patterns}::jsonb[]) AS p(pattern) \
         JOIN chunks c ON c.code_refs @> p.pattern AND c.visibility <= {level} \
         JOIN units u ON u.ticket_id = c.ticket_id AND u.unit = c.unit \
         JOIN tickets t ON t.ticket_id = c.ticket_id \
         WHERE c.ticket_id = ANY({ids}) ORDER BY c.ticket_id, p.pattern, c.seq) \
         ORDER BY ticket_id, sort, place, path"
    );
    let rows = Statement { sql, values }.rows(at).await.map_err(failed)?;
    let mut relations: HashMap<i64, Vec<Relation>> = HashMap::new();
    for row in rows {
        let relation = Relation {
            how: row.get("how"),
            path: row.get("path"),
            from: row.get("before"),
            url: row.get("url"),
        };
        let of = relations.entry(row.get("ticket_id")).or_default();
        // A swap of two followed names is one file each, but one row twice.
        if !of.contains(&relation) {
            of.push(relation);
        }
    }
    Ok(relations)
}
