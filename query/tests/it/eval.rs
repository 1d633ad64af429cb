//! Measuring, on a corpus where the right answers are known.

use crate::corpus::{service, ticket, write};
use crate::server;
use whence_query::{
    Mode, SearchConfig,
    eval::{Gate, Question, ask_service, evaluate, read_questions},
};

#[tokio::test]
async fn questions_are_asked_within_their_repository() {
    let (client, pool) = server::ready().await;
    let mut tickets: Vec<_> = (0..30)
        .map(|n| ticket(n, "engine", &[&format!("engine word{n}")]))
        .collect();
    let mut foreign = ticket(99, "word7 word7", &["word7"]);
    foreign.project = "acme/boats".to_owned();
    tickets.push(foreign);
    write(&client, &tickets).await;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("questions.jsonl");
    std::fs::write(
        &file,
        r#"{"id": "acme/rockets:hand:1", "query": "word7", "kind": "hand", "relevant": {"acme/rockets#7": 2}, "exclude": []}

{"id": "acme/rockets:fix:2", "query": "engine word8", "kind": "fix", "relevant": {"acme/rockets#9": 1}, "exclude": ["acme/rockets#8"]}
"#,
    )
    .unwrap();
    let questions = read_questions(std::slice::from_ref(&file)).unwrap();
    let service = service(&pool, SearchConfig::default());
    let mut done = 0;
    let modes = [Mode::Lexical, Mode::Hybrid];
    let ask = |question: Question, mode, k| {
        let service = &service;
        async move { ask_service(service, &question, mode, k).await }
    };
    let report = evaluate(&questions, &modes, ask, |n| done = n)
        .await
        .unwrap();
    assert_eq!(done, 4);
    let lexical = report.overall(Mode::Lexical).unwrap();
    assert_eq!(lexical.questions, 2);
    let hand = report.rows.iter().find(|row| row.kind == "hand").unwrap();
    assert!((hand.ndcg_at_10.mean - 1.0).abs() < 1e-12, "{report}");
    assert_eq!(report.misses(Mode::Hybrid), None);

    std::fs::write(&file, "{\"id\": 1}").unwrap();
    let error = read_questions(&[file]).unwrap_err();
    assert!(
        error.to_string().ends_with("line 1, is not a question"),
        "{error}"
    );
}

#[tokio::test]
async fn thresholds_are_met_or_named() {
    let (client, pool) = server::ready().await;
    let tickets: Vec<_> = (0..30)
        .map(|n| ticket(n, "engine", &[&format!("engine word{n}")]))
        .collect();
    write(&client, &tickets).await;
    let question = |line: &str| serde_json::from_str::<Question>(line).unwrap();
    let questions = [
        question(
            r#"{"id": "acme/rockets:1", "query": "word7", "kind": "golden", "relevant": {"acme/rockets#7": 1}}"#,
        ),
        question(
            r#"{"id": "2", "query": "word8", "kind": "golden", "relevant": {"acme/rockets#9": 1}, "filters": {"label": "none"}}"#,
        ),
        question(
            r#"{"id": "3", "query": "zeppelin", "kind": "none", "filters": {"label": "none"}}"#,
        ),
        question(r#"{"id": "4", "query": "engine", "kind": "none"}"#),
    ];
    let service = service(&pool, SearchConfig::default());
    let ask = |question: Question, mode, k| {
        let service = &service;
        async move { ask_service(service, &question, mode, k).await }
    };
    let report = evaluate(&questions, &[Mode::Hybrid], ask, |_| ())
        .await
        .unwrap();
    let golden = report.of_kind(Mode::Hybrid, "golden").unwrap();
    assert_eq!(
        (golden.questions, golden.hit_at_10, golden.first),
        (2, 0.5, 0.5)
    );
    assert_eq!(report.misses(Mode::Hybrid), Some(0.5));

    let met = Gate {
        golden: Some(0.5),
        misses: Some(0.5),
        duplicates: Some(0.0),
        p95_ms: Some(60_000.0),
        ..Gate::default()
    };
    assert_eq!(met.check(&report), []);
    let missed = Gate {
        ndcg_at_10: Some(0.6),
        golden: Some(1.0),
        p95_ms: Some(0.0),
        ..Gate::default()
    };
    let breaches = missed.check(&report);
    let keys: Vec<_> = breaches.iter().map(|breach| breach.key).collect();
    assert_eq!(keys, ["ndcg_at_10", "golden", "p95_ms"]);
    assert_eq!(breaches[1].measured, Some(0.5));
    let none = evaluate(&[], &[Mode::Hybrid], ask, |_| ()).await.unwrap();
    assert_eq!(missed.check(&none)[0].measured, None);
    assert!(toml::from_str::<Gate>("ndcg = 0.5").is_err());
}
