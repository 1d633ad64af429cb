//! Everything of a ticket but its vectors.

use super::{
    Write, as_i64,
    sql::{CHUNKS, FILES, LABELS, LINKS, POSTINGS, TICKET, UNITS},
};
use crate::{
    IndexError,
    lexical::Lexical,
    order::{INDEXER, content_numbers},
    rows,
};
use deadpool_postgres::Transaction;
use std::pin::pin;
use tokio_postgres::{
    binary_copy::BinaryCopyInWriter,
    types::{Json, ToSql, Type},
};
use whence_contract::{EmbeddedTicket, Timestamp};
use whence_log::Input;

impl Write<'_> {
    pub(super) async fn ticket(
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

    pub(super) async fn children(
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
}
