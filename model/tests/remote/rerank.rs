//! Rerankers on a server, played by the test's own: no real one was at hand.

use super::{
    KEY, endpoint,
    server::{Fault, Server},
};
use serde_json::json;
use std::time::{Duration, Instant};
use whence_model::{ModelError, Models, Reranker};

fn connect(name: &str, url: &str) -> Reranker {
    let spec = Models::built_in().unwrap().reranker(name).unwrap();
    Reranker::connect(&spec, &endpoint(url)).unwrap()
}

fn passages(count: usize) -> Vec<String> {
    (0..count).map(|n| "a".repeat(n % 7) + "kiln").collect()
}

fn later() -> Instant {
    Instant::now() + Duration::from_secs(60)
}

/// As the test's server scores.
fn expected(passage: &str) -> f32 {
    passage.matches('a').count() as f32 / (1.0 + passage.len() as f32)
}

#[tokio::test]
async fn scores_are_in_the_order_of_the_passages() {
    for (name, suffix, path, requests) in [
        ("bge-reranker-tei", "", "/rerank", 3),
        ("cohere-rerank", "", "/v1/rerank", 1),
        ("jina-reranker", "/v2", "/v2/rerank", 1),
    ] {
        let server = Server::start().await;
        let reranker = connect(name, &format!("{}{suffix}", server.url));
        assert_eq!(reranker.name(), name);
        let passages = passages(70);
        let scores = reranker.score("why", &passages, 70, later()).await.unwrap();
        for (passage, score) in passages.iter().zip(scores) {
            assert_eq!(score, Some(expected(passage)), "{name}");
        }
        let seen = server.seen();
        assert_eq!(seen.len(), requests, "{name}");
        assert!(seen.iter().all(|seen| seen.path == path), "{seen:?}");
        assert_eq!(seen[0].key, Some(format!("Bearer {KEY}")));
        assert_eq!(seen[0].body["query"], "why");
    }
}

#[tokio::test]
async fn each_server_is_asked_in_its_own_way() {
    let server = Server::start().await;
    let texts = passages(2);
    for name in ["bge-reranker-tei", "jina-reranker"] {
        let reranker = connect(name, &server.url);
        reranker.score("why", &texts, 2, later()).await.unwrap();
    }
    let seen = server.seen();
    assert_eq!(
        seen[0].body,
        json!({"query": "why", "texts": texts, "truncate": true, "raw_scores": false})
    );
    assert_eq!(
        seen[1].body,
        json!({"model": "jina-reranker-v2-base-multilingual", "query": "why",
               "documents": texts, "top_n": 2, "return_documents": false})
    );
}

#[tokio::test]
async fn what_is_beyond_the_budget_or_the_deadline_has_no_score() {
    let server = Server::start().await;
    let reranker = connect("cohere-rerank", &server.url);
    let texts = passages(5);
    let scores = reranker.score("why", &texts, 3, later()).await.unwrap();
    assert_eq!(
        scores.iter().map(Option::is_some).collect::<Vec<_>>(),
        [true, true, true, false, false]
    );
    let none = reranker.score("why", &[], 3, later()).await.unwrap();
    assert!(none.is_empty());
    server.fail([Fault::Slow(Duration::from_secs(60))]);
    let soon = Instant::now() + Duration::from_millis(200);
    let scores = reranker.score("why", &texts, 5, soon).await.unwrap();
    assert_eq!(scores, [None; 5]);
}

#[tokio::test]
async fn what_passes_is_asked_again_and_what_stays_is_an_error() {
    let faults = [
        Fault::Status(503, &[], ""),
        Fault::Status(500, &[], "oops"),
        Fault::Truncated,
        Fault::Short,
        Fault::Instead(json!({"results": [{"index": 0, "relevance_score": null}]})),
        Fault::Instead(json!({"results": [{"index": 9, "relevance_score": 0.5}]})),
    ];
    for fault in faults {
        let server = Server::start().await;
        let reranker = connect("cohere-rerank", &server.url);
        server.fail([fault.clone()]);
        let texts = passages(1);
        let scores = reranker.score("why", &texts, 1, later()).await.unwrap();
        assert_eq!(scores, [Some(expected(&texts[0]))], "{fault:?}");
        // It does not pass before the deadline.
        server.fail(vec![fault.clone(); 1000]);
        let soon = Instant::now() + Duration::from_millis(700);
        let error = reranker.score("why", &texts, 1, soon).await.unwrap_err();
        assert!(matches!(error, ModelError::Unavailable { .. }), "{error}");
        assert!(error.to_string().contains(&server.url), "{error}");
    }
}

#[tokio::test]
async fn a_wrong_key_is_said_and_not_shown() {
    let server = Server::start().await;
    let reranker = connect("cohere-rerank", &server.url);
    server.fail([Fault::Status(401, &[], "invalid token")]);
    let error = reranker.score("why", &passages(1), 1, later()).await;
    let error = error.unwrap_err();
    assert!(matches!(error, ModelError::Unusable { .. }), "{error}");
    let text = format!("{error} {error:?} {reranker:?}");
    assert!(text.contains("key_env") && !text.contains(KEY), "{text}");
    assert_eq!(server.seen().len(), 1, "a wrong key is not tried again");
}

#[tokio::test]
async fn logits_are_taken_where_the_entry_says_so() {
    let server = Server::start().await;
    let answer = json!({"results": [{"index": 0, "relevance_score": 0.0},
                                    {"index": 1, "relevance_score": -4.0}]});
    let texts = passages(2);
    server.fail([Fault::Instead(answer.clone()), Fault::Instead(answer)]);
    let reranker = connect("bge-reranker-llama-cpp", &server.url);
    let scores = reranker.score("why", &texts, 2, later()).await.unwrap();
    assert_eq!(scores[0], Some(0.5));
    assert!(scores[1].unwrap() < 0.02);
    let reranker = connect("cohere-rerank", &server.url);
    let error = reranker.score("why", &texts, 2, later()).await.unwrap_err();
    assert!(error.to_string().contains("scores = \"logit\""), "{error}");
}
