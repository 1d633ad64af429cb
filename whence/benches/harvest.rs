//! `cargo bench -p whence --bench harvest`: what the runner costs.
//!
//! - Memory: passes over a made-up tracker of 1,000 and of 50,000 tickets, into a
//!   real log; the peak must not grow with them by more than what it must know
//!   of each (its key and that it was seen).
//! - Speed: a sweep of a simulated GitLab against a bare client that asks the
//!   same requests, four at a time; needs the simulator beside this repository.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench prints, and a failure ends it"
)]
#![allow(dead_code, reason = "the tests' simulator does more")]

#[path = "../tests/trackers/simulator.rs"]
mod simulator;

use async_trait::async_trait;
use futures::{StreamExt, stream};
use serde_json::{Value, json, value::RawValue};
use simulator::Simulator;
use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;
use whence_contract::{Dialect, Provenance, RawTicket, TicketKey, Timestamp};
use whence_harvest::{
    Batch, Batches, Census, Coverage, Fetched, Identity, Item, Listing, Opening, RunOptions, Scope,
    Settings, Sighting, Sightings, Since, Source, SourceError, SourceSpec, Tracker, Wanted,
    run_once,
};
use whence_log::{Log, LogOptions, RunStatus};
use whence_provision::testing::Servers;

const TOKEN: &str = "glpat-sim-reporter";
const PAGE: u64 = 100;

/// So many tickets of two kilobytes, made when they are asked for.
struct MadeUp(u64);

fn key(number: u64) -> TicketKey {
    TicketKey {
        provenance: Provenance::Upstream,
        source: "made-up".into(),
        scope: "bench".into(),
        ticket: format!("ticket-{number}"),
    }
}

#[async_trait]
impl Source for MadeUp {
    fn name(&self) -> &str {
        "made-up:bench"
    }

    async fn check(&self) -> Result<(), SourceError> {
        Ok(())
    }

    async fn list(&self, _: Since, out: &Batches) -> Result<Listing, SourceError> {
        for first in (0..self.0).step_by(PAGE as usize) {
            let items = (first..self.0.min(first + PAGE)).map(|number| {
                let body = format!("{number} says why. ").repeat(120);
                let payload = RawValue::from_string(json!({ "body": body }).to_string()).unwrap();
                let mut raw = RawTicket::new(
                    Dialect::WhenceDocument,
                    self.name(),
                    Timestamp::now(),
                    payload,
                );
                raw.names = vec![format!("BENCH-{number}")];
                raw.mark = Some("1".into());
                Item::Ticket {
                    key: key(number),
                    raw,
                }
            });
            out.send(Batch {
                items: items.collect(),
                cursor: Some(json!(first)),
            })
            .await?;
        }
        Ok(Listing {
            coverage: Coverage::Changes,
            ..Listing::default()
        })
    }

    fn tracker(&self) -> Option<&dyn Tracker> {
        Some(self)
    }
}

#[async_trait]
impl Tracker for MadeUp {
    fn covers(&self, _: &str) -> bool {
        false
    }

    async fn fetch(&self, _: &Wanted) -> Result<Fetched, SourceError> {
        Ok(Fetched::Gone)
    }

    async fn census(&self, out: &Sightings) -> Result<Census, SourceError> {
        for number in 0..self.0 {
            out.send(vec![Sighting {
                key: key(number),
                name: format!("BENCH-{number}"),
                mark: "1".into(),
                comments: None,
            }])
            .await?;
        }
        Ok(Census {
            scopes: vec![Scope {
                provenance: Provenance::Upstream,
                source: "made-up".into(),
                scope: "bench".into(),
            }],
            warnings: Vec::new(),
        })
    }

    async fn identify(&self) -> Result<Identity, SourceError> {
        Ok(Identity::default())
    }
}

#[tokio::main]
async fn main() {
    for tickets in [1_000, 50_000] {
        let (log, _servers) = log().await;
        let begin = Instant::now();
        let run = run(&log, &MadeUp(tickets)).await;
        println!(
            "{tickets} tickets with a sweep: {} published in {:.1} s, peak memory {}",
            run,
            begin.elapsed().as_secs_f64(),
            peak()
        );
    }
    speed().await;
}

async fn log() -> (Log, Servers) {
    let servers = Servers::nats_only().await.unwrap();
    let options = LogOptions {
        url: servers.nats_url().to_owned(),
        name: "bench".into(),
        ..LogOptions::default()
    };
    let log = Log::connect(&options).await.unwrap();
    log.set_up(&["bench".to_owned()]).await.unwrap();
    (log, servers)
}

/// One pass with a sweep; how many tickets were published.
async fn run(log: &Log, source: &dyn Source) -> u64 {
    let options = RunOptions {
        sweep_after: Duration::ZERO,
        ..RunOptions::default()
    };
    let stop = CancellationToken::new();
    let record = run_once(log, source, &options, &stop, &|_| ())
        .await
        .unwrap();
    assert_eq!(record.status, RunStatus::Succeeded, "{record:?}");
    record.counts.published
}

fn peak() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmHWM"));
    line.map_or("unknown".to_owned(), |line| {
        line.trim_start_matches("VmHWM:").trim().to_owned()
    })
}

async fn speed() {
    let Some(simulator) = Simulator::start("gitlab", &[]).await else {
        return;
    };
    let (log, _servers) = log().await;
    let table = json!({"base_url": simulator.base(), "token": TOKEN, "requests_per_second": 0.0});
    let opening = Opening {
        settings: Settings::new(BTreeMap::from([("gitlab".to_owned(), table)])),
        ..Opening::new(Timestamp::now)
    };
    let spec: SourceSpec = "gitlab:mlswg/mls-protocol".parse().unwrap();
    let source = spec.open(&opening).unwrap();
    let begin = Instant::now();
    let tickets = run(&log, source.as_ref()).await;
    let ours = begin.elapsed().as_secs_f64();

    let requests: Vec<Value> = simulator.log().await["requests"]
        .as_array()
        .unwrap()
        .clone();
    let http = reqwest::Client::new();
    let begin = Instant::now();
    let bytes: usize = stream::iter(&requests)
        .map(|request| {
            let query = request["query"].as_str().unwrap_or_default();
            let path = request["path"].as_str().unwrap();
            let url = format!("{}{path}?{query}", simulator.base());
            let asked = http.get(url).header("PRIVATE-TOKEN", TOKEN).send();
            async move { asked.await.unwrap().bytes().await.unwrap().len() }
        })
        .buffered(4)
        .fold(0, |sum, length| async move { sum + length })
        .await;
    let bare = begin.elapsed().as_secs_f64();
    println!(
        "simulated GitLab, {tickets} tickets, {} requests, {bytes} bytes: sweep {ours:.1} s \
         ({:.0} tickets/s), bare client {bare:.1} s, ratio {:.2}",
        requests.len(),
        tickets as f64 / ours,
        ours / bare
    );
}
