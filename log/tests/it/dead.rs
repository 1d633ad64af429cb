//! Dead letters: cause, neighbours, retry, and that no text outlives its ticket.

use crate::support::{Running, Scripted, everything, key, log, models, raw, settled, until};
use whence_contract::Timestamp;
use whence_log::StageError;

#[tokio::test]
async fn a_bad_ticket_dies_with_its_cause_and_its_neighbours_pass() {
    let (log, _server) = log().await;
    let stage = Scripted::new(|key, _, _| match key.ticket.as_str() {
        "2" => Err(StageError::malformed("the number is missing")),
        "3" => panic!("index out of range"),
        _ => Ok(()),
    });
    let running = Running::start(&log, stage);
    for ticket in 1..=4 {
        log.publish_raw(&key(ticket), &raw(&format!("text {ticket}")))
            .await
            .unwrap();
    }
    settled(&log).await;
    assert_eq!(running.counters.done(), 2);
    let mut letters = log.dead_letters(&everything()).await.unwrap();
    letters.sort_by(|a, b| a.key.cmp(&b.key));
    assert_eq!(letters.len(), 2);
    assert_eq!(letters[0].key, key(2));
    assert_eq!(letters[0].letter.stage, "normalize");
    assert_eq!(letters[0].letter.causes, vec!["the number is missing"]);
    assert_eq!(
        letters[0].letter.origin.as_deref(),
        Some("archive:test.json")
    );
    assert!(String::from_utf8_lossy(&letters[0].letter.input).contains("text 2"));
    assert!(letters[1].letter.causes[0].contains("index out of range"));
    running.stop().await.unwrap();

    // The next version can read them: a retry clears the letters.
    let running = Running::start(&log, Scripted::fine());
    for letter in &letters {
        assert!(log.retry_dead(letter, &models()).await.unwrap());
    }
    settled(&log).await;
    until(async || log.dead_letters(&everything()).await.unwrap().is_empty()).await;
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_deleted_ticket_leaves_no_letter() {
    let (log, server) = log().await;
    let running = Running::start(
        &log,
        Scripted::new(|_, _, _| Err(StageError::refused("too strange"))),
    );
    log.publish_raw(&key(1), &raw("secret words"))
        .await
        .unwrap();
    settled(&log).await;
    assert_eq!(log.dead_letters(&everything()).await.unwrap().len(), 1);
    log.tombstone(&key(1), Timestamp::now()).await.unwrap();
    settled(&log).await;
    assert_eq!(log.dead_letters(&everything()).await.unwrap().len(), 0);
    assert!(!server.stream_dump("DEAD").await.contains("secret"));
    running.stop().await.unwrap();
}

#[tokio::test]
async fn a_foreign_message_on_a_stream_is_a_dead_letter_too() {
    let (log, server) = log().await;
    let running = Running::start(&log, Scripted::fine());
    server
        .publish("raw.upstream.github.acme.1", b"not ours")
        .await;
    log.publish_raw(&key(1), &raw("ours")).await.unwrap();
    settled(&log).await;
    assert_eq!(running.counters.done(), 1);
    let letters = log.dead_letters(&everything()).await.unwrap();
    assert_eq!(letters.len(), 1);
    assert!(
        letters[0].letter.causes[0].contains("not written by whence"),
        "{letters:?}"
    );
    running.stop().await.unwrap();
}
