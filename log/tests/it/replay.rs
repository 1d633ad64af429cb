//! Running a stage again from what its input stream holds.

use crate::support::{Running, Scripted, everything, key, log, raw, settled};
use tokio_util::sync::CancellationToken;
use whence_log::{Edge, LogErrorKind, ReplayPlan, Selection};

#[tokio::test]
async fn a_replay_calls_the_stage_once_for_each_selected_ticket() {
    let (log, _server) = log().await;
    let stage = Scripted::fine();
    let running = Running::start(&log, stage.clone());
    let _sink = Running::sink(&log);
    for ticket in 1..=20 {
        log.publish_raw(&key(ticket), &raw("x")).await.unwrap();
    }
    settled(&log).await;
    assert_eq!(stage.calls(), 20);
    let stop = CancellationToken::new();
    let plan = |selection| ReplayPlan {
        from: Edge::Raw,
        selection,
        window: 5,
    };
    let one = Selection {
        ticket: Some("7".into()),
        ..everything()
    };
    let mut seen = vec![];
    let replay = log
        .replay(&plan(one), &[], &stop, |p| seen.push(p))
        .await
        .unwrap();
    assert_eq!((replay.done, replay.total), (1, 1));
    assert!(seen.iter().all(|p| p.total == 1 && p.done <= 1), "{seen:?}");
    assert_eq!(stage.calls(), 21);
    let replay = log
        .replay(&plan(everything()), &[], &stop, |_| {})
        .await
        .unwrap();
    assert_eq!((replay.done, replay.total), (20, 20));
    assert_eq!(stage.calls(), 41);
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_stopped_replay_says_so_and_goes_on() {
    let (log, _server) = log().await;
    for ticket in 1..=10 {
        log.publish_raw(&key(ticket), &raw("x")).await.unwrap();
    }
    let stop = CancellationToken::new();
    stop.cancel();
    let plan = ReplayPlan {
        from: Edge::Raw,
        selection: everything(),
        window: 2,
    };
    // Nothing runs, so the window is full at once.
    let error = log.replay(&plan, &[], &stop, |_| {}).await.unwrap_err();
    assert_eq!(error.kind, LogErrorKind::Conflict);
    let stage = Scripted::fine();
    let running = Running::start(&log, stage.clone());
    let _sink = Running::sink(&log);
    let replay = log
        .replay(&plan, &[], &CancellationToken::new(), |_| {})
        .await
        .unwrap();
    assert_eq!(replay.done, 10);
    running.stop().await.unwrap();
}
