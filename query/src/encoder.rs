//! Whatever turns a question into a vector.

use async_trait::async_trait;
use thiserror::Error;
use whence_contract::ModelId;

/// The query side of an embedding model.
#[async_trait]
pub trait QueryEncoder: Send + Sync {
    /// The identity of the model: only its own vectors are compared.
    fn model(&self) -> &ModelId;

    /// The cosine similarity below which its vectors say nothing; `None` where
    /// nobody measured it.
    fn floor(&self) -> Option<f64> {
        None
    }

    /// The vector of a question, with the query prompt of the model's authors.
    ///
    /// # Errors
    /// When the model does not answer; the search then goes on without it.
    async fn encode(&self, query: &str) -> Result<Vec<f32>, EncodeError>;
}

/// A question that could not be encoded.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct EncodeError(pub String);
