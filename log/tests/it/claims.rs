//! Bodies larger than a message.

use crate::support::{Running, Scripted, key, log, models, raw, settled};
use whence_contract::Timestamp;

#[tokio::test]
async fn a_huge_ticket_passes_whole_and_leaves_with_its_message() {
    let (log, server) = log().await;
    let limit = server.max_payload().await;
    let stage = Scripted::fine();
    let running = Running::start(&log, stage.clone());
    let huge = "word ".repeat(limit / 2);
    log.publish_raw(&key(1), &raw(&huge)).await.unwrap();
    settled(&log).await;
    assert_eq!(running.counters.done(), 1);
    assert_eq!(
        server.objects("whence_claims").await,
        2,
        "one for RAW, one for DOCS"
    );

    // The next state sees the huge one as the previous output, then replaces it.
    log.publish_raw(&key(1), &raw("small")).await.unwrap();
    settled(&log).await;
    let seen = stage.seen_previous.lock().unwrap().pop().unwrap().unwrap();
    assert_eq!(seen.len(), huge.len());
    assert_eq!(server.objects("whence_claims").await, 0);

    log.publish_raw(&key(2), &raw(&huge)).await.unwrap();
    settled(&log).await;
    log.tombstone(&key(2), Timestamp::now()).await.unwrap();
    settled(&log).await;
    assert_eq!(server.objects("whence_claims").await, 0);
    assert_eq!(log.sweep_claims(&models()).await.unwrap(), 0);
    running.stop().await.unwrap();
}
