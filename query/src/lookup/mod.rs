//! Answers that need no search: one ticket whole, lists, counts, histories of
//! files, people. All read one snapshot, and only what the caller may see.

mod count;
mod cursor;
mod experts;
mod history;
mod hotspots;
mod inbox;
mod links;
mod list;
mod person;
mod prose;
mod resolve;
mod summary;
mod ticket;
mod topics;

pub use count::{Count, CountBy, CountGroup};
pub use experts::{Evidence, Expert, Experts, Matter};
pub use history::{FileHistory, HistoryEntry, Name, Relation};
pub use hotspots::{Hotspot, HotspotKind, Hotspots, TopFile};
pub use inbox::{Inbox, InboxEntry, Mention, Reason};
pub use links::{LinkView, Links};
pub use list::{List, Order, Page, Sort};
pub use person::{Companion, Contribution, Person, PersonFile, RecentTicket};
pub use summary::TicketSummary;
pub use ticket::{EventView, FileView, LabelView, TicketView, UnitView};
pub use topics::Topic;

use crate::{SearchError, lease::Lease};
use deadpool_postgres::{Client, Pool, Status, Transaction};
use std::time::Duration;
use tokio_postgres::IsolationLevel;

/// Answers from the tables. Cheap to share; holds no state.
#[derive(Clone)]
pub struct LookupService {
    pool: Pool,
    deadline: Duration,
}

impl LookupService {
    /// A service over `pool` that gives up after `deadline`.
    pub fn new(pool: Pool, deadline: Duration) -> Self {
        Self { pool, deadline }
    }

    /// How many connections there are, and how many are free.
    pub fn connections(&self) -> Status {
        self.pool.status()
    }

    /// `work` on a connection, or an error when it takes too long. A caller that
    /// goes away frees both.
    async fn with<T>(
        &self,
        work: impl AsyncFnOnce(&mut Client) -> Result<T, SearchError>,
    ) -> Result<T, SearchError> {
        let mut lease = Lease::of(&self.pool).await?;
        let Some(client) = lease.client() else {
            return Err(SearchError::timeout());
        };
        let answer = tokio::time::timeout(self.deadline, work(client)).await;
        if answer.is_ok() {
            lease.done();
        }
        answer.unwrap_or_else(|_| Err(SearchError::timeout()))
    }
}

/// One state of the tables for all statements of an answer: a ticket is replaced
/// whole, and must not be seen half old and half new.
async fn snapshot(client: &mut Client) -> Result<Transaction<'_>, SearchError> {
    client
        .build_transaction()
        .isolation_level(IsolationLevel::RepeatableRead)
        .read_only(true)
        .start()
        .await
        .map_err(|error| SearchError::postgres("beginning to read", error))
}

/// A count of rows. Postgres counts in `i64`, and never below zero.
fn counted(rows: i64) -> u64 {
    u64::try_from(rows).unwrap_or_default()
}

/// Takes the one that was read too many away; whether there was one.
fn cut<T>(rows: &mut Vec<T>, limit: u32) -> bool {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = rows.len() > limit;
    rows.truncate(limit);
    more
}

fn visibility(level: i16) -> &'static str {
    match level {
        0 => "public",
        1 => "internal",
        _ => "confidential",
    }
}
