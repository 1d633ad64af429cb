//! Passes that are stopped, robbed of their lease, or lose the server.

use crate::{
    fixture::clock,
    runner::{live, log},
};
use async_trait::async_trait;
use serde_json::{json, value::RawValue};
use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use whence_contract::{Dialect, Provenance, RawTicket, TicketKey};
use whence_harvest::{
    Absence, Batch, Batches, Coverage, Item, Listing, RunOptions, Scope, Since, Source,
    SourceError, run_once,
};
use whence_log::{Leased, Log, RunRecord, RunStatus};

/// Pages of tickets; the cursor is the number of the last page that was sent.
#[derive(Default)]
struct Pages {
    pages: Vec<Vec<u64>>,
    absence: Absence,
    /// Sends no cursor with its pages.
    plain: bool,
    /// Waits before this page until told, and says that it waits.
    hold: Option<usize>,
    held: Notify,
    go_on: Notify,
    sent: Mutex<BTreeSet<usize>>,
}

const NAME: &str = "pages:test";

fn key(ticket: u64) -> TicketKey {
    TicketKey {
        provenance: Provenance::Upstream,
        source: "pages".into(),
        scope: "acme".into(),
        ticket: ticket.to_string(),
    }
}

#[async_trait]
impl Source for Pages {
    fn name(&self) -> &str {
        NAME
    }

    async fn check(&self) -> Result<(), SourceError> {
        Ok(())
    }

    async fn list(&self, since: Since, out: &Batches) -> Result<Listing, SourceError> {
        let from = since
            .cursor
            .and_then(|cursor| cursor["page"].as_u64())
            .unwrap_or(0);
        for (page, tickets) in self.pages.iter().enumerate().skip(from as usize) {
            if self.hold == Some(page) {
                self.held.notify_one();
                self.go_on.notified().await;
            }
            let item = |ticket: &u64| Item::Ticket {
                key: key(*ticket),
                raw: RawTicket::new(
                    Dialect::WhenceDocument,
                    NAME,
                    clock(),
                    RawValue::from_string(format!("{{\"n\":{ticket}}}")).unwrap(),
                ),
            };
            self.sent.lock().unwrap().insert(page);
            out.send(Batch {
                items: tickets.iter().map(item).collect(),
                cursor: (!self.plain).then(|| json!({ "page": page + 1 })),
            })
            .await?;
        }
        Ok(Listing {
            coverage: match from {
                0 => Coverage::Whole,
                _ => Coverage::Partial {
                    why: "it began in the middle".into(),
                },
            },
            cursor: json!({ "page": 0 }),
            absence: self.absence,
            scopes: vec![Scope {
                provenance: Provenance::Upstream,
                source: "pages".into(),
                scope: "acme".into(),
            }],
            ..Listing::default()
        })
    }
}

async fn run(log: &Log, source: &Pages, stop: &CancellationToken) -> RunRecord {
    run_once(log, source, &RunOptions::default(), stop, &|_| ())
        .await
        .unwrap()
}

fn pages(n: u64) -> Vec<Vec<u64>> {
    (0..n)
        .map(|page| (page * 10..page * 10 + 10).collect())
        .collect()
}

#[tokio::test]
async fn a_stopped_pass_resumes_behind_the_last_page_that_is_in_the_log() {
    let (log, _servers) = log().await;
    let source = Pages {
        pages: pages(6),
        hold: Some(3),
        ..Pages::default()
    };
    let stop = CancellationToken::new();
    let (record, ()) = tokio::join!(run(&log, &source, &stop), async {
        source.held.notified().await;
        // The pages before are stored with their cursor before it stops.
        while log
            .cursor(NAME)
            .await
            .unwrap()
            .is_none_or(|state| state["cursor"]["page"] != 3)
        {
            tokio::task::yield_now().await;
        }
        stop.cancel();
    });
    assert_eq!(record.status, RunStatus::Failed);
    assert!(record.error.unwrap().contains("stopped"));
    assert_eq!((record.counts.published, live(&log).await.len()), (30, 30));

    let rest = Pages {
        pages: pages(6),
        ..Pages::default()
    };
    let record = run(&log, &rest, &CancellationToken::new()).await;
    assert_eq!(
        (record.status, record.counts.published),
        (RunStatus::Succeeded, 30)
    );
    assert_eq!(rest.sent.lock().unwrap().first(), Some(&3));
    assert_eq!(live(&log).await.len(), 60);
}

#[tokio::test]
async fn a_pass_that_lost_its_lease_leaves_the_record_alone() {
    let (log, _servers) = log().await;
    let source = Pages {
        pages: pages(2),
        hold: Some(1),
        ..Pages::default()
    };
    let stop = CancellationToken::new();
    let (record, other) = tokio::join!(run(&log, &source, &stop), async {
        source.held.notified().await;
        log.lease(&format!("harvest {NAME}"), "the other", true)
            .await
            .unwrap()
    });
    assert!(matches!(other, Leased::Ours(_)));
    assert_eq!(record.status, RunStatus::Failed);
    assert!(record.error.unwrap().contains("another process"));
    assert_eq!(
        log.last_run(NAME).await.unwrap().unwrap().status,
        RunStatus::Running
    );
}

#[tokio::test]
async fn a_server_that_comes_back_is_waited_for() {
    let (log, servers) = log().await;
    let source = Arc::new(Pages {
        pages: pages(4),
        hold: Some(2),
        ..Pages::default()
    });
    let running = tokio::spawn({
        let (log, source) = (log.clone(), source.clone());
        async move { run(&log, &source, &CancellationToken::new()).await }
    });
    source.held.notified().await;
    servers.kill_nats().await.unwrap();
    source.go_on.notify_one();
    servers.restart_nats().await.unwrap();
    let record = running.await.unwrap();
    assert_eq!(record.status, RunStatus::Succeeded, "{record:?}");
    assert_eq!(record.counts.published + record.counts.unchanged, 40);
    assert_eq!(live(&log).await.len(), 40);
}

#[tokio::test]
async fn by_second_sight_a_ticket_goes_when_it_is_absent_twice() {
    let (log, _servers) = log().await;
    let stop = CancellationToken::new();
    let source = |pages: Vec<Vec<u64>>| Pages {
        pages,
        absence: Absence::SecondSight,
        ..Pages::default()
    };
    run(&log, &source(vec![(1..10).collect()]), &stop).await;
    let without_two = || source(vec![vec![1, 3, 4, 5, 6, 7, 8, 9]]);
    assert_eq!(run(&log, &without_two(), &stop).await.counts.deleted, 0);
    // Back in between: counted anew.
    assert_eq!(
        run(&log, &source(vec![(1..10).collect()]), &stop)
            .await
            .counts
            .deleted,
        0
    );
    assert_eq!(run(&log, &without_two(), &stop).await.counts.deleted, 0);
    assert_eq!(run(&log, &without_two(), &stop).await.counts.deleted, 1);
    assert_eq!(live(&log).await.len(), 8);
}

#[tokio::test]
async fn of_a_ticket_listed_twice_the_last_state_stands() {
    let (log, _servers) = log().await;
    let source = Pages {
        pages: vec![vec![1, 2, 1], vec![2]],
        ..Pages::default()
    };
    let record = run(&log, &source, &CancellationToken::new()).await;
    assert_eq!((record.counts.listed, record.counts.published), (2, 2));
    assert_eq!(record.counts.unchanged, 2);
}

#[tokio::test]
async fn a_pass_that_began_to_publish_is_not_forgotten() {
    let (log, _servers) = log().await;
    let stop = CancellationToken::new();
    let whole = Pages {
        pages: pages(3),
        plain: true,
        ..Pages::default()
    };
    run(&log, &whole, &stop).await;
    assert_eq!(log.cursor(NAME).await.unwrap().unwrap()["settled"], true);
    let source = Pages {
        hold: Some(2),
        ..whole
    };
    tokio::join!(run(&log, &source, &stop), async {
        source.held.notified().await;
        // Its first page has been taken: only then the second one was sent on.
        while log.cursor(NAME).await.unwrap().unwrap()["settled"] == true {
            tokio::task::yield_now().await;
        }
        stop.cancel();
    });
    // What lies in the log may be neither the old state nor the new one.
    let state = log.cursor(NAME).await.unwrap().unwrap();
    assert_eq!(
        (&state["settled"], &state["cursor"]["page"]),
        (&json!(false), &json!(0))
    );
}
