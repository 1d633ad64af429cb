//! What can go wrong with a model.

use std::{error::Error, path::PathBuf};
use thiserror::Error;

/// A model that cannot be used, or a text that it cannot take.
#[derive(Debug, Error)]
pub enum ModelError {
    /// `models.toml` has no such entry.
    #[error("there is no model {name:?}; models.toml has {known}")]
    Unknown {
        /// As it was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// `models.toml` cannot be read.
    #[error("models.toml is wrong: {0}")]
    Table(#[source] toml::de::Error),
    /// A file is missing or is not what it should be.
    #[error("cannot use {path}: {why}", path = path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// What is wrong, and what to do.
        why: String,
        /// What was said below.
        #[source]
        source: Option<Box<dyn Error + Send + Sync>>,
    },
    /// The runtime refused.
    #[error("the model runtime failed while {doing}")]
    Runtime {
        /// What was tried.
        doing: &'static str,
        /// What it said.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// The text does not fit. Nothing is cut silently.
    #[error("the text has {tokens} tokens, the model takes {limit}")]
    TooLong {
        /// Which of the texts, from 0.
        index: usize,
        /// Tokens of the text, special ones included.
        tokens: usize,
        /// The model's window.
        limit: usize,
    },
    /// The encoder's threads are gone: the process is ending.
    #[error("the encoder has stopped")]
    Stopped,
}

impl ModelError {
    pub(crate) fn file(path: &std::path::Path, why: impl Into<String>) -> Self {
        Self::File {
            path: path.to_owned(),
            why: why.into(),
            source: None,
        }
    }

    pub(crate) fn runtime(
        doing: &'static str,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self::Runtime {
            doing,
            source: source.into(),
        }
    }
}
