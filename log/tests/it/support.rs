//! A server for each test, and stages whose behaviour a test decides.

use async_trait::async_trait;
use serde_json::value::RawValue;
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering},
};
use std::time::Duration;
use tokio_util::sync::CancellationToken;
use whence_contract::{
    Dialect, Document, Provenance, RawTicket, Recipe, StageVersion, TicketKey, TicketKind,
    Timestamp, Unit, UnitKind,
};
use whence_log::{
    Counters, Edge, Input, Log, LogError, LogOptions, Previous, Selection, Stage, StageError,
    Wiring,
};
use whence_provision::testing::Servers;

pub(crate) const MODEL: &str = "test_model";

pub(crate) fn models() -> Vec<String> {
    vec![MODEL.to_owned()]
}

/// A set-up log on a server of its own, which dies with the test.
pub(crate) async fn log() -> (Log, Server) {
    let servers = Servers::nats_only().await.unwrap();
    let log = connect(servers.nats_url()).await;
    log.set_up(&models()).await.unwrap();
    (log, Server { servers })
}

/// The server as somebody sees it who does not use this crate.
pub(crate) struct Server {
    pub(crate) servers: Servers,
}

impl Server {
    async fn js(&self) -> async_nats::jetstream::Context {
        async_nats::jetstream::new(async_nats::connect(self.servers.nats_url()).await.unwrap())
    }

    /// Subjects and bodies of all messages, in order.
    pub(crate) async fn stream_dump(&self, name: &str) -> String {
        let stream = self.js().await.get_stream(name).await.unwrap();
        let state = &stream.cached_info().state;
        let mut dump = String::new();
        for sequence in state.first_sequence..=state.last_sequence {
            if let Ok(message) = stream.get_raw_message(sequence).await {
                dump += &format!("{} ", message.subject);
                dump += &String::from_utf8_lossy(&message.payload);
                dump += "\n";
            }
        }
        dump
    }

    pub(crate) async fn objects(&self, bucket: &str) -> usize {
        use futures::StreamExt;
        let store = self.js().await.get_object_store(bucket).await.unwrap();
        store.list().await.unwrap().count().await
    }

    pub(crate) async fn publish(&self, subject: &str, body: &'static [u8]) {
        let js = self.js().await;
        js.publish(subject.to_owned(), body.into())
            .await
            .unwrap()
            .await
            .unwrap();
    }

    pub(crate) async fn max_payload(&self) -> usize {
        async_nats::connect(self.servers.nats_url())
            .await
            .unwrap()
            .server_info()
            .max_payload
    }
}

pub(crate) async fn connect(url: &str) -> Log {
    let options = LogOptions {
        url: url.to_owned(),
        name: "test".into(),
        ..LogOptions::default()
    };
    Log::connect(&options).await.unwrap()
}

pub(crate) fn key(ticket: u32) -> TicketKey {
    TicketKey {
        provenance: Provenance::Upstream,
        source: "github".into(),
        scope: "acme/kiln".into(),
        ticket: ticket.to_string(),
    }
}

pub(crate) fn raw(text: &str) -> RawTicket {
    raw_at(text, Timestamp::now())
}

pub(crate) fn raw_at(text: &str, fetched_at: Timestamp) -> RawTicket {
    let payload = serde_json::to_string(&serde_json::json!({ "body": text })).unwrap();
    let payload = RawValue::from_string(payload).unwrap();
    RawTicket::new(
        Dialect::GithubArchiveIssue,
        "archive:test.json",
        fetched_at,
        payload,
    )
}

/// What [`Scripted`] does with a ticket.
pub(crate) type Script = dyn Fn(&TicketKey, &str, u64) -> Result<(), StageError> + Send + Sync;

/// Copies the payload's body into a document, after asking the script. The
/// script gets the ticket, the body and how often this stage was called before.
pub(crate) struct Scripted {
    pub(crate) calls: AtomicU64,
    pub(crate) code: u32,
    script: Box<Script>,
    pub(crate) seen_previous: Mutex<Vec<Option<String>>>,
}

impl Scripted {
    pub(crate) fn new(
        script: impl Fn(&TicketKey, &str, u64) -> Result<(), StageError> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Self::versioned(1, script)
    }

    pub(crate) fn versioned(
        code: u32,
        script: impl Fn(&TicketKey, &str, u64) -> Result<(), StageError> + Send + Sync + 'static,
    ) -> Arc<Self> {
        Arc::new(Self {
            calls: AtomicU64::new(0),
            code,
            script: Box::new(script),
            seen_previous: Mutex::default(),
        })
    }

    pub(crate) fn fine() -> Arc<Self> {
        Self::new(|_, _, _| Ok(()))
    }

    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Stage for Scripted {
    type In = RawTicket;
    type Out = Document;

    fn name(&self) -> &'static str {
        "normalize"
    }

    fn recipe(&self, input: Recipe) -> Recipe {
        Recipe {
            normalize: StageVersion {
                code: self.code,
                settings: 0,
            },
            ..input
        }
    }

    async fn handle(
        &self,
        input: Input<RawTicket>,
        previous: &Previous<Document>,
    ) -> Result<Document, StageError> {
        let body: serde_json::Value = serde_json::from_str(input.body.payload.get()).unwrap();
        let body = body["body"].as_str().unwrap_or_default().to_owned();
        let calls = self.calls.fetch_add(1, Ordering::SeqCst);
        (self.script)(&input.key, &body, calls)?;
        let previous = previous.get().await?;
        let text = previous.and_then(|d| d.units.first().map(|u| u.body.clone()));
        self.seen_previous.lock().unwrap().push(text);
        Ok(document(&input.key, &body))
    }
}

pub(crate) fn document(key: &TicketKey, body: &str) -> Document {
    let id = format!("{}#{}", key.scope, key.ticket);
    Document {
        units: vec![Unit::new(UnitKind::Description, body)],
        ..Document::new(&key.source, &key.scope, id, TicketKind::Issue, "")
    }
}

/// Takes documents in, so that DOCS has a reader.
pub(crate) struct Sink;

#[async_trait]
impl Stage for Sink {
    type In = Document;
    type Out = Document;

    fn name(&self) -> &'static str {
        "chunk"
    }

    fn recipe(&self, input: Recipe) -> Recipe {
        input
    }

    async fn handle(
        &self,
        input: Input<Document>,
        _: &Previous<Document>,
    ) -> Result<Document, StageError> {
        Ok(input.body)
    }
}

/// A running stage; stops when dropped.
pub(crate) struct Running {
    pub(crate) counters: Arc<Counters>,
    stop: CancellationToken,
    task: Option<tokio::task::JoinHandle<Result<(), LogError>>>,
}

impl Running {
    pub(crate) fn start(log: &Log, stage: Arc<Scripted>) -> Self {
        Self::wired(log, stage, Edge::Raw, Edge::Docs)
    }

    pub(crate) fn sink(log: &Log) -> Self {
        Self::wired(log, Arc::new(Sink), Edge::Docs, Edge::Chunks)
    }

    fn wired<S: Stage>(log: &Log, stage: Arc<S>, input: Edge, output: Edge) -> Self
    where
        S::Out: Clone,
    {
        let counters = Arc::new(Counters::default());
        let stop = CancellationToken::new();
        let consumer = stage.name().to_owned();
        let wiring = Wiring {
            input,
            consumer,
            output,
            permits: 4,
        };
        let task = tokio::spawn(whence_log::run(
            log.clone(),
            stage,
            wiring,
            counters.clone(),
            stop.clone(),
        ));
        Self {
            counters,
            stop,
            task: Some(task),
        }
    }

    pub(crate) async fn stop(mut self) -> Result<(), LogError> {
        self.stop.cancel();
        self.task.take().unwrap().await.unwrap()
    }

    /// Ends by itself, as after a fatal error.
    pub(crate) async fn end(mut self) -> Result<(), LogError> {
        let task = self.task.take().unwrap();
        tokio::time::timeout(Duration::from_secs(60), task)
            .await
            .unwrap()
            .unwrap()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Waits until RAW's reader has nothing left. A hang fails, it is no measure.
pub(crate) async fn settled(log: &Log) {
    until(async || {
        let statuses = log.status(&models()).await;
        statuses.is_ok_and(|s| s[0].readers.iter().all(|r| r.pending + r.in_work == 0))
    })
    .await;
}

pub(crate) async fn until(condition: impl AsyncFn() -> bool) {
    let waiting = async {
        while !condition().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(120), waiting)
        .await
        .expect("it never happened");
}

pub(crate) fn everything() -> Selection {
    Selection::default()
}
