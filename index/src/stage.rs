//! The stage: vectors in, rows written, and word of it out.

use crate::{
    Generation, IndexError,
    apply::{apply, delete},
};
use async_trait::async_trait;
use deadpool_postgres::{Client, Pool};
use whence_contract::{EmbeddedTicket, IndexedTicket, Recipe};
use whence_log::{Input, Previous, Stage, StageError};

/// Writes tickets of one model's vectors. Several workers may share it; the
/// pool's size bounds how many write at once.
pub struct IndexStage {
    pool: Pool,
    generation: Generation,
}

impl IndexStage {
    /// A stage that writes through `pool` for a model that was set up.
    pub fn new(pool: Pool, generation: Generation) -> Self {
        Self { pool, generation }
    }

    async fn client(&self) -> Result<Client, IndexError> {
        self.pool
            .get()
            .await
            .map_err(|error| IndexError::pool("getting a connection to Postgres", error))
    }
}

#[async_trait]
impl Stage for IndexStage {
    type In = EmbeddedTicket;
    type Out = IndexedTicket;

    fn name(&self) -> &'static str {
        "index"
    }

    fn recipe(&self, input: Recipe) -> Recipe {
        input
    }

    async fn handle(
        &self,
        input: Input<EmbeddedTicket>,
        _previous: &Previous<IndexedTicket>,
    ) -> Result<IndexedTicket, StageError> {
        let mut client = self.client().await?;
        let applied = apply(&mut client, &self.generation, &input).await?;
        tracing::debug!(ticket = %input.key, revision = %input.revision, outcome = ?applied.outcome, "indexed");
        let ticket = input.body.ticket;
        Ok(IndexedTicket {
            model: input.body.model,
            stored: applied.stored,
            id: ticket.document.id,
            kind: ticket.document.kind,
            chunks: u32::try_from(ticket.chunks.len()).unwrap_or(u32::MAX),
            indexed_at: applied.indexed_at,
        })
    }

    async fn deleted(&self, tombstone: Input<()>) -> Result<(), StageError> {
        let mut client = self.client().await?;
        let applied = delete(&mut client, &self.generation, &tombstone).await?;
        tracing::debug!(ticket = %tombstone.key, revision = %tombstone.revision, outcome = ?applied.outcome, "deleted");
        Ok(())
    }
}
