//! Publishing states: what flows, what does not, in which order.

use crate::support::{everything, key, log, models, raw, raw_at};
use whence_contract::Timestamp;
use whence_log::{Published, Selection};

#[tokio::test]
async fn an_equal_state_is_published_once() {
    let (log, _server) = log().await;
    let first = log.publish_raw(&key(1), &raw("a")).await.unwrap();
    let again = log.publish_raw(&key(1), &raw("a")).await.unwrap();
    let Published::New(revision) = first else {
        panic!("{first:?}")
    };
    assert_eq!(again, Published::Unchanged(revision));
    let edited = log.publish_raw(&key(1), &raw("b")).await.unwrap();
    assert!(matches!(edited, Published::New(later) if later > revision));
    assert_eq!(
        log.status(&models()).await.unwrap()[0].messages,
        1,
        "one message per ticket"
    );
}

#[tokio::test]
async fn a_clock_that_goes_back_still_makes_newer_revisions() {
    let (log, _server) = log().await;
    let at = |seconds| Timestamp::from_second(seconds).unwrap();
    let Published::New(a) = log
        .publish_raw(&key(1), &raw_at("a", at(2_000)))
        .await
        .unwrap()
    else {
        panic!()
    };
    let Published::New(b) = log
        .publish_raw(&key(1), &raw_at("b", at(1_000)))
        .await
        .unwrap()
    else {
        panic!()
    };
    let c = log.tombstone(&key(1), at(500)).await.unwrap().unwrap();
    let Published::New(d) = log.publish_raw(&key(1), &raw_at("b", at(0))).await.unwrap() else {
        panic!("a state after a tombstone is new even if it equals the one before")
    };
    assert!(a < b && b < c && c < d, "{a} {b} {c} {d}");
}

#[tokio::test]
async fn known_lists_tombstones_and_respects_the_selection() {
    let (log, _server) = log().await;
    assert_eq!(log.known(&everything()).await.unwrap(), vec![]);
    for ticket in 1..=300 {
        log.publish_raw(&key(ticket), &raw("x")).await.unwrap();
    }
    log.tombstone(&key(7), Timestamp::now()).await.unwrap();
    assert_eq!(
        log.tombstone(&key(7), Timestamp::now()).await.unwrap(),
        None,
        "already gone"
    );
    assert_eq!(
        log.tombstone(&key(999), Timestamp::now()).await.unwrap(),
        None,
        "never there"
    );
    let known = log.known(&everything()).await.unwrap();
    assert_eq!(known.len(), 300);
    assert_eq!(known.iter().filter(|k| !k.live).count(), 1);
    assert!(known.iter().all(|k| k.origin == "archive:test.json"));
    let other = Selection {
        scope: Some("acme/oven".into()),
        ..everything()
    };
    assert_eq!(log.known(&other).await.unwrap(), vec![]);
    let one = Selection {
        ticket: Some("12".into()),
        ..everything()
    };
    assert_eq!(log.known(&one).await.unwrap().len(), 1);
}

#[tokio::test]
async fn set_up_twice_changes_nothing() {
    let (log, _server) = log().await;
    log.publish_raw(&key(1), &raw("a")).await.unwrap();
    log.set_up(&models()).await.unwrap();
    assert_eq!(log.known(&everything()).await.unwrap().len(), 1);
}

#[tokio::test]
async fn settings_get_ordinals_that_only_grow() {
    let (log, _server) = log().await;
    let version =
        async |code, fingerprint| log.stage_version("chunk", code, fingerprint).await.unwrap();
    let a = version(1, "200 tokens").await;
    assert_eq!(
        version(1, "200 tokens").await,
        a,
        "the same settings are the same version"
    );
    let b = version(1, "128 tokens").await;
    let back = version(1, "200 tokens").await;
    assert!(
        a < b && b < back,
        "going back to old settings is newer too: {a:?} {b:?} {back:?}"
    );
    let newer = version(2, "200 tokens").await;
    let old_binary = version(1, "128 tokens").await;
    assert!(old_binary < newer);
    assert_eq!(
        version(2, "200 tokens").await,
        newer,
        "an old binary does not move the count"
    );
}
