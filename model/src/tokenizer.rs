//! The model's own tokenizer, without the limits that its file carries.

use crate::ModelError;
use std::path::Path;

/// Counts and encodes, whatever the length: a `tokenizer.json` may itself say
/// "cut at 128", and a text would lose its tail without a word.
pub struct Tokenizer {
    inner: tokenizers::Tokenizer,
}

impl std::fmt::Debug for Tokenizer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tokenizer").finish_non_exhaustive()
    }
}

impl Tokenizer {
    /// Reads a `tokenizer.json`.
    ///
    /// # Errors
    /// When the file cannot be read as one.
    pub fn load(path: &Path) -> Result<Self, ModelError> {
        let failed = |source| ModelError::File {
            path: path.to_owned(),
            why: "it is not a readable tokenizer.json".to_owned(),
            source: Some(source),
        };
        let mut inner = tokenizers::Tokenizer::from_file(path).map_err(failed)?;
        inner.with_truncation(None).map_err(failed)?;
        inner.with_padding(None);
        Ok(Self { inner })
    }

    /// How many tokens `text` has, special ones included.
    pub fn count(&self, text: &str) -> usize {
        self.encode(text).len()
    }

    /// The token ids of `text`, special ones included.
    pub fn encode(&self, text: &str) -> Vec<i64> {
        match self.inner.encode_fast(text, true) {
            Ok(encoding) => encoding.get_ids().iter().map(|id| i64::from(*id)).collect(),
            // Only a tokenizer without an unknown token refuses a text. One
            // token more than any model reads makes the caller refuse it.
            Err(error) => {
                tracing::warn!(error, "a text could not be tokenized");
                vec![0; usize::from(u16::MAX)]
            }
        }
    }
}
