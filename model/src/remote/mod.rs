//! Models on a server: vectors and scores over HTTP.
//!
//! A server is trusted with nothing: how many vectors it gives, how long they are,
//! that they are numbers, and how much it says is all checked. It may be away at
//! any time; then passages wait and questions are answered without it.

mod address;
mod client;
mod dialect;
mod encoder;
mod reranker;
mod retry;
mod verdict;

pub(crate) use encoder::{Measured, RemoteEncoder};
pub(crate) use reranker::RemoteReranker;

use std::{fmt, time::Duration};

/// Where a model's server is, and how it is asked.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// `https://host`, or `http://127.0.0.1:port`; with a path where the server
    /// has one, such as `https://api.openai.com/v1`.
    pub url: String,
    /// Sent as a bearer token.
    pub key: Option<Key>,
}

/// How an encoder on a server is asked.
#[derive(Clone, Copy, Debug)]
pub struct RemoteOptions {
    /// Requests with passages at a time. Questions do not count.
    pub concurrency: usize,
    /// How long a question may wait for its vector, retries included.
    pub question_timeout: Duration,
}

/// A server's key: never shown.
#[derive(Clone)]
pub struct Key(String);

impl Key {
    /// A key as its server gave it out.
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into())
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}
