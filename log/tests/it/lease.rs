//! One holder at a time.

use crate::support::log;
use std::time::Duration;
use whence_log::{Lease, Leased, Log};

async fn take(log: &Log, holder: &str, force: bool) -> Result<Lease, String> {
    match log.lease("harvest wiki:docs", holder, force).await.unwrap() {
        Leased::Ours(lease) => Ok(lease),
        Leased::Held(by) => Err(by),
    }
}

#[tokio::test]
async fn a_lease_has_one_holder_and_says_who() {
    let (log, _server) = log().await;
    let first = take(&log, "one", false).await.unwrap();
    assert_eq!(take(&log, "two", false).await.unwrap_err(), "one");
    drop(first);
    let second = tokio::time::timeout(Duration::from_secs(30), async {
        loop {
            if let Ok(lease) = take(&log, "two", false).await {
                return lease;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await
    .expect("a dropped lease is free at once, not after its time");
    assert!(!second.lost().is_cancelled());
}

#[tokio::test]
async fn a_lease_taken_by_force_is_lost_to_its_holder() {
    let (log, _server) = log().await;
    let first = take(&log, "one", false).await.unwrap();
    let _second = take(&log, "two", true).await.unwrap();
    tokio::time::timeout(Duration::from_secs(60), first.lost().cancelled())
        .await
        .unwrap();
    drop(first);
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(
        take(&log, "three", false).await.unwrap_err(),
        "two",
        "the loser released nothing"
    );
}
