//! The loop: order, retries, parallel workers, stopping.

use crate::support::{Running, Scripted, everything, key, log, raw, settled, until};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio_util::sync::CancellationToken;
use whence_contract::Timestamp;
use whence_log::{Edge, LogErrorKind, ReplayPlan, StageError};

#[tokio::test]
async fn a_state_flows_an_edit_replaces_it_and_a_deletion_removes_the_text() {
    let (log, server) = log().await;
    let stage = Scripted::fine();
    let running = Running::start(&log, stage.clone());
    log.publish_raw(&key(1), &raw("first words")).await.unwrap();
    settled(&log).await;
    log.publish_raw(&key(1), &raw("second words"))
        .await
        .unwrap();
    settled(&log).await;
    assert!(
        stage
            .seen_previous
            .lock()
            .unwrap()
            .contains(&Some("first words".into()))
    );
    let texts = server.stream_dump("DOCS").await;
    assert!(
        texts.contains("second words") && !texts.contains("first words"),
        "{texts}"
    );
    log.tombstone(&key(1), Timestamp::now()).await.unwrap();
    settled(&log).await;
    let texts = server.stream_dump("DOCS").await + &server.stream_dump("RAW").await;
    assert!(!texts.contains("words"), "{texts}");
    running.stop().await.unwrap();
}

#[tokio::test]
async fn transient_failures_are_repeated_until_they_pass() {
    let (log, _server) = log().await;
    let stage = Scripted::new(|_, _, calls| {
        if calls < 3 {
            Err(StageError::transient("the database is away"))
        } else {
            Ok(())
        }
    });
    let running = Running::start(&log, stage.clone());
    log.publish_raw(&key(1), &raw("a")).await.unwrap();
    settled(&log).await;
    assert_eq!(stage.calls(), 4);
    assert_eq!(running.counters.done(), 1);
    assert_eq!(log.dead_letters(&everything()).await.unwrap().len(), 0);
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_fatal_error_ends_the_worker_and_loses_nothing() {
    let (log, _server) = log().await;
    let running = Running::start(
        &log,
        Scripted::new(|_, _, _| Err(StageError::fatal("no model"))),
    );
    log.publish_raw(&key(1), &raw("a")).await.unwrap();
    let error = running.end().await.unwrap_err();
    assert_eq!(error.kind, LogErrorKind::Fatal);
    let running = Running::start(&log, Scripted::fine());
    until(async || running.counters.done() == 1).await;
    running.stop().await.unwrap();
}

#[tokio::test]
async fn parallel_workers_share_the_work_and_the_newest_state_wins() {
    let (log, server) = log().await;
    let stages: Vec<_> = (0..3).map(|_| Scripted::fine()).collect();
    let running: Vec<_> = stages
        .iter()
        .map(|s| Running::start(&log, s.clone()))
        .collect();
    for round in 0..4 {
        for ticket in 1..=60 {
            log.publish_raw(&key(ticket), &raw(&format!("round {round}")))
                .await
                .unwrap();
        }
    }
    settled(&log).await;
    let docs = server.stream_dump("DOCS").await;
    assert_eq!(
        docs.matches("round 3").count(),
        60,
        "every ticket is at its last state"
    );
    assert!(!docs.contains("round 2"));
    for one in running {
        one.stop().await.unwrap();
    }
}

#[tokio::test]
async fn an_older_recipe_never_replaces_a_newer_one() {
    let (log, server) = log().await;
    log.publish_raw(&key(1), &raw("a")).await.unwrap();
    let new = Running::start(&log, Scripted::versioned(2, |_, _, _| Ok(())));
    settled(&log).await;
    new.stop().await.unwrap();
    let before = server.stream_dump("DOCS").await;
    // An old worker during a rolling upgrade is handed the same input again.
    let stage = Scripted::versioned(1, |_, _, _| Ok(()));
    let old = Running::start(&log, stage.clone());
    let plan = ReplayPlan {
        from: Edge::Raw,
        selection: everything(),
        window: 4,
    };
    let stop = CancellationToken::new();
    let _sink = Running::sink(&log);
    log.replay(&plan, &[], &stop, |_| {}).await.unwrap();
    assert_eq!(stage.calls(), 0, "it is dropped before any work");
    assert_eq!(server.stream_dump("DOCS").await, before);
    old.stop().await.unwrap();
}

#[tokio::test]
async fn a_stop_finishes_what_is_in_work() {
    let (log, _server) = log().await;
    let entered = Arc::new(AtomicBool::new(false));
    let flag = entered.clone();
    let running = Running::start(
        &log,
        Scripted::new(move |_, _, _| {
            flag.store(true, Ordering::SeqCst);
            std::thread::sleep(std::time::Duration::from_millis(300));
            Ok(())
        }),
    );
    log.publish_raw(&key(1), &raw("a")).await.unwrap();
    until(async || entered.load(Ordering::SeqCst)).await;
    let counters = running.counters.clone();
    running.stop().await.unwrap();
    assert_eq!(counters.done(), 1);
}
