//! A simulated service, started for one test: `shared/upstreams` beside this
//! repository. Where it is absent, tests say so and check nothing.

use serde_json::{Value, json};
use std::{
    io::{BufRead, BufReader},
    path::PathBuf,
    process::{Child, Command, Stdio},
};

/// A service on a free port; ends with this value.
pub(crate) struct Simulator {
    child: Child,
    base: String,
    http: reqwest::Client,
}

/// A file of the folder beside this repository that the simulator lives in;
/// `None`, said on stderr, where it is not here.
pub(crate) fn shared(path: &str) -> Option<PathBuf> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared")).join(path);
    if !path.is_file() {
        eprintln!("not checked: there is no {}", path.display());
        return None;
    }
    Some(path)
}

impl Drop for Simulator {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _reaped = self.child.wait();
    }
}

impl Simulator {
    /// Starts `service` with further arguments, such as `--page-cap 7`. `None`,
    /// said on stderr, where the simulator is not here.
    pub(crate) async fn start(service: &str, arguments: &[&str]) -> Option<Self> {
        let serve = shared("upstreams/serve")?;
        let mut child = Command::new(serve)
            .args([service, "--port", "0", "--until-stdin-closes"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines
            .map(Result::unwrap)
            .find(|line| line.starts_with(service))
            .expect("the simulator says where it listens");
        let base = line.split_whitespace().last().unwrap().to_owned();
        // As the binary does; another test may have been first.
        let _already_there = rustls::crypto::ring::default_provider().install_default();
        Some(Self {
            child,
            base,
            http: reqwest::Client::new(),
        })
    }

    /// Its address, `http://127.0.0.1:PORT`.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// Changes the data as a user would: `{"op": "edit_ticket", …}`.
    pub(crate) async fn mutate(&self, operation: Value) -> Value {
        self.post("mutate", operation).await
    }

    /// Adds a fault rule.
    pub(crate) async fn fault(&self, rule: Value) {
        self.post("faults", rule).await;
    }

    /// Removes all fault rules.
    pub(crate) async fn calm(&self) {
        let url = format!("{}/_control/faults", self.base);
        self.http.delete(url).send().await.unwrap();
    }

    /// All requests since the start or the last reset, and figures of them.
    pub(crate) async fn log(&self) -> Value {
        self.get("/_control/log").await
    }

    /// Projects, keys, counts.
    pub(crate) async fn state(&self) -> Value {
        self.get("/_control/state").await
    }

    /// Lets its clock go on by so many seconds.
    pub(crate) async fn advance(&self, seconds: u64) {
        self.post("clock", json!({ "advance": seconds })).await;
    }

    /// Data as loaded, no faults, an empty log.
    pub(crate) async fn reset(&self) {
        self.post("reset", json!({})).await;
    }

    /// A plain GET of the service itself, without credentials.
    pub(crate) async fn get(&self, path: &str) -> Value {
        let url = format!("{}{path}", self.base);
        let answer = self.http.get(url).send().await.unwrap();
        answer.json().await.unwrap()
    }

    async fn post(&self, what: &str, body: Value) -> Value {
        let url = format!("{}/_control/{what}", self.base);
        let answer = self.http.post(url).json(&body).send().await.unwrap();
        let status = answer.status();
        let text = answer.text().await.unwrap();
        assert!(status.is_success(), "{what} {body}: {status} {text}");
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }
}
