//! What can go wrong with a model.

use std::{error::Error, path::PathBuf};
use thiserror::Error;

/// A model that cannot be used, or a text that it cannot take.
#[derive(Debug, Error)]
pub enum ModelError {
    /// `models.toml` has no such entry.
    #[error("there is no {kind} {name:?}; models.toml has {known}")]
    Unknown {
        /// `encoder` or `reranker`.
        kind: &'static str,
        /// As it was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A table of models cannot be read.
    #[error("{file} is no table of models")]
    Table {
        /// Which file.
        file: String,
        /// Where and why.
        #[source]
        source: toml::de::Error,
    },
    /// An entry of a table of models is wrong.
    #[error("{file}, entry [{name}]: {why}")]
    Entry {
        /// Which file.
        file: String,
        /// Which entry.
        name: String,
        /// What is wrong.
        why: String,
    },
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
    /// A server is away, overloaded or broken: later it may answer.
    #[error("the model server {server} does not answer: {why}")]
    Unavailable {
        /// Its address, without anything secret.
        server: String,
        /// What happened.
        why: String,
    },
    /// A server does not take this text, though it takes others.
    #[error("the model server {server} does not take the text: {why}")]
    Refused {
        /// Which of the texts, from 0.
        index: usize,
        /// Its address, without anything secret.
        server: String,
        /// What it said.
        why: String,
    },
    /// A server takes nothing as things are configured.
    #[error("the model server {server} cannot be used: {why}")]
    Unusable {
        /// Its address, without anything secret.
        server: String,
        /// What is wrong, and what to do.
        why: String,
    },
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
