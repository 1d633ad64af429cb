//! Servers that go away while questions are asked: each is answered or refused in
//! the one shape, and all are answered when the servers are back.

use crate::bench::{archive, kill_server, wait_for};
use crate::intake::Service;
use serde_json::json;
use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, Ordering},
};

#[test]
fn a_server_that_dies_under_load_costs_errors_while_it_is_away() {
    let service = Service::start(&archive(12));
    let question = json!({ "query": "why does the kiln fire twice", "k": 3 });
    wait_for("all tickets", || {
        let (_, answer) = service.post("/search", &question);
        (answer["hits"].as_array()?.len() == 3).then_some(())
    });
    for server in ["postgres", "nats-server"] {
        let over = AtomicBool::new(false);
        let counts = std::thread::scope(|scope| {
            let askers: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        let mut counts: BTreeMap<u16, usize> = BTreeMap::new();
                        while !over.load(Ordering::Relaxed) {
                            let (status, answer) = service.post("/search", &question);
                            *counts.entry(status).or_default() += 1;
                            if status != 200 {
                                let error = &answer["error"];
                                assert!(error["hint"].is_string(), "{answer}");
                                assert!([503, 504].contains(&status), "{status}: {answer}");
                            }
                        }
                        counts
                    })
                })
                .collect();
            let before = service.post("/search", &question);
            assert_eq!(before.0, 200);
            kill_server(&service.data(), server);
            if server == "postgres" {
                wait_for("an error", || {
                    (service.post("/search", &question).0 != 200).then_some(())
                });
            }
            wait_for("an answer", || {
                (service.post("/search", &question).0 == 200).then_some(())
            });
            over.store(true, Ordering::Relaxed);
            let mut all: BTreeMap<u16, usize> = BTreeMap::new();
            for asker in askers {
                for (status, count) in asker.join().unwrap() {
                    *all.entry(status).or_default() += count;
                }
            }
            all
        });
        println!("{server}: answers by status {counts:?}");
        assert!(counts[&200] > 0);
        // Searches need no log.
        if server == "nats-server" {
            assert_eq!(counts.len(), 1, "{counts:?}");
        }
        let (_, after) = service.post("/search", &question);
        assert_eq!(after["hits"].as_array().unwrap().len(), 3);
        assert_eq!(after["degraded"], json!([]));
    }
}
