//! nats-server killed while messages flow.

use crate::support::{Running, Scripted, key, log, raw, settled};
use whence_log::LogErrorKind;

#[tokio::test]
async fn a_killed_server_costs_time_and_nothing_else() {
    let (log, server) = log().await;
    let stage = Scripted::fine();
    let running = Running::start(&log, stage.clone());
    for ticket in 1..=120 {
        if ticket == 40 || ticket == 80 {
            server.servers.kill_nats().await.unwrap();
            server.servers.restart_nats().await.unwrap();
        }
        // What harvest does: the same call again until the log says yes.
        while let Err(error) = log.publish_raw(&key(ticket), &raw("x")).await {
            assert_eq!(error.kind, LogErrorKind::Transient, "{error:?}");
        }
    }
    settled(&log).await;
    assert_eq!(
        server
            .stream_dump("DOCS")
            .await
            .matches("acme/kiln#")
            .count(),
        120
    );
    running.stop().await.unwrap();
}
