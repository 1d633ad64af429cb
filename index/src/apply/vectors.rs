//! A ticket's vectors, in the table of one model.

use super::{Write, as_i64, sql::MODEL_TICKET};
use crate::{Generation, IndexError, order::numbers};
use deadpool_postgres::Transaction;
use pgvector::Vector;
use std::collections::HashSet;
use whence_contract::{ContentHash, EmbeddedTicket};
use whence_log::Input;

impl Write<'_> {
    /// Vectors of other models whose text is gone: a deleted text leaves none.
    pub(super) async fn prune(
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
    pub(super) async fn vectors(
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
        let used: HashSet<&Vec<u8>> = live.iter().collect();
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
fn decode(hash: &ContentHash) -> Vec<u8> {
    hex::decode(hash.as_str()).unwrap_or_default()
}
