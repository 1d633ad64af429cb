//! What waits for somebody: open tickets that are assigned to them, that they
//! opened, or that name them.

use super::{LookupService, TicketSummary, cut, summary::SUMMARY};
use crate::{
    Filters, SearchError,
    filters::Conditions,
    sql::{Statement, Value, Values},
};
use schemars::JsonSchema;
use serde::Serialize;
use whence_contract::Timestamp;
use whence_model::lexical::query_terms;

/// What waits for somebody.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Inbox {
    /// Whose it is.
    pub user: String,
    /// The last changed first.
    pub entries: Vec<InboxEntry>,
    /// There are more than are shown.
    pub more: bool,
}

/// A ticket that waits.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct InboxEntry {
    /// Why it is here.
    pub reasons: Vec<Reason>,
    /// The last text that names them.
    pub mention: Option<Mention>,
    /// The ticket.
    #[serde(flatten)]
    pub ticket: TicketSummary,
}

/// Why a ticket is in an inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// It is assigned to them.
    Assigned,
    /// They opened it.
    Authored,
    /// A text in it names them as `@name`.
    Mentioned,
}

/// A text that names somebody.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Mention {
    /// Who wrote it.
    pub author: Option<String>,
    /// When.
    pub at: Option<Timestamp>,
    /// The place a person opens.
    pub url: Option<String>,
}

impl LookupService {
    /// The inbox of `user`, in any case, with or without `@`.
    ///
    /// # Errors
    /// What Postgres says. Who is not known has an empty inbox.
    pub async fn inbox(
        &self,
        user: &str,
        filters: &Filters,
        limit: u32,
    ) -> Result<Inbox, SearchError> {
        let user = user.trim().trim_start_matches('@');
        let statement = statement(user, filters, limit);
        self.with(async |client| {
            let rows = statement.rows(client).await;
            let mut rows =
                rows.map_err(|error| SearchError::postgres("reading the inbox", error))?;
            let more = cut(&mut rows, limit);
            Ok(Inbox {
                user: user.to_owned(),
                entries: rows.iter().map(entry).collect(),
                more,
            })
        })
        .await
    }
}

fn statement(user: &str, filters: &Filters, limit: u32) -> Statement {
    let conditions = Conditions::of(filters);
    let mut values = Values::default();
    let name = values.bind(Value::Text(user.to_owned()));
    let level = values.bind(Value::Small(conditions.visibility));
    // The words of the name, by the index of all words; then its exact form.
    let terms = values.bind(Value::Texts(query_terms(user)));
    let called = values.bind(Value::Text(format!(
        "(^|[^[:alnum:]_])@{}($|[^[:alnum:]_-])",
        literal(user)
    )));
    let filter = conditions.on_whole_ticket_sql(&mut values);
    // `closed_at` is what systems agree on: their words for a state differ.
    let sql = format!(
        "WITH open AS MATERIALIZED ( \
           SELECT t.ticket_id, t.author, t.assignees FROM tickets t \
           WHERE t.kind IN ('issue', 'merge-request') AND t.closed_at IS NULL \
             AND (t.state IS NULL OR t.state NOT IN ('closed', 'merged')){filter}), \
         named AS ( \
           SELECT ticket_id FROM postings \
           WHERE term = ANY({terms}) AND visibility <= {level} \
             AND ticket_id IN (SELECT ticket_id FROM open) \
           GROUP BY ticket_id HAVING count(DISTINCT term) = cardinality({terms})), \
         mentions AS ( \
           SELECT DISTINCT ON (c.ticket_id) c.ticket_id, u.author, u.created_at, u.url \
           FROM named JOIN chunks c USING (ticket_id) \
           JOIN units u ON u.ticket_id = c.ticket_id AND u.unit = c.unit \
           WHERE c.visibility <= {level} AND c.text ~* {called} \
           ORDER BY c.ticket_id, u.created_at DESC NULLS LAST, c.seq DESC), \
         why AS ( \
           SELECT o.ticket_id, \
             EXISTS (SELECT FROM unnest(o.assignees) a WHERE lower(a) = lower({name})) AS assigned, \
             coalesce(lower(o.author) = lower({name}), false) AS authored, \
             m.ticket_id IS NOT NULL AS mentioned, \
             m.author AS named_by, m.created_at AS named_at, m.url AS named_url \
           FROM open o LEFT JOIN mentions m USING (ticket_id)) \
         SELECT {SUMMARY}, w.assigned, w.authored, w.mentioned, w.named_by, w.named_at, \
                coalesce(w.named_url, t.url) AS named_url \
         FROM why w JOIN tickets t USING (ticket_id) \
         WHERE w.assigned OR w.authored OR w.mentioned \
         ORDER BY t.updated_at DESC NULLS LAST, t.ticket_id DESC LIMIT {}",
        limit.saturating_add(1)
    );
    Statement { sql, values }
}

fn entry(row: &tokio_postgres::Row) -> InboxEntry {
    let reasons = [
        ("assigned", Reason::Assigned),
        ("authored", Reason::Authored),
        ("mentioned", Reason::Mentioned),
    ];
    let mentioned: bool = row.get("mentioned");
    InboxEntry {
        reasons: reasons
            .into_iter()
            .filter(|(column, _)| row.get(column))
            .map(|(_, reason)| reason)
            .collect(),
        mention: mentioned.then(|| Mention {
            author: row.get("named_by"),
            at: row.get("named_at"),
            url: row.get("named_url"),
        }),
        ticket: TicketSummary::of(row),
    }
}

/// A text as a regular expression of Postgres that matches it alone.
fn literal(text: &str) -> String {
    let mut pattern = String::new();
    for c in text.chars() {
        if !c.is_alphanumeric() && c.is_ascii() && c != '_' {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern
}
