//! Tickets that pass the filters, page by page.

use super::{LookupService, TicketSummary, cursor::Cursor, cut, summary::SUMMARY};
use crate::{
    Filters, SearchError,
    filters::Conditions,
    sql::{Statement, Value, Values},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use whence_contract::Timestamp;

/// What a list is sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Sort {
    /// Upstream's time of the last change.
    #[default]
    Updated,
    /// Upstream's time of creation.
    Created,
}

/// Which end comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// The newest first.
    #[default]
    Desc,
    /// The oldest first.
    Asc,
}

/// A page that is asked for.
#[derive(Clone, Debug)]
pub struct List {
    /// All must hold.
    pub filters: Filters,
    /// By which time; tickets without it count as the oldest.
    pub sort: Sort,
    /// Which end first.
    pub order: Order,
    /// How many tickets at most.
    pub limit: u32,
    /// `next` of the page before.
    pub cursor: Option<String>,
}

/// Some tickets of a list.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Page {
    /// In the order asked for; of equal times, by when they came here first.
    pub tickets: Vec<TicketSummary>,
    /// Where the next page begins; absent on the last one.
    pub next: Option<String>,
}

impl LookupService {
    /// One page. A ticket that changes between two pages may be seen twice or
    /// not at all; one that does not change is seen once.
    ///
    /// # Errors
    /// For a cursor of another list, and what Postgres says.
    pub async fn list(&self, list: &List) -> Result<Page, SearchError> {
        let name = serde_json::to_string(&(&list.filters, list.sort, list.order));
        let name = name.unwrap_or_default();
        let from = list.cursor.as_deref();
        let from = from.map(|cursor| Cursor::read(cursor, &name)).transpose()?;
        let statement = statement(list, from.as_ref());
        self.with(async |client| {
            let rows = statement.rows(client).await;
            let mut rows = rows.map_err(|error| SearchError::postgres("listing tickets", error))?;
            let more = cut(&mut rows, list.limit);
            let last = rows.last().filter(|_| more).map(|row| {
                let at: Option<Timestamp> = row.get("sorted_by");
                Cursor::new(&name, at, row.get("ticket_id")).write()
            });
            Ok(Page {
                tickets: rows.iter().map(TicketSummary::of).collect(),
                next: last,
            })
        })
        .await
    }
}

fn statement(list: &List, from: Option<&Cursor>) -> Statement {
    let column = match list.sort {
        Sort::Updated => "t.updated_at",
        Sort::Created => "t.created_at",
    };
    let (direction, beyond) = match list.order {
        Order::Desc => ("DESC", "<"),
        Order::Asc => ("ASC", ">"),
    };
    // As the index has it.
    let sorted = format!("coalesce({column}, '-infinity'::timestamptz)");
    let mut values = Values::default();
    let mut filter = Conditions::of(&list.filters).on_whole_ticket_sql(&mut values);
    if let Some(from) = from {
        let at = match from.at {
            Some(at) => values.bind(Value::Time(at)),
            None => "'-infinity'::timestamptz".to_owned(),
        };
        let id = values.bind(Value::Big(from.ticket_id));
        filter.push_str(&format!(
            " AND ({sorted}, t.ticket_id) {beyond} ({at}, {id})"
        ));
    }
    let sql = format!(
        "SELECT {SUMMARY}, {column} AS sorted_by FROM tickets t WHERE true{filter} \
         ORDER BY {sorted} {direction}, t.ticket_id {direction} LIMIT {}",
        list.limit.saturating_add(1)
    );
    Statement { sql, values }
}
