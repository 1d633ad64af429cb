//! What a server can do wrong, and what becomes of it.

use super::{
    KEY, connect, endpoint, hurried, passages, question,
    server::{Fault, Server},
    shapes::short,
};
use serde_json::json;
use std::time::{Duration, Instant};
use whence_model::{EmbedKind, Encoder, ModelError};

async fn pair() -> (Server, Encoder) {
    let server = Server::start().await;
    let encoder = connect(&short("text-embedding-3-small"), &endpoint(&server.url));
    (server, encoder)
}

/// Every error names the server and never the key.
fn said(error: &ModelError, server: &Server) -> String {
    let text = format!("{error} {error:?}");
    assert!(text.contains(&server.url), "{text}");
    assert!(!text.contains(KEY), "{text}");
    text
}

#[tokio::test]
async fn what_passes_is_asked_again() {
    let faults = [
        Fault::Status(500, &[], "oops"),
        Fault::Status(503, &[], ""),
        Fault::Truncated,
        Fault::Short,
        Fault::Instead(json!({"data": [{"index": 0, "embedding": [null, 1, 1, 1]}]})),
        Fault::Instead(json!({"data": [{"index": 0, "embedding": [0, 0, 0, 0]}]})),
        Fault::Instead(json!({"data": [{"index": 0, "embedding": [1e39, 1, 1, 1]}]})),
    ];
    for fault in faults {
        let (server, encoder) = pair().await;
        let good = passages(&encoder, &["kiln"]).await.unwrap();
        server.fail([fault.clone()]);
        assert_eq!(
            passages(&encoder, &["kiln"]).await.unwrap(),
            good,
            "{fault:?}"
        );
        assert_eq!(server.seen().len(), 3, "{fault:?}");
        server.fail([fault.clone()]);
        question(&encoder, "kiln").await.unwrap();
    }
}

#[tokio::test]
async fn a_pause_that_the_server_asks_for_is_kept_by_all() {
    let (server, encoder) = pair().await;
    server.fail([Fault::Status(429, &[("retry-after", "1")], "slow down")]);
    let begun = Instant::now();
    passages(&encoder, &["kiln"]).await.unwrap();
    assert!(begun.elapsed() >= Duration::from_secs(1));

    let encoder = hurried(
        &short("text-embedding-3-small"),
        &endpoint(&server.url),
        Duration::from_millis(300),
    );
    server.fail([Fault::Status(429, &[("retry-after", "60")], "slow down")]);
    let asked = server.seen().len();
    for _ in 0..2 {
        let error = question(&encoder, "kiln").await.unwrap_err();
        assert!(matches!(error, ModelError::Unavailable { .. }), "{error}");
    }
    assert_eq!(
        server.seen().len(),
        asked + 1,
        "nobody asks during the pause"
    );
}

#[tokio::test]
async fn one_bad_text_is_named_and_alone_refused() {
    for status in [400, 413, 422, 500] {
        let (server, encoder) = pair().await;
        server.poison("cursed", status);
        let mut texts = vec!["kiln"; 40];
        texts[29] = "cursed";
        let error = passages(&encoder, &texts).await.unwrap_err();
        let text = said(&error, &server);
        let ModelError::Refused { index, .. } = error else {
            panic!("{status}: {text}")
        };
        assert_eq!(index, 29, "{status}");
        assert!(text.contains("this text is bad"), "{text}");
        texts[29] = "blessed";
        passages(&encoder, &texts).await.unwrap();
    }
}

#[tokio::test]
async fn a_server_that_takes_nothing_costs_no_text() {
    for (status, part) in [
        (400, "takes no text"),
        (401, "key_env"),
        (403, "key_env"),
        (404, "check the address"),
    ] {
        let (server, encoder) = pair().await;
        server.poison("", status);
        let error = passages(&encoder, &["kiln", "glaze"]).await.unwrap_err();
        let text = said(&error, &server);
        assert!(
            matches!(error, ModelError::Unusable { .. }),
            "{status}: {text}"
        );
        assert!(text.contains(part), "{status}: {text}");
    }
    for status in [429, 500, 502, 503] {
        let (server, encoder) = pair().await;
        server.poison("", status);
        let error = passages(&encoder, &["kiln", "glaze"]).await.unwrap_err();
        let text = said(&error, &server);
        assert!(
            matches!(error, ModelError::Unavailable { .. }),
            "{status}: {text}"
        );
    }
}

#[tokio::test]
async fn neither_texts_nor_key_follow_a_redirect() {
    let (server, encoder) = pair().await;
    let elsewhere = Server::start().await;
    let place = Box::leak(format!("{}/v1/embeddings", elsewhere.url).into_boxed_str());
    let headers = Box::leak(Box::new([("location", &*place)]));
    server.fail([Fault::Status(307, headers, "")]);
    let error = passages(&encoder, &["kiln"]).await.unwrap_err();
    assert!(matches!(error, ModelError::Unusable { .. }), "{error}");
    assert!(said(&error, &server).contains("redirects to 127.0.0.1"));
    assert!(elsewhere.seen().is_empty());
}

#[tokio::test]
async fn an_errors_body_is_told_in_part_and_without_control_characters() {
    let (server, encoder) = pair().await;
    let long = format!("bad {KEY} \u{7} {}", "x".repeat(1 << 20));
    let body = Box::leak(long.into_boxed_str());
    server.fail([Fault::Status(401, &[], body)]);
    let error = passages(&encoder, &["kiln"]).await.unwrap_err();
    let text = said(&error, &server);
    assert!(
        text.len() < 2000 && text.contains("bad …"),
        "{}",
        text.len()
    );
    assert!(!text.contains('\u{7}'));
}

#[tokio::test]
async fn an_endless_answer_is_cut_off() {
    let (server, encoder) = pair().await;
    let padding = "x".repeat(2 << 20);
    server.fail([Fault::Instead(json!({"data": [], "padding": padding}))]);
    passages(&encoder, &["kiln"]).await.unwrap();
    assert_eq!(server.seen().len(), 2, "it was asked again");
}

#[tokio::test]
async fn a_question_gives_up_in_its_time() {
    let server = Server::start().await;
    let encoder = hurried(
        &short("text-embedding-3-small"),
        &endpoint(&server.url),
        Duration::from_millis(200),
    );
    server.fail([Fault::Slow(Duration::from_secs(30))]);
    let begun = Instant::now();
    let error = question(&encoder, "kiln").await.unwrap_err();
    assert!(matches!(error, ModelError::Unavailable { .. }), "{error}");
    assert!(
        begun.elapsed() < Duration::from_secs(10),
        "{:?}",
        begun.elapsed()
    );
}

#[tokio::test]
async fn a_question_does_not_queue_behind_passages() {
    let (server, encoder) = pair().await;
    let encoder = std::sync::Arc::new(encoder);
    // Both places for passages are taken, and more wait behind them.
    server.fail([
        Fault::Slow(Duration::from_secs(60)),
        Fault::Slow(Duration::from_secs(60)),
    ]);
    let waiting = tokio::spawn({
        let encoder = encoder.clone();
        async move {
            let texts = vec!["kiln".to_owned(); 32 * 5];
            encoder.embed(texts, EmbedKind::Passage).await
        }
    });
    while server.seen().len() < 2 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    question(&encoder, "why").await.unwrap();
    assert_eq!(server.seen().len(), 3, "no third batch is on its way");
    assert!(!waiting.is_finished());
    waiting.abort();
}
