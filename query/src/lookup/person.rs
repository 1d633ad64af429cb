//! What somebody contributed, on what, and with whom.

use super::{
    LookupService, TicketSummary, counted, snapshot,
    summary::SUMMARY,
    topics::{Topic, topics},
};
use crate::{
    Filters, SearchError,
    filters::Conditions,
    sql::{Statement, Value, Values},
};
use deadpool_postgres::Transaction;
use schemars::JsonSchema;
use serde::Serialize;
use tokio_postgres::Row;
use whence_contract::Timestamp;

/// How much of each list is shown.
const MOST: usize = 20;
/// So many of their last texts are read for the words that they use.
const TEXTS: usize = 400;

/// Somebody, as their texts show them.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Person {
    /// As they mostly are written.
    pub name: String,
    /// By source, project, kind of ticket and kind of text.
    pub contributions: Vec<Contribution>,
    /// Their first text.
    pub first_at: Option<Timestamp>,
    /// Their last one.
    pub last_at: Option<Timestamp>,
    /// The labels of the tickets they wrote on, the most frequent first.
    pub labels: Vec<Topic>,
    /// The words they use more than others do, the most telling first.
    pub terms: Vec<Topic>,
    /// The files they changed or named, the most frequent first.
    pub files: Vec<PersonFile>,
    /// Who else writes on their tickets, the most shared tickets first.
    pub companions: Vec<Companion>,
    /// The tickets they wrote on last.
    pub recent: Vec<RecentTicket>,
}

/// Texts of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Contribution {
    /// The kind of system.
    pub source: String,
    /// Repository, project, team or wiki.
    pub project: String,
    /// The kind of ticket.
    pub ticket_kind: String,
    /// `description`, `comment`, `review`, `review-comment`, `finding`.
    pub kind: String,
    /// How many texts.
    pub texts: u64,
    /// On how many tickets.
    pub tickets: u64,
}

/// A file that somebody has to do with.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PersonFile {
    /// The path.
    pub file: String,
    /// Merge requests of theirs that changed it.
    pub changed: u64,
    /// Tickets in which they named it.
    pub named: u64,
}

/// Somebody on the same tickets.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Companion {
    /// As they mostly are written.
    pub name: String,
    /// On how many tickets both wrote.
    pub tickets: u64,
}

/// A ticket on which somebody wrote.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RecentTicket {
    /// When they did so last.
    pub at: Option<Timestamp>,
    /// The ticket.
    #[serde(flatten)]
    pub ticket: TicketSummary,
}

fn failed(error: tokio_postgres::Error) -> SearchError {
    SearchError::postgres("reading what the person wrote", error)
}

impl LookupService {
    /// What is here of `name`, in any case, with or without `@`.
    ///
    /// # Errors
    /// `not_found` where nothing of theirs may be seen, and what Postgres says.
    pub async fn person(&self, name: &str, filters: &Filters) -> Result<Person, SearchError> {
        let conditions = Conditions::of(filters);
        let asked = name.trim().trim_start_matches('@');
        self.with(async |client| {
            let at = snapshot(client).await?;
            let own = Own::new(&at, asked, &conditions);
            let (name, contributions, first_at, last_at) = own.contributions().await?;
            let Some(name) = name else {
                return Err(SearchError::new(
                    "not_found",
                    404,
                    format!("nobody here is called {asked:?}"),
                    "write the name as its system does; `count --by author` lists those who \
                     opened tickets",
                ));
            };
            Ok(Person {
                name,
                contributions,
                first_at,
                last_at,
                labels: own.labels().await?,
                terms: topics(&at, &own.texts().await?, conditions.visibility, MOST).await?,
                files: own.files().await?,
                companions: own.companions().await?,
                recent: own.recent().await?,
            })
        })
        .await
    }
}

/// Statements on the texts of one person.
struct Own<'a> {
    at: &'a Transaction<'a>,
    values: Values,
    /// `WITH own AS (…)`: their visible units.
    own: String,
    level: String,
}

impl<'a> Own<'a> {
    fn new(at: &'a Transaction<'a>, name: &str, conditions: &Conditions) -> Self {
        let mut values = Values::default();
        let name = values.bind(Value::Text(name.to_owned()));
        let level = values.bind(Value::Small(conditions.visibility));
        let filter = conditions.on_whole_ticket_sql(&mut values);
        let own = format!(
            "WITH own AS (SELECT u.*, t.source, t.project, t.kind AS ticket_kind \
                          FROM units u JOIN tickets t USING (ticket_id) \
                          WHERE lower(u.author) = lower({name}) AND u.visibility <= {level}{filter})"
        );
        Self {
            at,
            values,
            own,
            level,
        }
    }

    async fn rows(&self, sql: &str) -> Result<Vec<Row>, SearchError> {
        let statement = Statement {
            sql: format!("{} {sql}", self.own),
            values: self.values.clone(),
        };
        statement.rows(self.at).await.map_err(failed)
    }

    async fn contributions(
        &self,
    ) -> Result<
        (
            Option<String>,
            Vec<Contribution>,
            Option<Timestamp>,
            Option<Timestamp>,
        ),
        SearchError,
    > {
        let sql = "SELECT source, project, ticket_kind, kind, count(*) AS texts, \
                          count(DISTINCT ticket_id) AS tickets, \
                          min(created_at) AS first_at, max(created_at) AS last_at, \
                          (SELECT mode() WITHIN GROUP (ORDER BY author) FROM own) AS name \
                   FROM own GROUP BY 1, 2, 3, 4 ORDER BY texts DESC, 1, 2, 3, 4";
        let rows = self.rows(sql).await?;
        let contribution = |row: &Row| Contribution {
            source: row.get("source"),
            project: row.get("project"),
            ticket_kind: row.get("ticket_kind"),
            kind: row.get("kind"),
            texts: counted(row.get("texts")),
            tickets: counted(row.get("tickets")),
        };
        let times = |column: &'static str| {
            let times = rows
                .iter()
                .map(move |row| row.get::<_, Option<Timestamp>>(column));
            times.flatten()
        };
        Ok((
            rows.first().map(|row| row.get("name")),
            rows.iter().map(contribution).collect(),
            times("first_at").min(),
            times("last_at").max(),
        ))
    }

    async fn labels(&self) -> Result<Vec<Topic>, SearchError> {
        let sql = format!(
            "SELECT l.name, count(DISTINCT l.ticket_id)::int FROM ticket_labels l \
             WHERE l.ticket_id IN (SELECT ticket_id FROM own) \
             GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {MOST}"
        );
        let topic = |row: &Row| Topic {
            term: row.get(0),
            texts: u32::try_from(row.get::<_, i32>(1)).unwrap_or_default(),
        };
        Ok(self.rows(&sql).await?.iter().map(topic).collect())
    }

    /// Their last texts, without titles and headings.
    async fn texts(&self) -> Result<Vec<String>, SearchError> {
        let sql = format!(
            "SELECT c.text, c.prefix_len FROM own u JOIN chunks c \
               ON c.ticket_id = u.ticket_id AND c.unit = u.unit AND c.visibility <= {} \
             ORDER BY u.created_at DESC NULLS LAST, c.ticket_id DESC, c.seq LIMIT {TEXTS}",
            self.level
        );
        let text = |row: &Row| {
            let text: String = row.get(0);
            let prefix = usize::try_from(row.get::<_, i32>(1)).unwrap_or_default();
            text.get(prefix..).map_or(text.clone(), str::to_owned)
        };
        Ok(self.rows(&sql).await?.iter().map(text).collect())
    }

    async fn files(&self) -> Result<Vec<PersonFile>, SearchError> {
        // Who wrote a merge request's description made its changes.
        let sql = format!(
            "SELECT file, count(DISTINCT ticket_id) FILTER (WHERE changed), \
                    count(DISTINCT ticket_id) FILTER (WHERE NOT changed) FROM ( \
               SELECT f.new_path AS file, f.ticket_id, true AS changed FROM ticket_files f \
                 WHERE f.ticket_id IN (SELECT ticket_id FROM own WHERE kind = 'description') \
               UNION ALL SELECT r ->> 'file', c.ticket_id, false \
                 FROM own u JOIN chunks c ON c.ticket_id = u.ticket_id AND c.unit = u.unit \
                   AND c.visibility <= {}, jsonb_array_elements(c.code_refs) r \
                 WHERE r ? 'file') f \
             GROUP BY file ORDER BY count(DISTINCT ticket_id) DESC, file COLLATE \"C\" LIMIT {MOST}",
            self.level
        );
        let file = |row: &Row| PersonFile {
            file: row.get(0),
            changed: counted(row.get(1)),
            named: counted(row.get(2)),
        };
        Ok(self.rows(&sql).await?.iter().map(file).collect())
    }

    async fn companions(&self) -> Result<Vec<Companion>, SearchError> {
        let sql = format!(
            "SELECT mode() WITHIN GROUP (ORDER BY u.author), count(DISTINCT u.ticket_id) \
             FROM units u WHERE u.ticket_id IN (SELECT ticket_id FROM own) \
               AND u.visibility <= {} AND lower(u.author) <> (SELECT lower(author) FROM own LIMIT 1) \
             GROUP BY lower(u.author) ORDER BY 2 DESC, 1 LIMIT {MOST}",
            self.level
        );
        let companion = |row: &Row| Companion {
            name: row.get(0),
            tickets: counted(row.get(1)),
        };
        Ok(self.rows(&sql).await?.iter().map(companion).collect())
    }

    async fn recent(&self) -> Result<Vec<RecentTicket>, SearchError> {
        let sql = format!(
            "SELECT {SUMMARY}, o.at FROM (SELECT ticket_id, max(created_at) AS at FROM own \
                                          GROUP BY ticket_id) o \
             JOIN tickets t USING (ticket_id) \
             ORDER BY o.at DESC NULLS LAST, t.ticket_id DESC LIMIT {MOST}"
        );
        let ticket = |row: &Row| RecentTicket {
            at: row.get("at"),
            ticket: TicketSummary::of(row),
        };
        Ok(self.rows(&sql).await?.iter().map(ticket).collect())
    }
}
