//! The stage: documents in, chunked tickets out.

use crate::limits::{CountTokens, Limits};
use crate::{VERSION, chunk};
use async_trait::async_trait;
use std::sync::Arc;
use whence_contract::{ChunkedTicket, Document, Recipe, StageVersion};
use whence_log::{Input, Previous, Stage, StageError};

/// DOCS to CHUNKS. Keeps nothing between messages.
pub struct ChunkStage {
    limits: Arc<Limits>,
    counter: Arc<dyn CountTokens>,
    settings: u32,
}

impl ChunkStage {
    /// `settings` is the ordinal that the log gave to [`crate::fingerprint`] of
    /// these limits and this counter's tokenizer.
    pub fn new(limits: Limits, counter: Arc<dyn CountTokens>, settings: u32) -> Self {
        Self {
            limits: Arc::new(limits),
            counter,
            settings,
        }
    }
}

#[async_trait]
impl Stage for ChunkStage {
    type In = Document;
    type Out = ChunkedTicket;

    fn name(&self) -> &'static str {
        "chunk"
    }

    fn recipe(&self, input: Recipe) -> Recipe {
        Recipe {
            chunk: StageVersion {
                code: VERSION,
                settings: self.settings,
            },
            ..input
        }
    }

    async fn handle(
        &self,
        input: Input<Document>,
        _previous: &Previous<ChunkedTicket>,
    ) -> Result<ChunkedTicket, StageError> {
        let (limits, counter) = (Arc::clone(&self.limits), Arc::clone(&self.counter));
        // A ticket with thousands of comments takes seconds; the loop signals
        // progress meanwhile.
        let work =
            tokio::task::spawn_blocking(move || chunk(&input.body, &limits, counter.as_ref()));
        work.await.map_err(|error| {
            // Cancelled: the runtime is going down, and the message comes again.
            if error.is_cancelled() {
                StageError::transient(error)
            } else {
                StageError::malformed(error)
            }
        })
    }
}
