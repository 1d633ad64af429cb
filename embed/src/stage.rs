//! The stage: chunked tickets in, embedded tickets out.

use async_trait::async_trait;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use whence_contract::{
    ChunkedTicket, ContentHash, EmbeddedTicket, Embedding, ModelId, Recipe, StageVersion,
};
use whence_log::{Input, LogErrorKind, Previous, Stage, StageError};
use whence_model::{EmbedKind, Encoder, ModelError};

/// Raised when the output for equal input changes. The model is not part of it:
/// each model has a stream of its own.
pub const VERSION: u32 = 1;

/// CHUNKS to the model's VECTORS. The previous output is the only cache.
pub struct EmbedStage {
    encoder: Arc<Encoder>,
    model: ModelId,
    counters: Arc<Counters>,
}

/// What became of texts since the stage started: each distinct text of a ticket
/// counts once.
#[derive(Debug, Default)]
pub struct Counters {
    /// Texts that went through the model.
    pub embedded: AtomicU64,
    /// Texts whose vector stood in the previous output.
    pub reused: AtomicU64,
}

impl EmbedStage {
    /// A stage around a loaded model, which may be shared.
    pub fn new(encoder: Arc<Encoder>) -> Self {
        let model = encoder.id().clone();
        Self {
            encoder,
            model,
            counters: Arc::default(),
        }
    }

    /// The counters, for whoever reports them.
    pub fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.counters)
    }

    /// Vectors of the last output that this model made, by text.
    async fn known(
        &self,
        previous: &Previous<EmbeddedTicket>,
    ) -> Result<BTreeMap<ContentHash, Vec<f32>>, StageError> {
        let last = previous.get().await.map_err(|error| match error.kind {
            LogErrorKind::Fatal => StageError::fatal(error),
            LogErrorKind::Transient | LogErrorKind::Conflict | LogErrorKind::Malformed => {
                StageError::transient(error)
            }
        })?;
        let same_model = last.filter(|last| last.model == self.model);
        Ok(same_model.map_or_else(BTreeMap::new, |last| {
            let vectors = last.vectors.into_iter();
            vectors
                .filter(|known| known.vector.len() == self.encoder.dims())
                .map(|known| (known.text_hash, known.vector))
                .collect()
        }))
    }
}

#[async_trait]
impl Stage for EmbedStage {
    type In = ChunkedTicket;
    type Out = EmbeddedTicket;

    fn name(&self) -> &'static str {
        "embed"
    }

    fn recipe(&self, input: Recipe) -> Recipe {
        Recipe {
            embed: StageVersion {
                code: VERSION,
                settings: 0,
            },
            ..input
        }
    }

    async fn handle(
        &self,
        input: Input<ChunkedTicket>,
        previous: &Previous<EmbeddedTicket>,
    ) -> Result<EmbeddedTicket, StageError> {
        let ticket = input.body;
        // The position is that of the first chunk with this text: errors name it.
        let mut texts: BTreeMap<&ContentHash, usize> = BTreeMap::new();
        for (position, chunk) in ticket.chunks.iter().enumerate() {
            texts.entry(&chunk.text_hash).or_insert(position);
        }
        // A ticket without prose needs neither the cache nor the model.
        let mut known = if texts.is_empty() {
            BTreeMap::new()
        } else {
            self.known(previous).await?
        };

        let fresh: Vec<usize> = texts
            .iter()
            .filter(|(hash, _)| !known.contains_key(**hash))
            .map(|(_, position)| *position)
            .collect();
        let passages = fresh.iter().map(|&at| ticket.chunks[at].text.clone());
        let made = self
            .encoder
            .embed(passages.collect(), EmbedKind::Passage)
            .await
            .map_err(|error| stage_error(error, &ticket, &fresh))?;
        for (&at, vector) in fresh.iter().zip(made) {
            known.insert(ticket.chunks[at].text_hash.clone(), vector);
        }

        // `known` is sorted by hash; what no chunk has any more is left behind.
        let vectors: Vec<Embedding> = known
            .into_iter()
            .filter(|(hash, _)| texts.contains_key(hash))
            .map(|(text_hash, vector)| Embedding { text_hash, vector })
            .collect();
        let (embedded, total) = (fresh.len() as u64, vectors.len() as u64);
        let count = |counter: &AtomicU64, n| counter.fetch_add(n, Ordering::Relaxed);
        count(&self.counters.embedded, embedded);
        count(&self.counters.reused, total - embedded);
        Ok(EmbeddedTicket {
            model: self.model.clone(),
            ticket,
            vectors,
        })
    }
}

/// `fresh` maps the model's text numbers to chunks.
fn stage_error(error: ModelError, ticket: &ChunkedTicket, fresh: &[usize]) -> StageError {
    let seq_of = |index: usize| {
        let chunk = fresh.get(index).and_then(|&at| ticket.chunks.get(at));
        chunk.map_or(0, |chunk| chunk.seq)
    };
    match error {
        ModelError::TooLong { index, .. } | ModelError::Refused { index, .. } => {
            StageError::refused(ChunkError {
                id: ticket.document.id.clone(),
                seq: seq_of(index),
                source: error,
            })
        }
        ModelError::Unavailable { .. } => StageError::transient(error),
        // A model that fails on one text fails on others; the message comes again.
        ModelError::Unusable { .. }
        | ModelError::Unknown { .. }
        | ModelError::Table { .. }
        | ModelError::Entry { .. }
        | ModelError::File { .. }
        | ModelError::Runtime { .. }
        | ModelError::Stopped => StageError::fatal(error),
    }
}

/// A chunk that the model cannot take.
#[derive(Debug, thiserror::Error)]
#[error("chunk {seq} of {id} cannot be embedded")]
struct ChunkError {
    id: String,
    seq: u32,
    source: ModelError,
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use whence_log::ErrorKind;

    #[test]
    fn a_bad_text_is_refused_a_server_that_is_away_waited_for_and_a_wrong_one_ends_it() {
        let ticket: ChunkedTicket = serde_json::from_value(serde_json::json!({
            "document": {"source": "github", "project": "acme/kiln", "id": "acme/kiln#7",
                "kind": "issue", "title": "The kiln cools too fast"},
            "chunks": [], "ticket_refs": [],
        }))
        .unwrap();
        let (server, why) = ("http://127.0.0.1:1".to_owned(), "so".to_owned());
        let refused = ModelError::Refused {
            index: 0,
            server: server.clone(),
            why: why.clone(),
        };
        let (away, told) = (server.clone(), why.clone());
        let unavailable = ModelError::Unavailable {
            server: away,
            why: told,
        };
        let unusable = ModelError::Unusable { server, why };
        for (error, kind) in [
            (refused, ErrorKind::Refused),
            (unavailable, ErrorKind::Transient),
            (unusable, ErrorKind::Fatal),
        ] {
            let error = stage_error(error, &ticket, &[]);
            assert_eq!(error.kind, kind, "{error}");
        }
    }
}
