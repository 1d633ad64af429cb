//! All rows of one ticket, replaced in one transaction, or left alone.

use crate::{
    Generation, IndexError,
    lexical::{Lexical, lexical},
    order::{Due, INDEXER, Standing, content_numbers, deletes, due, numbers},
    rows,
};
use deadpool_postgres::{Client, Transaction};
use pgvector::Vector;
use std::pin::pin;
use tokio_postgres::{
    binary_copy::BinaryCopyInWriter,
    types::{Json, ToSql, Type},
};
use whence_contract::{EmbeddedTicket, Revision, TicketKey, Timestamp};
use whence_log::{ErrorKind, Input};

mod sql;
use sql::{
    BURY, CHUNKS, CLEAR, FILES, LABELS, LINKS, MODEL_TICKET, POSTINGS, STANDING, TICKET, UNBURY,
    UNITS,
};

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

    async fn ticket(
        &self,
        transaction: &Transaction<'_>,
        input: &Input<EmbeddedTicket>,
        lexical: &Lexical,
    ) -> Result<(i64, Timestamp), IndexError> {
        let key = self.key;
        let ticket = &input.body.ticket;
        let document = &ticket.document;
        let recipe = content_numbers(input.recipe).to_vec();
        let chunks = i32::try_from(ticket.chunks.len()).unwrap_or(i32::MAX);
        let row = self
            .row(
                transaction,
                TICKET,
                &[
                    &key.provenance.as_str(),
                    &key.source,
                    &key.scope,
                    &key.ticket,
                    &document.id,
                    &document.aliases,
                    &document.project,
                    &document.kind.as_str(),
                    &document.title,
                    &document.url,
                    &document.state,
                    &document.author,
                    &document.assignees,
                    &document.milestone,
                    &document.priority,
                    &document.created_at,
                    &document.updated_at,
                    &document.closed_at,
                    &rows::visibility(document.visibility),
                    &ticket.ticket_refs,
                    &Json(&document.events),
                    &Json(&document.meta),
                    &as_i64(input.revision),
                    &recipe,
                    &INDEXER,
                    &chunks,
                    &lexical.ticket_len.as_slice(),
                    &lexical.chunk_len.iter().sum::<i32>(),
                ],
            )
            .await?;
        Ok((row.get(0), row.get(1)))
    }

    async fn children(
        &self,
        transaction: &Transaction<'_>,
        ticket_id: i64,
        embedded: &EmbeddedTicket,
        lexical: &Lexical,
    ) -> Result<(), IndexError> {
        let ticket = &embedded.ticket;
        let units = rows::units(ticket);
        let chunks = rows::chunks(ticket, &lexical.chunk_len);
        let labels = rows::labels(ticket);
        let (files, links) = (rows::files(ticket), rows::links(ticket));
        let tables: [(&str, bool, &(dyn ToSql + Sync)); 5] = [
            (UNITS, units.is_empty(), &Json(&units)),
            (CHUNKS, chunks.is_empty(), &Json(&chunks)),
            (LABELS, labels.is_empty(), &Json(&labels)),
            (FILES, files.is_empty(), &Json(&files)),
            (LINKS, links.is_empty(), &Json(&links)),
        ];
        for (sql, empty, rows) in tables {
            if !empty {
                self.run(transaction, sql, &[&ticket_id, rows]).await?;
            }
        }
        self.postings(transaction, ticket_id, lexical).await
    }

    async fn postings(
        &self,
        transaction: &Transaction<'_>,
        ticket_id: i64,
        lexical: &Lexical,
    ) -> Result<(), IndexError> {
        const TYPES: &[Type] = &[
            Type::TEXT,
            Type::INT8,
            Type::INT2,
            Type::INT4,
            Type::INT4,
            Type::INT4_ARRAY,
            Type::INT4_ARRAY,
        ];
        let statement = transaction
            .prepare_cached(POSTINGS)
            .await
            .map_err(|error| self.failed(error))?;
        let sink = transaction
            .copy_in(&statement)
            .await
            .map_err(|error| self.failed(error))?;
        let mut writer = pin!(BinaryCopyInWriter::new(sink, TYPES));
        let len = lexical.ticket_len[0];
        for ((term, visibility), posting) in &lexical.postings {
            writer
                .as_mut()
                .write(&[
                    term,
                    &ticket_id,
                    visibility,
                    &posting.tf,
                    &len,
                    &posting.seqs,
                    &posting.tfs,
                ])
                .await
                .map_err(|error| self.failed(error))?;
        }
        writer.finish().await.map_err(|error| self.failed(error))?;
        Ok(())
    }

    /// Vectors of other models whose text is gone: a deleted text leaves none.
    async fn prune(
        &self,
        transaction: &Transaction<'_>,
        ticket_id: i64,
        embedded: &EmbeddedTicket,
    ) -> Result<(), IndexError> {
        let statement = "SELECT slug FROM models WHERE model_id <> $1";
        let others = self
            .rows(transaction, statement, &[&self.generation.model_id])
            .await?;
        for row in others {
            let slug: String = row.get(0);
            let sql = format!(
                "DELETE FROM vectors_{slug} WHERE ticket_id = $1 AND text_hash <> ALL ($2)"
            );
            self.run(transaction, &sql, &[&ticket_id, &hashes(embedded)])
                .await?;
        }
        Ok(())
    }

    /// Replaces this model's vectors. Equal ones stay untouched, so that a
    /// changed comment costs the vector index one entry and not the ticket's.
    async fn vectors(
        &self,
        transaction: &Transaction<'_>,
        ticket_id: i64,
        input: &Input<EmbeddedTicket>,
    ) -> Result<(), IndexError> {
        let Generation {
            table,
            kind,
            dims,
            model_id,
            ..
        } = self.generation;
        let live = hashes(&input.body);
        let sql = format!("DELETE FROM {table} WHERE ticket_id = $1 AND text_hash <> ALL ($2)");
        self.run(transaction, &sql, &[&ticket_id, &live]).await?;
        let used: std::collections::HashSet<&Vec<u8>> = live.iter().collect();
        let (mut texts, mut vectors) = (Vec::new(), Vec::new());
        for embedding in &input.body.vectors {
            let hash = decode(&embedding.text_hash);
            if used.contains(&hash) {
                texts.push(hash);
                vectors.push(Vector::from(embedding.vector.clone()));
            }
        }
        let sql = format!(
            "INSERT INTO {table} AS v (ticket_id, text_hash, embedding)
             SELECT $1, hash, embedding::{kind}({dims})
             FROM unnest($2::bytea[], $3::public.vector[]) AS r(hash, embedding)
             ON CONFLICT (ticket_id, text_hash) DO UPDATE SET embedding = excluded.embedding
             WHERE v.embedding <> excluded.embedding"
        );
        self.run(transaction, &sql, &[&ticket_id, &texts, &vectors])
            .await?;
        let recipe = numbers(input.recipe).to_vec();
        let revision = as_i64(input.revision);
        self.run(
            transaction,
            MODEL_TICKET,
            &[model_id, &ticket_id, &revision, &recipe],
        )
        .await
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

/// The hashes of the ticket's texts, sorted, each once.
fn hashes(embedded: &EmbeddedTicket) -> Vec<Vec<u8>> {
    let mut hashes: Vec<Vec<u8>> = embedded
        .ticket
        .chunks
        .iter()
        .map(|chunk| decode(&chunk.text_hash))
        .collect();
    hashes.sort();
    hashes.dedup();
    hashes
}

/// Only a foreign message holds anything but hex digits; its hash then matches
/// no other, and no chunk.
fn decode(hash: &whence_contract::ContentHash) -> Vec<u8> {
    hex::decode(hash.as_str()).unwrap_or_default()
}

/// Microseconds since 1970 fit for the next 290,000 years.
fn as_i64(revision: Revision) -> i64 {
    i64::try_from(revision.0).unwrap_or(i64::MAX)
}

fn as_revision(stored: i64) -> Revision {
    Revision(u64::try_from(stored).unwrap_or_default())
}
