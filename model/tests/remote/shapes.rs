//! Each kind of server's requests and answers. Ollama and TEI are played by the
//! test's own server: no real one was at hand.

use super::{
    KEY, connect, cosine, endpoint, passages, question,
    server::{DIMS, Server},
};
use serde_json::json;
use whence_model::{ModelSpec, find};

/// A built-in entry, with vectors as short as the test server's.
pub(crate) fn short(name: &str) -> ModelSpec {
    let mut spec = find(name).unwrap();
    spec.dims = DIMS;
    spec
}

#[tokio::test]
async fn every_provider_gives_unit_vectors_in_the_order_of_the_texts() {
    for (name, path) in [
        ("nomic-embed-text", "/api/embed"),
        ("bge-m3-tei", "/embed"),
        ("text-embedding-3-small", "/v1/embeddings"),
    ] {
        let server = Server::start().await;
        let encoder = connect(&short(name), &endpoint(&server.url));
        let texts = ["a", "banana banana banana banana", "kiln"];
        let vectors = passages(&encoder, &texts).await.unwrap();
        for (text, vector) in texts.iter().zip(&vectors) {
            let alone = passages(&encoder, &[*text]).await.unwrap();
            assert_eq!(&alone[0], vector, "{name}: {text}");
            assert!((cosine(vector, vector) - 1.0).abs() < 1e-6, "{name}");
        }
        assert_ne!(vectors[0], vectors[2]);
        let first = &server.seen()[0];
        assert_eq!(first.path, path);
        assert_eq!(first.key, Some(format!("Bearer {KEY}")));
    }
}

#[tokio::test]
async fn prompts_are_the_authors_and_questions_may_be_cut() {
    let server = Server::start().await;
    let encoder = connect(&short("nomic-embed-text"), &endpoint(&server.url));
    passages(&encoder, &["kiln"]).await.unwrap();
    question(&encoder, "kiln").await.unwrap();
    let seen = server.seen();
    assert_eq!(seen[0].body["input"], json!(["search_document: kiln"]));
    assert_eq!(seen[0].body["truncate"], json!(false));
    assert_eq!(seen[1].body["input"], json!(["search_query: kiln"]));
    assert_eq!(seen[1].body["truncate"], json!(true));
}

#[tokio::test]
async fn a_question_beyond_the_window_is_cut_and_a_passage_is_refused() {
    let server = Server::start().await;
    let encoder = connect(&short("multilingual-e5-small"), &endpoint(&server.url));
    let long = "kiln ".repeat(1000);
    question(&encoder, &long).await.unwrap();
    let sent = server.seen()[0].body["inputs"][0]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(long.starts_with(sent.strip_prefix("query: ").unwrap()));
    assert_eq!(encoder.tokenizer().count(&sent), 512, "as much as fits");
    let error = passages(&encoder, &["short", &long]).await.unwrap_err();
    let whence_model::ModelError::TooLong { index, limit, .. } = error else {
        panic!("{error}")
    };
    assert_eq!((index, limit), (1, 512));
}

#[tokio::test]
async fn batches_stay_within_what_servers_take() {
    let server = Server::start().await;
    let encoder = connect(&short("bge-m3-tei"), &endpoint(&server.url));
    let long = "kiln ".repeat(2000);
    let texts: Vec<&str> = (0..70)
        .map(|n| if n % 9 == 0 { &*long } else { "glaze" })
        .collect();
    let vectors = passages(&encoder, &texts).await.unwrap();
    assert_eq!(vectors.len(), 70);
    assert!(vectors[0] == vectors[9] && vectors[1] == vectors[2] && vectors[0] != vectors[1]);
    let mut sent = 0;
    for seen in server.seen() {
        let inputs = seen.body["inputs"].as_array().unwrap().clone();
        let long = inputs
            .iter()
            .filter(|text| text.as_str().unwrap().len() > 100);
        assert!(inputs.len() <= 32 && long.count() <= 4, "{}", inputs.len());
        sent += inputs.len();
    }
    assert_eq!(sent, 70, "each text once");
}
