//! All rows of one ticket, replaced in one transaction, or left alone.

use crate::{
    Generation, IndexError,
    lexical::lexical,
    order::{Due, Standing, deletes, due},
    rows,
};
use deadpool_postgres::{Client, Transaction};
use tokio_postgres::types::ToSql;
use whence_contract::{EmbeddedTicket, Revision, TicketKey, Timestamp};
use whence_log::{ErrorKind, Input};

mod content;
mod sql;
mod vectors;

use sql::{BURY, CLEAR, STANDING, UNBURY};

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Applied {
    /// What was done.
    pub outcome: Outcome,
    /// The revision that the tables hold now, be it of rows or of a deletion.
    pub stored: Revision,
    /// When that was committed.
    pub indexed_at: Timestamp,
}

/// What was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The ticket was not there.
    Inserted,
    /// Its rows, or this model's vectors, were replaced.
    Updated,
    /// Its rows are gone, and a tombstone stands in their place.
    Deleted,
    /// The tables hold the same state or a newer one: nothing was done.
    NotNewer,
}

/// Writes `input` if it is newer than what the tables hold: a newer revision,
/// or an equal one with a newer recipe. Nothing is written otherwise, and
/// nothing at all when it fails. Applying again changes no row.
///
/// # Errors
/// [`ErrorKind::Refused`] for values that the tables do not take, without harm
/// to any other ticket; the connection's and the server's errors otherwise.
pub async fn apply(
    client: &mut Client,
    generation: &Generation,
    input: &Input<EmbeddedTicket>,
) -> Result<Applied, IndexError> {
    let key = &input.key;
    let embedded = &input.body;
    if embedded.model != generation.model {
        return Err(IndexError::bare(
            ErrorKind::Fatal,
            format!(
                "{key}: vectors of the model {} on the way to those of {}",
                embedded.model, generation.model
            ),
        ));
    }
    rows::check(key, embedded, generation.dims)?;
    // Before the lock is taken: the only part that takes time of our own.
    let lexical = lexical(&embedded.ticket);

    let write = Write { key, generation };
    let transaction = write.begin(client).await?;
    let found = write.standing(&transaction).await?;
    let due = due(input.revision, input.recipe, &found.standing);
    if due
        == (Due {
            content: false,
            vectors: false,
        })
    {
        return found.unchanged(key);
    }
    let indexed_at;
    let ticket_id;
    if due.content {
        if let Standing::Deleted { .. } = found.standing {
            let params: [&(dyn ToSql + Sync); 4] = [
                &key.provenance.as_str(),
                &key.source,
                &key.scope,
                &key.ticket,
            ];
            write.run(&transaction, UNBURY, &params).await?;
        }
        (ticket_id, indexed_at) = write.ticket(&transaction, input, &lexical).await?;
        if found.ticket_id.is_some() {
            write.run(&transaction, CLEAR, &[&ticket_id]).await?;
        }
        write
            .children(&transaction, ticket_id, embedded, &lexical)
            .await?;
        write.prune(&transaction, ticket_id, embedded).await?;
    } else {
        let (Some(id), Some(at)) = (found.ticket_id, found.indexed_at) else {
            return Err(write.error("a ticket with vectors and without rows"));
        };
        (ticket_id, indexed_at) = (id, at);
    }
    if due.vectors {
        write.vectors(&transaction, ticket_id, input).await?;
    }
    write.commit(transaction).await?;
    let outcome = if found.ticket_id.is_some() {
        Outcome::Updated
    } else {
        Outcome::Inserted
    };
    Ok(Applied {
        outcome,
        stored: input.revision,
        indexed_at,
    })
}

/// Removes all rows of `input`'s ticket and writes its tombstone, unless the
/// tables hold something newer.
///
/// # Errors
/// As for [`apply`].
pub async fn delete(
    client: &mut Client,
    generation: &Generation,
    input: &Input<()>,
) -> Result<Applied, IndexError> {
    let write = Write {
        key: &input.key,
        generation,
    };
    let transaction = write.begin(client).await?;
    let found = write.standing(&transaction).await?;
    if !deletes(input.revision, &found.standing) {
        return found.unchanged(&input.key);
    }
    if let Some(ticket_id) = found.ticket_id {
        write.run(&transaction, CLEAR, &[&ticket_id]).await?;
        // Vectors of every model go with it.
        write
            .run(
                &transaction,
                "DELETE FROM tickets WHERE ticket_id = $1",
                &[&ticket_id],
            )
            .await?;
    }
    let key = &input.key;
    let row = write
        .row(
            &transaction,
            BURY,
            &[
                &key.provenance.as_str(),
                &key.source,
                &key.scope,
                &key.ticket,
                &as_i64(input.revision),
            ],
        )
        .await?;
    write.commit(transaction).await?;
    Ok(Applied {
        outcome: Outcome::Deleted,
        stored: input.revision,
        indexed_at: row.get(0),
    })
}

/// One ticket's way into the tables.
struct Write<'a> {
    key: &'a TicketKey,
    generation: &'a Generation,
}

/// What stood there when the lock was taken.
struct Found {
    ticket_id: Option<i64>,
    indexed_at: Option<Timestamp>,
    standing: Standing,
}

impl Found {
    fn unchanged(&self, key: &TicketKey) -> Result<Applied, IndexError> {
        let stored = match self.standing {
            Standing::Deleted { revision } | Standing::Live { revision, .. } => Some(revision),
            Standing::Absent => None,
        };
        match (stored, self.indexed_at) {
            (Some(stored), Some(indexed_at)) => Ok(Applied {
                outcome: Outcome::NotNewer,
                stored,
                indexed_at,
            }),
            _ => Err(IndexError::bare(
                ErrorKind::Fatal,
                format!("{key}: nothing to compare with"),
            )),
        }
    }
}

impl Write<'_> {
    /// Begins, and waits until nobody else writes this ticket. The lock is taken
    /// by a statement of its own: the next one then sees what the other wrote.
    async fn begin<'c>(&self, client: &'c mut Client) -> Result<Transaction<'c>, IndexError> {
        let transaction = client
            .transaction()
            .await
            .map_err(|error| self.failed(error))?;
        let lock = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))";
        self.run(&transaction, lock, &[&self.key.tokens()]).await?;
        Ok(transaction)
    }

    async fn standing(&self, transaction: &Transaction<'_>) -> Result<Found, IndexError> {
        let key = self.key;
        let row = self
            .row(
                transaction,
                STANDING,
                &[
                    &key.provenance.as_str(),
                    &key.source,
                    &key.scope,
                    &key.ticket,
                    &self.generation.model_id,
                ],
            )
            .await?;
        let ticket_id: Option<i64> = row.get(0);
        let vectors = match (
            row.get::<_, Option<i64>>(5),
            row.get::<_, Option<Vec<i64>>>(6),
        ) {
            (Some(revision), Some(recipe)) => Some((as_revision(revision), recipe)),
            _ => None,
        };
        if let (Some(revision), Some(recipe), Some(indexer)) = (row.get(1), row.get(2), row.get(3))
        {
            let revision = as_revision(revision);
            let standing = Standing::Live {
                revision,
                recipe,
                indexer,
                vectors,
            };
            return Ok(Found {
                ticket_id,
                indexed_at: row.get(4),
                standing,
            });
        }
        let standing = match row.get::<_, Option<i64>>(7) {
            Some(revision) => Standing::Deleted {
                revision: as_revision(revision),
            },
            None => Standing::Absent,
        };
        Ok(Found {
            ticket_id,
            indexed_at: row.get(8),
            standing,
        })
    }

    async fn commit(&self, transaction: Transaction<'_>) -> Result<(), IndexError> {
        transaction
            .commit()
            .await
            .map_err(|error| self.failed(error))
    }

    async fn run(
        &self,
        transaction: &Transaction<'_>,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<(), IndexError> {
        self.rows(transaction, sql, params).await.map(drop)
    }

    async fn row(
        &self,
        transaction: &Transaction<'_>,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<tokio_postgres::Row, IndexError> {
        let mut rows = self.rows(transaction, sql, params).await?;
        rows.pop()
            .ok_or_else(|| self.error("a statement that must answer did not"))
    }

    async fn rows(
        &self,
        transaction: &Transaction<'_>,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<Vec<tokio_postgres::Row>, IndexError> {
        let statement = transaction
            .prepare_cached(sql)
            .await
            .map_err(|error| self.failed(error))?;
        transaction
            .query(&statement, params)
            .await
            .map_err(|error| self.failed(error))
    }

    fn failed(&self, error: tokio_postgres::Error) -> IndexError {
        IndexError::postgres(format!("writing the rows of {}", self.key), error)
    }

    fn error(&self, what: &str) -> IndexError {
        IndexError::bare(
            ErrorKind::Fatal,
            format!("writing the rows of {}: {what}", self.key),
        )
    }
}

/// Microseconds since 1970 fit for the next 290,000 years.
fn as_i64(revision: Revision) -> i64 {
    i64::try_from(revision.0).unwrap_or(i64::MAX)
}

fn as_revision(stored: i64) -> Revision {
    Revision(u64::try_from(stored).unwrap_or_default())
}
