//! What a ticket is tied to, in both directions.
//!
//! A ticket that may not be seen is told by nothing: what it links to does not
//! say so, and a link to it, which upstream hides as well, is left out. Where a
//! visible text names its id, the id is there to read; nothing is added to it.

use crate::{
    SearchError,
    sql::{Statement, Value, Values},
};
use deadpool_postgres::GenericClient;
use schemars::JsonSchema;
use serde::Serialize;
use tokio_postgres::Row;

/// The most ties of one sort in one direction.
const MOST: usize = 200;

/// Ties of one sort.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Links {
    /// From this ticket to others, in upstream's order, or by id.
    pub to: Vec<LinkView>,
    /// From others to this ticket, the last changed first.
    pub from: Vec<LinkView>,
    /// There are more than are shown.
    pub more: bool,
}

/// One tie, seen from the ticket that is shown.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct LinkView {
    /// `closes`, `duplicates`, `moved-from`, `relates`, `mentions`: what the
    /// ticket it starts from says.
    pub kind: String,
    /// The other ticket.
    pub id: String,
    /// Its title, where it is here.
    pub title: Option<String>,
    /// Its state, where it is here.
    pub state: Option<String>,
    /// Its page, where it is here.
    pub url: Option<String>,
}

impl LinkView {
    fn of(row: &Row) -> Self {
        Self {
            kind: row.get("kind"),
            id: row.get("id"),
            title: row.get("title"),
            state: row.get("state"),
            url: row.get("url"),
        }
    }
}

/// The ticket that an id means, of whatever visibility.
const TARGET: &str = "LEFT JOIN LATERAL (
        SELECT * FROM (
            SELECT 0 AS place, o.* FROM tickets o WHERE lower(o.id) = lower(n.target)
            UNION ALL SELECT 1, o.* FROM tickets o WHERE o.aliases @> ARRAY[n.target]) o
        WHERE o.provenance <> 'local' ORDER BY o.place, o.ticket_id LIMIT 1) x ON true";

/// Which ticket it is about.
pub(super) struct Subject<'a> {
    pub(super) ticket_id: i64,
    /// Its present id and all former ones.
    pub(super) names: &'a [String],
    pub(super) level: i16,
}

/// What the system states.
pub(super) async fn stated(
    client: &impl GenericClient,
    subject: &Subject<'_>,
) -> Result<Links, SearchError> {
    let to = format!(
        "SELECT n.kind, coalesce(x.id, n.target) AS id, x.title, x.state, x.url \
         FROM ticket_links n {TARGET} \
         WHERE n.ticket_id = $1 AND coalesce(x.visibility, 0::smallint) <= $2 AND n.target <> ALL($3) \
         ORDER BY n.place LIMIT {}",
        MOST + 1
    );
    let from = format!(
        "SELECT n.kind, t.id, t.title, t.state, t.url \
         FROM (SELECT DISTINCT l.ticket_id, l.kind FROM ticket_links l WHERE l.target = ANY($3)) n \
         JOIN tickets t USING (ticket_id) \
         WHERE t.ticket_id <> $1 AND t.visibility <= $2 \
         ORDER BY t.updated_at DESC NULLS LAST, t.ticket_id DESC, n.kind LIMIT {}",
        MOST + 1
    );
    both(client, subject, to, from).await
}

/// What the texts name.
pub(super) async fn mentions(
    client: &impl GenericClient,
    subject: &Subject<'_>,
) -> Result<Links, SearchError> {
    let to = format!(
        "SELECT 'mentions' AS kind, \
                CASE WHEN x.visibility <= $2 THEN x.id ELSE n.target END AS id, \
                CASE WHEN x.visibility <= $2 THEN x.title END AS title, \
                CASE WHEN x.visibility <= $2 THEN x.state END AS state, \
                CASE WHEN x.visibility <= $2 THEN x.url END AS url \
         FROM (SELECT DISTINCT r AS target FROM chunks c, unnest(c.ticket_refs) r \
               WHERE c.ticket_id = $1 AND c.visibility <= $2) n {TARGET} \
         WHERE n.target <> ALL($3) ORDER BY n.target LIMIT {}",
        MOST + 1
    );
    let from = format!(
        "SELECT 'mentions' AS kind, t.id, t.title, t.state, t.url \
         FROM (SELECT DISTINCT c.ticket_id FROM chunks c \
               WHERE c.ticket_refs && $3 AND c.visibility <= $2) n \
         JOIN tickets t USING (ticket_id) \
         WHERE t.ticket_id <> $1 AND t.visibility <= $2 AND lower(t.id) <> lower($3[1]) \
         ORDER BY t.updated_at DESC NULLS LAST, t.ticket_id DESC LIMIT {}",
        MOST + 1
    );
    both(client, subject, to, from).await
}

async fn both(
    client: &impl GenericClient,
    subject: &Subject<'_>,
    to: String,
    from: String,
) -> Result<Links, SearchError> {
    let mut values = Values::default();
    values.bind(Value::Big(subject.ticket_id));
    values.bind(Value::Small(subject.level));
    values.bind(Value::Texts(subject.names.to_vec()));
    let failed = |error| SearchError::postgres("reading links", error);
    let mut links = Links::default();
    for (sql, ties) in [(to, &mut links.to), (from, &mut links.from)] {
        let values = values.clone();
        let rows = Statement { sql, values }
            .rows(client)
            .await
            .map_err(failed)?;
        links.more |= rows.len() > MOST;
        ties.extend(rows.iter().take(MOST).map(LinkView::of));
    }
    Ok(links)
}
