//! Whatever says how well a passage answers a question.

use async_trait::async_trait;
use std::time::Instant;
use thiserror::Error;

/// A cross-encoder, here or elsewhere.
#[async_trait]
pub trait Reranker: Send + Sync {
    /// The model's name, for answers and for people.
    fn name(&self) -> &str;

    /// How well each passage answers `query`, 0 to 1, in the order of `passages`.
    /// `None` for those that were not scored by `deadline`, or are beyond what the
    /// reranker takes at a time. Returns by the deadline, or shortly after it.
    ///
    /// # Errors
    /// When the model does not answer or cannot be used; the search then keeps the
    /// order that it has, and says why.
    async fn score(
        &self,
        query: &str,
        passages: &[String],
        deadline: Instant,
    ) -> Result<Vec<Option<f32>>, RerankError>;
}

/// Passages that could not be scored.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct RerankError(pub String);
