//! How large a chunk may be, and which ticket keys count as references.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use whence_contract::ContentHash;

/// The ceiling of [`Limits::max_tokens`]: what the reranker reads of a text.
pub const MOST_TOKENS: usize = 512;
/// The default: texts of 128 to 256 tokens were measured to retrieve better
/// than texts of 512.
pub const DEFAULT_TOKENS: usize = 200;
/// The floor: below it a prefix and one emoji no longer fit together.
pub const LEAST_TOKENS: usize = 32;

/// Counts tokens as the model does.
pub trait CountTokens: Send + Sync {
    /// Tokens of `text`, untruncated and unpadded, *with* the special tokens
    /// that the model adds to every text: whoever implements this adds them, so
    /// that a count can be held against a model's limit as it is.
    fn count(&self, text: &str) -> usize;
}

/// What a chunk may hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Tokens of a whole text, prefix and special tokens included. Used within
    /// [`LEAST_TOKENS`]..=[`MOST_TOKENS`], whatever is set.
    pub max_tokens: usize,
    /// Which ticket keys count as references.
    pub refs: RefRules,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_tokens: DEFAULT_TOKENS,
            refs: RefRules::default(),
        }
    }
}

impl Limits {
    /// The budget that is used: [`Limits::max_tokens`] within its bounds.
    pub fn tokens(&self) -> usize {
        self.max_tokens.clamp(LEAST_TOKENS, MOST_TOKENS)
    }

    /// The same as a bound on bytes without the prefix. A word that a model
    /// does not know is one token however long it is, and a row or a snippet of
    /// ten megabytes serves nobody.
    pub fn bytes(&self) -> usize {
        self.tokens() * 16
    }
}

/// Which ticket keys count as references.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RefRules {
    /// Keys of Jira projects and Linear teams (`PROJ`) that count anywhere.
    /// Outside Jira and Linear no other key counts, because most of what looks
    /// like one is not: `UTF-8`, `SHA-256`, `ADR-0034`.
    pub known_projects: BTreeSet<String>,
}

/// The settings as one value that changes when any of them does: for the
/// ordinal that orders recipes. `tokenizer` names the counter's exact tokenizer.
pub fn fingerprint(limits: &Limits, tokenizer: &str) -> String {
    let known: Vec<&str> = limits
        .refs
        .known_projects
        .iter()
        .map(String::as_str)
        .collect();
    let settings = serde_json::json!([limits.tokens(), known, tokenizer]);
    ContentHash::of(settings.to_string()).as_str().to_owned()
}
