//! The standard suite: what every tracker must get right, called with one line,
//! `suite!(Github)`, for whatever implements [`Service`].

use crate::{mirror::Mirror, simulator::Simulator};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use tokio_util::sync::CancellationToken;
use whence_contract::{Document, UnitKind};
use whence_harvest::RunOptions;
use whence_log::RunStatus;

/// A project of the simulator with every oddity: 160 tickets of one moment, 260
/// comments on one ticket, missing authors.
pub(crate) const ODD: &str = "octo-sim/edge-cases";
/// A small ordinary project.
pub(crate) const SMALL: &str = "pcapng/pcapng";
/// Where tickets move to.
pub(crate) const OTHER: &str = "quicwg/load-balancers";

/// What a ticket consists of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) comments: usize,
    pub(crate) reviews: usize,
    pub(crate) review_comments: usize,
    pub(crate) files: usize,
}

/// One service, as the suite needs it.
#[async_trait]
pub(crate) trait Service: Send + Sync + 'static {
    /// As the simulator and the sources call it.
    const NAME: &'static str;
    /// The secret in [`Service::settings`]; must appear nowhere else.
    const SECRET: &'static str;

    /// Further arguments of the simulator.
    fn arguments() -> &'static [&'static str] {
        &[]
    }

    /// The source of a project of the simulator.
    fn spec(project: &str) -> String;

    /// The table of settings: address, secret, no pace.
    fn settings(base: &str) -> Value;

    /// What people call an issue.
    fn id(project: &str, number: u64) -> String;

    /// What the service itself says it has, asked by a bare client: every ticket
    /// that shall be kept, by its present id.
    async fn truth(simulator: &Simulator, project: &str) -> BTreeMap<String, Counts>;

    /// Whether the time of a ticket moves when a comment is deleted, so that a
    /// pass without a sweep sees it.
    fn deletion_moves_time() -> bool {
        false
    }

    /// Whether a POST to this path only reads, which the simulator's log cannot
    /// tell.
    fn only_reads(_path: &str) -> bool {
        false
    }
}

/// The suite for one service.
macro_rules! suite {
    ($service:ty) => {
        crate::suite::suite!(@ $service:
            everything_is_there_at_every_page_size,
            an_edit_is_one_message,
            changes_between_pages_are_seen,
            stopped_anywhere_it_goes_on,
            what_is_gone_goes,
            a_bad_listing_removes_nothing,
            a_throttle_is_waited_for,
            damaged_answers_lose_nothing,
            a_service_that_stays_down_fails_the_pass,
            the_token_goes_nowhere_else,
            requests_keep_the_pace,
            credentials_are_known,
            one_ticket_on_demand,
        );
    };
    (@ $service:ty: $($test:ident),* $(,)?) => {
        mod standard {
            use super::*;
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $test() {
                    crate::suite::$test::<$service>().await;
                }
            )*
        }
    };
}
pub(crate) use suite;

struct World {
    simulator: Simulator,
    mirror: Mirror,
    project: &'static str,
}

impl World {
    async fn new<S: Service>(project: &'static str, more: Value) -> Option<Self> {
        let simulator = Simulator::start(S::NAME, S::arguments()).await?;
        let mut settings = S::settings(simulator.base());
        for (key, value) in more.as_object().into_iter().flatten() {
            settings[key] = value.clone();
        }
        let mirror = Mirror::new(&S::spec(project), settings).await;
        Some(Self {
            simulator,
            mirror,
            project,
        })
    }

    /// The mirror is the service, ticket by ticket.
    async fn is_equal<S: Service>(&self) {
        let there = S::truth(&self.simulator, self.project).await;
        let here: BTreeMap<String, Counts> = self
            .mirror
            .documents()
            .await
            .iter()
            .map(|(id, document)| (id.clone(), counts(document)))
            .collect();
        let missing: Vec<_> = there.keys().filter(|id| !here.contains_key(*id)).collect();
        let surplus: Vec<_> = here.keys().filter(|id| !there.contains_key(*id)).collect();
        assert!(
            missing.is_empty() && surplus.is_empty(),
            "missing {missing:?}, surplus {surplus:?}"
        );
        for (id, counts) in &there {
            assert_eq!(&here[id], counts, "{id}");
        }
        assert!(!there.is_empty());
        let letters = self.mirror.dead_letters().await;
        assert!(letters.is_empty(), "{letters:?}");
    }

    async fn requests(&self) -> usize {
        let log = self.simulator.log().await;
        log["derived"]["requests"]
            .as_u64()
            .expect("the log counts requests") as usize
    }

    /// The body of a ticket, and of all its comments.
    async fn prose(&self, id: &str) -> Option<String> {
        let documents = self.mirror.documents().await;
        let bodies = documents.get(id)?.units.iter().map(|u| u.body.clone());
        Some(bodies.collect::<Vec<_>>().join("\n"))
    }
}

fn counts(document: &Document) -> Counts {
    let of = |kind: UnitKind| document.units.iter().filter(|u| u.kind == kind).count();
    Counts {
        comments: of(UnitKind::Comment),
        reviews: of(UnitKind::Review),
        review_comments: of(UnitKind::ReviewComment),
        files: document.files.len(),
    }
}

/// An issue of the project that has comments, by number: the truth's first.
async fn a_number<S: Service>(world: &World) -> u64 {
    let truth = S::truth(&world.simulator, world.project).await;
    (1..2_000)
        .find(|number| {
            truth
                .get(&S::id(world.project, *number))
                .is_some_and(|counts| counts.comments >= 2 && counts.comments < 30)
        })
        .expect("an issue with a few comments")
}

pub(crate) async fn everything_is_there_at_every_page_size<S: Service>() {
    for page_size in [1, 7, 100] {
        let Some(world) = World::new::<S>(ODD, json!({ "page_size": page_size })).await else {
            return;
        };
        let first = world.mirror.pass().await;
        world.is_equal::<S>().await;
        let requests = world.requests().await;
        eprintln!(
            "{} page size {page_size}: {requests} requests, {:?}",
            S::NAME,
            first.counts
        );
        // The first sweep found nothing that the listing had missed, and the next
        // pass has nothing to say.
        let again = world.mirror.sweep().await;
        assert_eq!((again.counts.published, again.counts.deleted), (0, 0));
        assert!(again.warnings.is_empty(), "{again:?}");
    }
}

pub(crate) async fn an_edit_is_one_message<S: Service>() {
    let Some(world) = World::new::<S>(SMALL, json!({})).await else {
        return;
    };
    world.mirror.pass().await;
    let number = a_number::<S>(&world).await;
    let id = S::id(world.project, number);
    let before = world.mirror.documents().await;
    for (operation, word) in [
        (
            json!({"op": "edit_ticket", "project": world.project, "number": number,
                "body": "Entirely new: quokkas."}),
            "quokkas",
        ),
        (
            json!({"op": "add_comment", "project": world.project, "number": number,
                "body": "One more: wombats."}),
            "wombats",
        ),
    ] {
        world.simulator.advance(120).await;
        world.simulator.mutate(operation).await;
        let sent = world.requests().await;
        let pass = world.mirror.pass().await;
        eprintln!(
            "{} after one change: {} requests, {} published",
            S::NAME,
            world.requests().await - sent,
            pass.counts.published
        );
        assert_eq!(pass.counts.published, 1, "{pass:?}");
        assert!(world.prose(&id).await.unwrap().contains(word));
    }
    // Nothing else moved.
    let after = world.mirror.documents().await;
    for (other, document) in before.iter().filter(|(other, _)| **other != id) {
        assert_eq!(&after[other], document);
    }
    world.is_equal::<S>().await;
}

pub(crate) async fn changes_between_pages_are_seen<S: Service>() {
    let Some(world) = World::new::<S>(SMALL, json!({ "page_size": 5 })).await else {
        return;
    };
    let number = a_number::<S>(&world).await;
    let edit = |body: &str| json!({"op": "edit_ticket", "project": world.project, "number": number, "body": body});
    let changes = [
        (3, edit("edited under way: quokkas")),
        (
            4,
            json!({"op": "add_comment", "project": world.project, "number": number,
                "body": "said under way: wombats"}),
        ),
        (
            6,
            json!({"op": "create_ticket", "project": world.project, "title": "Born under way",
                "body": "numbats", "author": "ada"}),
        ),
    ];
    for (nth, operation) in changes {
        world
            .simulator
            .fault(json!({"match": {}, "nth": nth, "then": {"mutate": [operation]}}))
            .await;
    }
    world.mirror.pass().await;
    world.simulator.calm().await;
    world.mirror.pass().await;
    world.is_equal::<S>().await;
    let prose = world.prose(&S::id(world.project, number)).await.unwrap();
    assert!(
        prose.contains("quokkas") && prose.contains("wombats"),
        "{prose}"
    );
    // A deletion between two pages of an incremental pass.
    world.simulator.advance(120).await;
    let edits: Vec<Value> = (0..12)
        .map(|n| {
            json!({"op": "add_comment", "project": world.project, "number": number,
                "body": format!("and {n}")})
        })
        .collect();
    world.simulator.mutate(Value::Array(edits)).await;
    let gone = json!({"op": "delete_ticket", "project": world.project, "number": number});
    world
        .simulator
        .fault(json!({"match": {}, "nth": 2, "then": {"mutate": [gone]}}))
        .await;
    // It may fail on the ticket that vanished under its hands; the next must not.
    let _first = world
        .mirror
        .run(RunOptions::default(), &CancellationToken::new())
        .await
        .unwrap();
    world.simulator.calm().await;
    world.mirror.sweep().await;
    world.is_equal::<S>().await;
}

pub(crate) async fn stopped_anywhere_it_goes_on<S: Service>() {
    let Some(world) = World::new::<S>(SMALL, json!({ "page_size": 5 })).await else {
        return;
    };
    let mut stopped = 0;
    for milliseconds in (0..20).map(|n: u64| 3 + n * n * 4) {
        let stop = CancellationToken::new();
        let timer = stop.clone();
        let watch = tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(milliseconds)).await;
            timer.cancel();
        });
        let record = world
            .mirror
            .run(RunOptions::default(), &stop)
            .await
            .unwrap();
        stopped += usize::from(record.status == RunStatus::Failed);
        watch.abort();
    }
    assert!(stopped > 0, "no pass was stopped");
    world.mirror.sweep().await;
    world.is_equal::<S>().await;
    eprintln!("{}: {stopped} of 20 passes were stopped", S::NAME);
}

pub(crate) async fn what_is_gone_goes<S: Service>() {
    let Some(world) = World::new::<S>(SMALL, json!({})).await else {
        return;
    };
    world.mirror.pass().await;
    let number = a_number::<S>(&world).await;
    let id = S::id(world.project, number);
    let marked = world
        .simulator
        .mutate(
            json!({"op": "add_comment", "project": world.project, "number": number,
            "body": "to be deleted: quokkas"}),
        )
        .await;
    world.simulator.advance(120).await;
    world.mirror.pass().await;
    assert!(world.prose(&id).await.unwrap().contains("quokkas"));

    // A comment.
    let comments = world.mirror.documents().await[&id].units.len();
    world
        .simulator
        .mutate(
            json!({"op": "delete_comment", "project": world.project, "number": number,
            "index": -1}),
        )
        .await;
    if S::deletion_moves_time() {
        world.mirror.pass().await;
    } else {
        world.mirror.sweep().await;
    }
    let prose = world.prose(&id).await.unwrap();
    assert!(!prose.contains("quokkas"), "{marked}: {prose}");
    assert_eq!(
        world.mirror.documents().await[&id].units.len(),
        comments - 1
    );
    world.is_equal::<S>().await;

    // The ticket.
    world
        .simulator
        .mutate(json!({"op": "delete_ticket", "project": world.project, "number": number}))
        .await;
    let swept = world.mirror.sweep().await;
    assert_eq!(swept.counts.deleted, 1, "{swept:?}");
    world.is_equal::<S>().await;

    // Another moves out of this source.
    let mover = a_number::<S>(&world).await;
    world
        .simulator
        .mutate(json!({"op": "transfer", "project": world.project, "number": mover, "to": OTHER}))
        .await;
    world.mirror.sweep().await;
    assert!(world.prose(&S::id(world.project, mover)).await.is_none());
    world.is_equal::<S>().await;
}

pub(crate) async fn a_bad_listing_removes_nothing<S: Service>() {
    let Some(world) = World::new::<S>(SMALL, json!({})).await else {
        return;
    };
    world.mirror.pass().await;
    let all = world.mirror.documents().await.len();
    for (name, fault) in [
        (
            "401",
            json!({"status": 401, "body": "{\"message\":\"Bad credentials\"}"}),
        ),
        (
            "403",
            json!({"status": 403, "body": "{\"message\":\"Forbidden\"}"}),
        ),
        (
            "404",
            json!({"status": 404, "body": "{\"message\":\"Not Found\"}"}),
        ),
        ("no items", json!({"page": "empty"})),
        (
            "an HTML page",
            json!({"status": 200, "body": "<html>Please sign in</html>"}),
        ),
    ] {
        world
            .simulator
            .fault(json!({"match": {}, "every": 1, "then": fault}))
            .await;
        let options = RunOptions {
            sweep_after: Duration::ZERO,
            ..RunOptions::default()
        };
        let begin = Instant::now();
        let record = world
            .mirror
            .run(options, &CancellationToken::new())
            .await
            .unwrap();
        eprintln!(
            "{} with {name}: {:?} after {:?}: {:?} {:?}",
            S::NAME,
            record.status,
            begin.elapsed(),
            record.error,
            record.warnings
        );
        assert!(
            record.status == RunStatus::Failed || !record.warnings.is_empty(),
            "{name}: {record:?}"
        );
        assert_eq!(record.counts.deleted, 0, "{name}");
        assert_eq!(world.mirror.documents().await.len(), all, "{name}");
        world.simulator.calm().await;
    }
    world.mirror.sweep().await;
    world.is_equal::<S>().await;
}

pub(crate) async fn a_throttle_is_waited_for<S: Service>() {
    let Some(world) = World::new::<S>(SMALL, json!({})).await else {
        return;
    };
    world
        .simulator
        .fault(
            json!({"match": {}, "nth": 3, "then": {"status": 429, "headers": {"Retry-After": "3"},
                "body": "{\"message\":\"slow down\"}"}}),
        )
        .await;
    let begin = Instant::now();
    world.mirror.pass().await;
    assert!(begin.elapsed() >= Duration::from_secs(3));
    let notices = world.mirror.notices.lock().unwrap().clone();
    assert!(
        notices.iter().any(|line| line.contains("waiting until")),
        "{notices:?}"
    );
    world.is_equal::<S>().await;
}

pub(crate) async fn damaged_answers_lose_nothing<S: Service>() {
    let Some(world) = World::new::<S>(SMALL, json!({ "page_size": 20 })).await else {
        return;
    };
    for (nth, then) in [
        (2, json!({"malformed": true})),
        (4, json!({"truncate": 0.5})),
        (6, json!({"drop": "before"})),
        (8, json!({"drop": "mid"})),
        (
            10,
            json!({"status": 502, "body": "<html>Bad gateway</html>"}),
        ),
        (
            12,
            json!({"status": 200, "body": "<html>Please sign in</html>"}),
        ),
        (14, json!({"clock_skew": 600})),
    ] {
        world
            .simulator
            .fault(json!({"match": {}, "nth": nth, "then": then}))
            .await;
    }
    world.mirror.pass().await;
    world.simulator.calm().await;
    world.is_equal::<S>().await;
    // Pages that shift under the reader's hands.
    for then in [
        json!({"page": "duplicate", "page_arg": 3}),
        json!({"page": "empty"}),
    ] {
        world
            .simulator
            .fault(json!({"match": {}, "every": 3, "times": 4, "then": then}))
            .await;
        let options = RunOptions {
            full: true,
            ..RunOptions::default()
        };
        let stop = CancellationToken::new();
        let bounded =
            tokio::time::timeout(Duration::from_secs(120), world.mirror.run(options, &stop));
        bounded.await.expect("no endless loop").unwrap();
        world.simulator.calm().await;
        world.mirror.sweep().await;
        world.is_equal::<S>().await;
    }
}

pub(crate) async fn a_service_that_stays_down_fails_the_pass<S: Service>() {
    let Some(world) = World::new::<S>(SMALL, json!({})).await else {
        return;
    };
    world
        .simulator
        .fault(json!({"match": {}, "every": 1, "then": {"status": 500, "body": "{}"}}))
        .await;
    let down = world
        .mirror
        .run(RunOptions::default(), &CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(down.status, RunStatus::Failed);
    assert!(
        down.error.as_deref().is_some_and(|e| e.contains("500")),
        "{down:?}"
    );
    world.simulator.calm().await;
    world.mirror.pass().await;
    world.is_equal::<S>().await;
}

/// Takes every connection and keeps what it was sent.
async fn eavesdropper() -> (String, tokio::task::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let heard = tokio::spawn(async move {
        let mut heard = String::new();
        let patience = Duration::from_secs(3);
        while let Ok(Ok((mut stream, _))) = tokio::time::timeout(patience, listener.accept()).await
        {
            let mut bytes = vec![0; 64 * 1024];
            let read = stream.read(&mut bytes).await.unwrap_or(0);
            heard.push_str(&String::from_utf8_lossy(&bytes[..read]));
            let answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
            let _gone = stream.write_all(answer.as_bytes()).await;
        }
        heard
    });
    (address, heard)
}

pub(crate) async fn the_token_goes_nowhere_else<S: Service>() {
    let Some(world) = World::new::<S>(SMALL, json!({})).await else {
        return;
    };
    let (elsewhere, heard) = eavesdropper().await;
    world
        .simulator
        .fault(json!({"match": {}, "every": 1, "then": {"status": 302,
            "headers": {"Location": format!("{elsewhere}/graphql")}, "body": ""}}))
        .await;
    let record = world
        .mirror
        .run(RunOptions::default(), &CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(record.status, RunStatus::Failed);
    let said = format!("{record:?}");
    assert!(!said.contains(S::SECRET), "the record holds the secret");
    let heard = heard.await.unwrap();
    assert!(!heard.contains(S::SECRET), "the token went to another host");
    world.simulator.calm().await;
    world.mirror.pass().await;
    let everything = format!("{:?}", world.mirror.documents().await);
    assert!(!everything.contains(S::SECRET));
}

pub(crate) async fn requests_keep_the_pace<S: Service>() {
    let pace = json!({ "requests_per_second": 20.0, "page_size": 10 });
    let Some(world) = World::new::<S>(SMALL, pace).await else {
        return;
    };
    // Long enough for a peak to show; a stop is as good an end as any.
    let stop = CancellationToken::new();
    let timer = stop.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(3)).await;
        timer.cancel();
    });
    let _cut = world
        .mirror
        .run(RunOptions::default(), &stop)
        .await
        .unwrap();
    let log = world.simulator.log().await;
    let peak = log["derived"]["peak_requests_per_second"].as_f64().unwrap();
    // A second of the log may hold the ends of two seconds of ours.
    assert!(peak > 1.0 && peak <= 22.0, "{peak}");
    let writes = log["derived"]["writes"].as_array().into_iter().flatten();
    let writes: Vec<_> = writes
        .filter(|w| !S::only_reads(w["path"].as_str().unwrap_or_default()))
        .collect();
    assert!(writes.is_empty(), "{writes:?}");
}

pub(crate) async fn credentials_are_known<S: Service>() {
    let Some(world) = World::new::<S>(SMALL, json!({})).await else {
        return;
    };
    let source = world.mirror.source();
    let identity = source.tracker().unwrap().identify().await.unwrap();
    eprintln!("{}: {identity:?}", S::NAME);
    assert!(!identity.account.is_empty());
    world
        .simulator
        .fault(json!({"match": {}, "every": 1, "then": {"status": 401,
            "body": "{\"message\":\"Bad credentials\"}"}}))
        .await;
    let refused = source.tracker().unwrap().identify().await.unwrap_err();
    assert!(!format!("{refused:?}").contains(S::SECRET));
    assert!(refused.to_string().contains("token"), "{refused}");
}

pub(crate) async fn one_ticket_on_demand<S: Service>() {
    use whence_log::{Want, WantAnswer};
    let Some(world) = World::new::<S>(SMALL, json!({})).await else {
        return;
    };
    let number = a_number::<S>(&world).await;
    let id = S::id(world.project, number);
    let source = world.mirror.source();
    assert!(source.tracker().unwrap().covers(&id));
    assert!(!source.tracker().unwrap().covers(&S::id(OTHER, 1)));
    let name = source.name().to_owned();
    let ask = async |ticket: &str| {
        let want = Want {
            source: name.clone(),
            name: ticket.to_owned(),
            asked_at: whence_contract::Timestamp::now(),
            answer: None,
        };
        world.mirror.log.want(&want).await.unwrap();
        whence_harvest::grant_wishes(
            &world.mirror.log,
            source.as_ref(),
            &RunOptions::default(),
            &CancellationToken::new(),
        )
        .await
        .unwrap();
        let answered = world
            .mirror
            .log
            .wanted(&name, ticket)
            .await
            .unwrap()
            .unwrap();
        answered.answer.unwrap()
    };
    // Never seen before: only this one comes, whole.
    assert!(matches!(ask(&id).await, WantAnswer::Fetched { .. }));
    let documents = world.mirror.documents().await;
    assert_eq!(documents.len(), 1);
    let truth = S::truth(&world.simulator, world.project).await;
    assert_eq!(counts(&documents[&id]), truth[&id]);
    // Gone upstream: gone here.
    world
        .simulator
        .mutate(json!({"op": "delete_ticket", "project": world.project, "number": number}))
        .await;
    assert!(matches!(ask(&id).await, WantAnswer::Fetched { .. }));
    assert!(world.mirror.documents().await.is_empty());
    let never = S::id(world.project, 999_983);
    assert!(matches!(ask(&never).await, WantAnswer::Unknown));
}
