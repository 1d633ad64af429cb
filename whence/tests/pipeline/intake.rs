//! What goes in beside harvesting: local notes, wishes, webhooks; and dead
//! letters on their way back.

use crate::bench::{Bench, Guarded, archive, read, wait_for};
use serde_json::{Value, json};
use std::{
    fs,
    net::TcpListener,
    process::{Output, Stdio},
};
use whence_provision::Endpoints;

/// A running `up` on a made-up archive.
pub(crate) struct Service {
    bench: Bench,
    up: Guarded,
    base: String,
    http: reqwest::blocking::Client,
}

impl Service {
    pub(crate) fn start(tickets: &Value) -> Self {
        let bench = Bench::new();
        bench.write(tickets);
        // Free a moment ago; nobody else here takes it.
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = free.local_addr().unwrap().to_string();
        drop(free);
        let source = format!("archive:{}", bench.file().display());
        let up = bench
            .whence(&["up", "--source", &source, "--listen", &address])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // As the binary does; another test may have been first.
        let _already_there = rustls::crypto::ring::default_provider().install_default();
        let service = Self {
            up: Guarded(up),
            base: format!("http://{address}"),
            http: reqwest::blocking::Client::new(),
            bench,
        };
        wait_for("the servers", || {
            Endpoints::read(&service.bench.data()).ok()
        });
        wait_for("readiness", || {
            let ready = service.http.get(format!("{}/readyz", service.base)).send();
            ready.ok().filter(|answer| answer.status().is_success())
        });
        service
    }

    pub(crate) fn data(&self) -> std::path::PathBuf {
        self.bench.data()
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let url = format!("{}{path}", self.base);
        let answer = self.http.post(url).json(body).send().unwrap();
        (answer.status().as_u16(), answer.json().unwrap())
    }

    /// The hits of a question, as they are answered.
    fn hits(&self, query: &str) -> Value {
        let (status, answer) = self.post("/search", &json!({ "query": query }));
        assert_eq!(status, 200, "{answer}");
        answer["hits"].clone()
    }

    /// Whether some hit shows all these words.
    fn shows(&self, query: &str, words: &[&str]) -> bool {
        let hits = self.hits(query);
        let shows = |hit: &Value| words.iter().all(|word| hit.to_string().contains(word));
        hits.as_array().unwrap().iter().any(shows)
    }

    /// Where its commands run.
    pub(crate) fn folder(&self) -> &std::path::Path {
        self.bench.folder.path()
    }

    /// A command that asks this service.
    pub(crate) fn run(&self, arguments: &[&str]) -> Output {
        let address = self.base.trim_start_matches("http://");
        let mut command = self.bench.whence(arguments);
        command
            .env("WHENCE_QUERY__LISTEN", address)
            .output()
            .unwrap()
    }
}

#[test]
fn local_notes_are_found_replaced_and_cleared_and_diaries_refused() {
    let mut service = Service::start(&archive(3));
    let notes = |text: &str| json!({"source": "github", "ticket_id": "acme/kiln#2", "findings_md": text, "wait": true});
    let (status, stored) = service.post(
        "/local/sync",
        &notes("## Cause\nThe quokkas ate the wadding.\n\n## Fix\nFewer quokkas."),
    );
    assert_eq!(
        (status, &stored["searchable"]),
        (200, &json!(true)),
        "{stored}"
    );
    assert!(service.shows("quokkas wadding", &["\"local\"", "quokkas"]));
    // Upstream's own rows stand beside them.
    assert!(service.shows("acme/kiln#2", &["\"upstream\"", "acme/kiln#2"]));

    service.post("/local/sync", &notes("## Cause\nWombats, in truth."));
    assert!(service.shows("wombats truth", &["\"local\"", "Wombats"]));
    assert!(!service.shows("quokkas", &["quokkas"]));

    let (status, _) = service.post("/local/sync", &notes("  \n"));
    assert_eq!(status, 200);
    assert!(!service.shows("wombats", &["\"local\""]));

    for file in ["progress.md", "CURRENT-acme-2"] {
        let mut diary = notes("## Day\nNumbats all day.");
        diary["file"] = json!(file);
        let (status, refused) = service.post("/local/sync", &diary);
        assert_eq!(
            (status, &refused["error"]["code"]),
            (422, &json!("refused"))
        );
    }
    assert!(!service.shows("numbats", &["\"local\""]));

    // No tracker is configured: nobody could fetch, and no hook is believed.
    let (status, refused) = service.post(
        "/invalidate",
        &json!({"source": "github", "ticket_id": "acme/kiln#2"}),
    );
    assert_eq!(status, 400, "{refused}");
    let (status, _) = service.post("/hooks/nosuch", &json!({}));
    assert_eq!(status, 404);
    service.up.interrupt();
}

#[test]
fn a_dead_letter_can_be_seen_retried_and_dropped() {
    let mut tickets = archive(3);
    tickets["issues"][1] = json!({"title": "no number"});
    let mut service = Service::start(&tickets);
    let listed = || read(&service.run(&["dead", "list", "--json"])).1;
    wait_for("the letter", || {
        (listed()
            .as_array()
            .is_some_and(|letters| letters.len() == 1))
        .then_some(())
    });
    let shown = service.run(&["dead", "show", "1"]);
    let shown = String::from_utf8_lossy(&shown.stdout).into_owned();
    assert!(
        shown.contains("archive.json") && shown.contains("no number"),
        "{shown}"
    );
    let retried = service.run(&["dead", "retry", "1"]);
    let said = String::from_utf8_lossy(&retried.stdout).into_owned();
    let failed = String::from_utf8_lossy(&retried.stderr).into_owned();
    assert!(!failed.contains("panicked"), "{said}{failed}");
    let dropped = service.run(&["dead", "drop", "--all"]);
    assert!(dropped.status.success());
    assert_eq!(listed(), json!([]));
    // Mended at its source, the ticket comes by itself.
    fs::write(service.bench.file(), archive(3).to_string()).unwrap();
    wait_for("the mended ticket", || {
        service
            .shows("acme/kiln#2", &["\"upstream\"", "acme/kiln#2"])
            .then_some(())
    });
    service.up.interrupt();
}
