//! Question and passage to one score: how well the passage answers the question.

mod cross_encoder;
mod pair;
mod pair_session;
pub(crate) mod spec;
#[cfg(test)]
mod test_graph;

pub(crate) use cross_encoder::logistic;
pub use cross_encoder::{CrossEncoder, CrossEncoderOptions};

use crate::{Endpoint, ModelError, ModelFiles, RerankerSpec, remote::RemoteReranker};
use std::time::Instant;

/// A reranker at work, in this process or on a server.
#[derive(Debug)]
pub struct Reranker {
    name: String,
    runs: Runs,
}

#[derive(Debug)]
enum Runs {
    Here(Box<CrossEncoder>),
    There(Box<RemoteReranker>),
}

impl Reranker {
    /// Loads the cross-encoder of `spec`. Blocks.
    ///
    /// # Errors
    /// When a file is missing or is not what it should be.
    pub fn load(
        spec: &RerankerSpec,
        files: &ModelFiles,
        options: CrossEncoderOptions,
    ) -> Result<Self, ModelError> {
        let encoder = CrossEncoder::load(spec, files, options)?;
        Ok(Self {
            name: spec.name.clone(),
            runs: Runs::Here(Box::new(encoder)),
        })
    }

    /// A model on the server at `endpoint`, which is not asked yet.
    ///
    /// # Errors
    /// When address or key cannot be used.
    pub fn connect(spec: &RerankerSpec, endpoint: &Endpoint) -> Result<Self, ModelError> {
        let remote = RemoteReranker::new(spec, endpoint)?;
        Ok(Self {
            name: spec.name.clone(),
            runs: Runs::There(Box::new(remote)),
        })
    }

    /// The entry's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// How well each passage answers `query`, 0 to 1, in the order of `passages`.
    /// `None` for those that were not scored by `deadline`, and for those beyond the
    /// first `pairs`.
    ///
    /// Dropping the future gives up what has not begun.
    ///
    /// # Errors
    /// In this process as [`CrossEncoder::score`]; from a server
    /// [`ModelError::Unavailable`] when it does not answer or fails, and
    /// [`ModelError::Unusable`] when address, key or entry are wrong.
    pub async fn score(
        &self,
        query: &str,
        passages: &[String],
        pairs: usize,
        deadline: Instant,
    ) -> Result<Vec<Option<f32>>, ModelError> {
        match &self.runs {
            Runs::Here(encoder) => encoder.score(query, passages, pairs, deadline).await,
            Runs::There(remote) => remote.score(query, passages, pairs, deadline).await,
        }
    }
}
