//! A server on loopback that answers as each kind does, and fails on request.

use axum::{
    Router,
    body::Body,
    extract::State,
    http::{HeaderMap, Response, Uri},
};
use serde_json::{Value, json};
use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

/// What the next requests get instead of an answer.
#[derive(Clone, Debug)]
pub(crate) enum Fault {
    Status(u16, &'static [(&'static str, &'static str)], &'static str),
    /// The answer with its end cut off, as if it were whole.
    Truncated,
    /// One vector too few.
    Short,
    /// The JSON that stands here.
    Instead(Value),
    Slow(Duration),
}

/// One request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) key: Option<String>,
    pub(crate) body: Value,
}

#[derive(Default)]
struct Script {
    faults: VecDeque<Fault>,
    /// A text that holds this gets this status, alone or in a batch.
    poison: Option<(&'static str, u16)>,
    seen: Vec<Seen>,
}

#[derive(Clone)]
pub(crate) struct Server {
    pub(crate) url: String,
    script: Arc<Mutex<Script>>,
}

/// Numbers in every vector.
pub(crate) const DIMS: usize = 4;

impl Server {
    pub(crate) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = Self {
            url: format!("http://{}", listener.local_addr().unwrap()),
            script: Arc::default(),
        };
        let app = Router::new().fallback(answer).with_state(server.clone());
        tokio::spawn(async move { axum::serve(listener, app).await });
        server
    }

    fn script(&self) -> std::sync::MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The next requests fail like this, one after the other.
    pub(crate) fn fail(&self, faults: impl IntoIterator<Item = Fault>) {
        self.script().faults.extend(faults);
    }

    pub(crate) fn poison(&self, word: &'static str, status: u16) {
        self.script().poison = Some((word, status));
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.script().seen.clone()
    }
}

/// A vector that tells its text: length, and how often two letters are in it.
fn vector(text: &str) -> Vec<f32> {
    let count = |c| text.matches(c).count() as f32;
    vec![1.0, text.len() as f32, count('a'), count('e')]
}

async fn answer(
    State(server): State<Server>,
    headers: HeaderMap,
    uri: Uri,
    body: axum::body::Bytes,
) -> Response<Body> {
    let body: Value = serde_json::from_slice(&body).unwrap();
    let (fault, poison) = {
        let mut script = server.script();
        let key = headers.get("authorization");
        script.seen.push(Seen {
            path: uri.path().to_owned(),
            key: key.map(|key| key.to_str().unwrap().to_owned()),
            body: body.clone(),
        });
        (script.faults.pop_front(), script.poison)
    };
    let texts: Vec<String> = ["input", "inputs", "texts", "documents"]
        .iter()
        .find_map(|field| serde_json::from_value(body[*field].clone()).ok())
        .unwrap_or_default();
    if let Some((word, status)) = poison
        && texts.iter().any(|text| text.contains(word))
    {
        return reply(
            status,
            &[],
            json!({"error": "this text is bad"}).to_string(),
        );
    }
    let mut vectors: Vec<Vec<f32>> = texts.iter().map(|text| vector(text)).collect();
    match &fault {
        Some(Fault::Status(status, headers, body)) => {
            return reply(*status, headers, (*body).to_owned());
        }
        Some(Fault::Instead(value)) => return reply(200, &[], value.to_string()),
        Some(Fault::Slow(pause)) => tokio::time::sleep(*pause).await,
        Some(Fault::Short) => {
            vectors.pop();
        }
        Some(Fault::Truncated) | None => {}
    }
    let mut text = shape(uri.path(), &vectors).to_string();
    if matches!(fault, Some(Fault::Truncated)) {
        text.truncate(text.len() / 2);
    }
    reply(200, &[], text)
}

/// As each kind of server puts it. Order is not promised by OpenAI, Cohere or TEI's
/// reranker: they say the index.
fn shape(path: &str, vectors: &[Vec<f32>]) -> Value {
    let reversed = || vectors.iter().enumerate().rev();
    let score = |vector: &[f32]| vector[2] / (1.0 + vector[1]);
    match path {
        "/api/embed" => json!({"model": "m", "embeddings": vectors}),
        "/embed" => json!(vectors),
        "/rerank" => reversed()
            .map(|(index, v)| json!({"index": index, "score": score(v)}))
            .collect(),
        path if path.ends_with("/rerank") => json!({"results": reversed()
            .map(|(index, v)| json!({"index": index, "relevance_score": score(v)}))
            .collect::<Value>()}),
        _ => json!({"object": "list", "data": reversed()
            .map(|(index, v)| json!({"index": index, "embedding": v}))
            .collect::<Value>()}),
    }
}

fn reply(status: u16, headers: &[(&'static str, &'static str)], body: String) -> Response<Body> {
    let mut response = Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(*name, *value);
    }
    response.body(Body::from(body)).unwrap()
}
