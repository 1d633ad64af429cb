//! GitHub against its simulator: what its documentation promises beyond what all
//! services do.

use crate::{
    github::{Github, ask},
    mirror::Mirror,
    simulator::Simulator,
    suite::{Counts, ODD, OTHER, SMALL, Service},
};
use serde_json::{Value, json};
use std::{collections::HashSet, time::Instant};
use tokio_util::sync::CancellationToken;
use whence_contract::{LinkKind, UnitKind};
use whence_harvest::RunOptions;
use whence_log::RunStatus;

struct World {
    simulator: Simulator,
    mirror: Mirror,
}

/// A simulator with these further arguments, and a mirror of one project.
async fn world(project: &str, arguments: &[&str], more: Value) -> Option<World> {
    let arguments = [Github::arguments(), arguments].concat();
    let simulator = Simulator::start("github", &arguments).await?;
    let mut settings = Github::settings(simulator.base());
    for (key, value) in more.as_object().into_iter().flatten() {
        settings[key] = value.clone();
    }
    let mirror = Mirror::new(&Github::spec(project), settings).await;
    Some(World { simulator, mirror })
}

impl World {
    async fn is_equal(&self, project: &str) {
        let truth = Github::truth(&self.simulator, project).await;
        let documents = self.mirror.documents().await;
        assert_eq!(documents.len(), truth.len());
        for (id, wanted) in &truth {
            let of = |kind| {
                documents[id]
                    .units
                    .iter()
                    .filter(|u| u.kind == kind)
                    .count()
            };
            let found = Counts {
                comments: of(UnitKind::Comment),
                reviews: of(UnitKind::Review),
                review_comments: of(UnitKind::ReviewComment),
                files: documents[id].files.len(),
            };
            assert_eq!(found, *wanted, "{id}");
            let ids = documents[id].units.iter().map(|unit| &unit.upstream_id);
            let once: HashSet<_> = ids.clone().collect();
            assert_eq!(once.len(), ids.count(), "{id} holds something twice");
        }
        assert!(self.mirror.dead_letters().await.is_empty());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_nested_list_is_read_to_its_last_page() {
    let Some(world) = world(ODD, &["--page-cap", "3"], json!({})).await else {
        return;
    };
    world.mirror.pass().await;
    world.is_equal(ODD).await;
    let documents = world.mirror.documents().await;
    let most = |of: fn(&whence_contract::Document) -> usize| documents.values().map(of).max();
    assert_eq!(most(|d| d.labels.len()), Some(110));
    assert!(most(|d| d.units.len()) > Some(300));
    let mut labels = documents.values().flat_map(|d| &d.labels);
    assert!(labels.any(|label| label.color.is_some()));
    // Odd people and texts are no fault.
    assert!(documents.values().any(|d| d.author.is_none()));
    for document in documents.values() {
        assert!(
            !document.meta.contains_key("ignored_fields"),
            "{document:?}"
        );
        let times: Vec<_> = document
            .units
            .iter()
            .filter(|u| u.kind == UnitKind::Comment)
            .collect();
        assert!(times.is_sorted_by_key(|unit| unit.created_at));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renamed_repository_keeps_its_tickets_and_their_old_names() {
    let old = "octo-sim/old-edge-cases";
    let Some(mut world) = world(ODD, &[], json!({})).await else {
        return;
    };
    world.mirror.pass().await;
    let keys: Vec<_> = world.mirror.keyed().await.into_keys().collect();
    world.mirror.point_at(&Github::spec(old));
    let source = world.mirror.source();
    world.mirror.pass().await;
    assert_eq!(
        world.mirror.keyed().await.into_keys().collect::<Vec<_>>(),
        keys
    );
    for (id, document) in world.mirror.documents().await {
        let number = id.rsplit_once('#').unwrap().1;
        assert_eq!(document.project, ODD);
        assert_eq!(document.aliases, [format!("{old}#{number}")]);
    }
    let tracker = source.tracker().unwrap();
    assert!(tracker.covers("octo-sim/OLD-edge-cases#3") && !tracker.covers("octo-sim/x#3"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_that_are_too_heavy_are_halved() {
    // A single pull request asks for more nodes than this at first.
    let arguments = ["--opt", "heavy_nodes=200"];
    let Some(world) = world(SMALL, &arguments, json!({})).await else {
        return;
    };
    world.mirror.pass().await;
    world.is_equal(SMALL).await;
    let log = world.simulator.log().await;
    let heavy = |entry: &&Value| entry["timed_out"] == true;
    let requests = log["requests"]
        .as_array()
        .or_else(|| log["entries"].as_array());
    let timeouts = requests.map_or(0, |all| all.iter().filter(heavy).count());
    eprintln!(
        "{timeouts} of {} requests were too heavy",
        log["derived"]["requests"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errors_with_200_and_partial_data_are_never_taken_for_whole() {
    let Some(world) = world(SMALL, &[], json!({ "page_size": 10 })).await else {
        return;
    };
    for (nth, preset) in [
        (2, "github.graphql_200_timeout"),
        (4, "github.resource_limits"),
        (6, "github.unicorn_502"),
        (8, "github.graphql_502"),
        (10, "github.504"),
    ] {
        let rule = json!({"match": {}, "nth": nth, "then": {"preset": preset}});
        world.simulator.fault(rule).await;
    }
    let secondary = json!({"status": 403, "headers": {"Retry-After": "2"},
        "body": {"message": "You have exceeded a secondary rate limit."}});
    for (nth, then) in [
        (12, secondary),
        (
            14,
            json!({"status": 200, "headers": {"Retry-After": "1"}, "body": {"errors": [
                {"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]}}),
        ),
        (
            16,
            json!({"status": 200, "body": {"data": {"nodes": []}, "errors": [
                {"type": "FORBIDDEN", "path": ["nodes", 0, "comments"], "message": "no"}]}}),
        ),
    ] {
        world
            .simulator
            .fault(json!({"match": {}, "nth": nth, "then": then}))
            .await;
    }
    world.mirror.pass().await;
    world.simulator.calm().await;
    world.is_equal(SMALL).await;
    let notices = world.mirror.notices.lock().unwrap().clone();
    assert!(
        notices.iter().any(|n| n.contains("secondary")),
        "{notices:?}"
    );
    // No access is a failure that removes nothing.
    let rule = json!({"match": {}, "every": 1, "then": {"preset": "github.saml_403"}});
    world.simulator.fault(rule).await;
    let denied = world
        .mirror
        .run(RunOptions::default(), &CancellationToken::new())
        .await
        .unwrap();
    assert_eq!(denied.status, RunStatus::Failed);
    assert!(denied.error.unwrap().contains("SAML"));
    world.simulator.calm().await;
    world.is_equal(SMALL).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_budget_is_never_overdrawn() {
    let arguments = ["--opt", "graphql_limit=40", "--opt", "rate_window=2"];
    let Some(world) = world(SMALL, &arguments, json!({ "page_size": 5 })).await else {
        return;
    };
    world.mirror.pass().await;
    let log = world.simulator.log().await;
    let text = log.to_string();
    assert!(
        !text.contains("\"rate_limited\":true"),
        "the budget was overdrawn"
    );
    let notices = world.mirror.notices.lock().unwrap().clone();
    assert!(notices.iter().any(|n| n.contains("budget")), "{notices:?}");
    eprintln!(
        "{} requests, {} points",
        log["derived"]["requests"], log["derived"]["total_cost"]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_ticket_that_github_cannot_give_holds_up_no_other() {
    let Some(world) = world(SMALL, &[], json!({})).await else {
        return;
    };
    let answer = ask(
        &world.simulator,
        "{ repository(owner: \"pcapng\", name: \"pcapng\") { issues(first: 5) { nodes { id number } } } }",
        json!({}),
    )
    .await;
    let bad = &answer["data"]["repository"]["issues"]["nodes"][3];
    let rule = json!({"match": {"contains": bad["id"]}, "every": 1,
        "then": {"preset": "github.graphql_502"}});
    world.simulator.fault(rule).await;
    let options = RunOptions::default();
    let record = world
        .mirror
        .run(options, &CancellationToken::new())
        .await
        .unwrap();
    let truth = Github::truth(&world.simulator, SMALL).await;
    assert_eq!(record.counts.listed, truth.len() as u64 - 1, "{record:?}");
    assert!(record.counts.unreadable >= 1);
    let letters = world.mirror.dead_letters().await;
    assert_eq!(letters.len(), 1, "{letters:?}");
    world.simulator.calm().await;
    world.mirror.sweep().await;
    world.is_equal(SMALL).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_moves_no_time_is_found_by_the_sweep() {
    let Some(world) = world(ODD, &[], json!({})).await else {
        return;
    };
    world.mirror.pass().await;
    let before = world.mirror.documents().await;
    let labelled = |d: &&whence_contract::Document| !d.labels.is_empty();
    let label = before.values().find(labelled).unwrap().labels[0]
        .name
        .clone();
    let bearers = before
        .values()
        .filter(|d| d.labels.iter().any(|l| l.name == label))
        .count();
    world
        .simulator
        .mutate(json!({"op": "rename_label", "project": ODD, "old": label, "new": "quokka"}))
        .await;
    let swept = world.mirror.sweep().await;
    assert_eq!(swept.counts.published, bearers as u64);
    let after = world.mirror.documents().await;
    let renamed = |d: &whence_contract::Document| d.labels.iter().any(|l| l.name == "quokka");
    assert_eq!(after.values().filter(|d| renamed(d)).count(), bearers);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_moved_issue_leaves_this_source_and_is_found_where_it_went() {
    let Some(mut world) = world(SMALL, &[], json!({})).await else {
        return;
    };
    world.mirror.pass().await;
    let documents = world.mirror.documents().await;
    let is_issue = |id: &&String| documents[*id].kind == whence_contract::TicketKind::Issue;
    let id = documents.keys().find(is_issue).unwrap().clone();
    let number: u64 = id.rsplit_once('#').unwrap().1.parse().unwrap();
    world
        .simulator
        .mutate(json!({"op": "transfer", "project": SMALL, "number": number, "to": OTHER}))
        .await;
    let swept = world.mirror.sweep().await;
    assert_eq!(swept.counts.deleted, 1, "{swept:?}");
    world.mirror.point_at(&Github::spec(OTHER));
    world.mirror.pass().await;
    let moved = world.mirror.documents().await;
    let from = format!("from {SMALL}");
    let arrived: Vec<_> = moved
        .values()
        .filter(|d| d.events.iter().any(|e| e.text.as_deref() == Some(&from)))
        .collect();
    assert_eq!(arrived.len(), 1);
    assert_eq!(arrived[0].project, OTHER);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn links_events_and_details_are_kept() {
    let Some(world) = world(SMALL, &[], json!({})).await else {
        return;
    };
    world.mirror.pass().await;
    let documents = world.mirror.documents().await;
    let links = |kind| {
        documents
            .values()
            .filter(move |d| d.links.iter().any(|l| l.kind == kind))
    };
    assert!(links(LinkKind::Closes).count() > 0 && links(LinkKind::Relates).count() > 0);
    for link in documents.values().flat_map(|d| &d.links) {
        let elsewhere = !link.target.starts_with(SMALL);
        assert!(
            elsewhere || documents.contains_key(&link.target),
            "{link:?}"
        );
    }
    let kinds: HashSet<_> = documents
        .values()
        .flat_map(|d| d.events.iter().map(|e| &e.kind))
        .collect();
    eprintln!("{kinds:?}");
    for kind in ["closed", "merged", "cross-referenced"] {
        assert!(kinds.contains(&kind.to_owned()), "{kind}");
    }
    let notes = documents.values().flat_map(|d| &d.units);
    let notes: Vec<_> = notes
        .filter(|u| u.kind == UnitKind::ReviewComment)
        .collect();
    assert!(!notes.is_empty() && notes.iter().all(|u| u.path.is_some() && u.url.is_some()));
    // An app's token has no account and reads all the same.
    let settings = json!({ "base_url": world.simulator.base(), "token": "ghs_anapp" });
    let app = Mirror::new(&Github::spec(SMALL), settings).await.source();
    let identity = app.tracker().unwrap().identify().await.unwrap();
    assert_eq!(
        (identity.account.as_str(), identity.may_write),
        ("an app", None)
    );
}

/// `cargo test -p whence --test trackers github_rules::throughput -- --ignored --nocapture`
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a measurement"]
async fn throughput() {
    let project = "mlswg/mls-protocol";
    for page_size in [25, 100] {
        let Some(world) = world(project, &[], json!({ "page_size": page_size })).await else {
            return;
        };
        let begin = Instant::now();
        let record = world.mirror.pass().await;
        let took = begin.elapsed();
        let log = world.simulator.log().await;
        eprintln!(
            "page size {page_size}: {} tickets in {took:?} (first sweep included), {} requests, {} points",
            record.counts.published, log["derived"]["requests"], log["derived"]["total_cost"]
        );
        world.is_equal(project).await;
        let begin = Instant::now();
        let again = world.mirror.pass().await;
        let sent = world.simulator.log().await["derived"]["requests"].clone();
        eprintln!(
            "again: {:?} in {:?}, {sent} requests in all",
            again.counts,
            begin.elapsed()
        );
    }
}
