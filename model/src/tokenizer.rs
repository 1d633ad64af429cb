//! The model's own tokenizer, without the limits that its file carries.

use crate::ModelError;
use std::path::Path;

/// Counts and encodes, whatever the length: a `tokenizer.json` may itself say
/// "cut at 128", and a text would lose its tail without a word.
pub struct Tokenizer {
    pub(crate) inner: tokenizers::Tokenizer,
    /// What fills a batch up, as the file says.
    pub(crate) pad: u32,
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
        let named = || {
            ["[PAD]", "<pad>"]
                .iter()
                .find_map(|name| inner.token_to_id(name))
        };
        let pad = inner.get_padding().map(|padding| padding.pad_id);
        let pad = pad.or_else(named).unwrap_or(0);
        inner.with_truncation(None).map_err(failed)?;
        inner.with_padding(None);
        Ok(Self { inner, pad })
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

    /// The beginning of `text` that has at most `limit` tokens, special ones
    /// included; all of it where it fits.
    pub fn fit<'a>(&self, text: &'a str, limit: usize) -> &'a str {
        let Ok(encoding) = self.inner.encode(text, true) else {
            return text;
        };
        let excess = encoding.len().saturating_sub(limit);
        if excess == 0 {
            return text;
        }
        // The offsets of special tokens are empty.
        let ends = encoding
            .get_offsets()
            .iter()
            .filter(|(start, end)| end > start);
        let ends: Vec<usize> = ends.map(|(_, end)| *end).collect();
        match ends.len().checked_sub(excess + 1) {
            Some(last) => text.get(..ends[last]).unwrap_or(text),
            None => "",
        }
    }
}
