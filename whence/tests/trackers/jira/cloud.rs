//! What Jira Cloud does that no other service does.

use super::{OTHER, SMALL, ask, seen_by, settings_of, world};
use crate::mirror::Mirror;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use tokio_util::sync::CancellationToken;
use whence_contract::{Document, UnitKind, Visibility};
use whence_harvest::RunOptions;
use whence_log::{RunRecord, RunStatus};

fn comments(document: &Document) -> usize {
    let is_comment = |unit: &&whence_contract::Unit| unit.kind == UnitKind::Comment;
    document.units.iter().filter(is_comment).count()
}

async fn any_pass(mirror: &Mirror) -> RunRecord {
    let options = RunOptions {
        sweep_after: Duration::ZERO,
        ..RunOptions::default()
    };
    let stop = CancellationToken::new();
    mirror.run(options, &stop).await.unwrap()
}

/// An issue of the project with a few comments, by number.
async fn a_number(world: &super::World) -> u64 {
    let seen = seen_by(&world.simulator, "reader", "PCAP").await;
    let (key, _) = seen
        .iter()
        .find(|(_, counts)| (2..20).contains(&counts.comments))
        .unwrap();
    key.rsplit_once('-').unwrap().1.parse().unwrap()
}

/// Paths of the requests since `from`, and how many there were before.
async fn paths(world: &super::World, from: usize) -> Vec<String> {
    let log = world.simulator.log().await;
    let requests = log["requests"].as_array().unwrap();
    let of = |request: &Value| request["path"].as_str().unwrap().to_owned();
    requests.iter().skip(from).map(of).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expired_token_is_denied_and_removes_nothing() {
    let Some(world) = world("reader", SMALL, &[], json!({})).await else {
        return;
    };
    world.mirror.pass().await;
    let all = world.mirror.documents().await.len();
    for (who, word) in [
        ("expired", "token"),
        ("outsider", "is the name right"),
        ("captcha", "captcha"),
        ("nolicence", "does not have access"),
    ] {
        let settings = settings_of(world.simulator.base(), who);
        let source = open(&settings);
        let error = source.check().await.unwrap_err().to_string();
        assert!(error.contains(word), "{who}: {error}");
        assert!(!error.contains("sim-token"), "{error}");
    }
    // The answer that looks like success: 200, nothing in it, and one header.
    world
        .simulator
        .fault(
            json!({"match": {}, "every": 1, "then": {"status": 200, "headers": {
            "X-Seraph-LoginReason": "AUTHENTICATED_FAILED", "Content-Type": "application/json"},
            "body": "{\"issues\":[],\"isLast\":true,\"id\":\"1\"}"}}),
        )
        .await;
    let run = any_pass(&world.mirror).await;
    assert_eq!(run.status, RunStatus::Failed);
    assert!(run.error.unwrap().contains("token"));
    assert_eq!(
        (run.counts.deleted, world.mirror.documents().await.len()),
        (0, all)
    );
}

fn open(settings: &Value) -> Box<dyn whence_harvest::Source> {
    use whence_harvest::{Opening, Settings, SourceSpec};
    let tables = [("jira".to_owned(), settings.clone())].into();
    let opening = Opening {
        settings: Settings::new(tables).with_env(|_| None),
        ..Opening::new(whence_contract::Timestamp::now)
    };
    let spec: SourceSpec = "jira:PCAP".parse().unwrap();
    spec.open(&opening).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_restricted_is_left_out_unless_wanted() {
    // The administrator sees everything; what is published is the reader's view.
    let Some(mut world) = world("admin", SMALL, &[], json!({})).await else {
        return;
    };
    let number = a_number(&world).await;
    for (op, rest) in [
        (
            "set_security",
            json!({"number": number, "level": "Core team"}),
        ),
        ("touch", json!({"numbers": [number]})),
    ] {
        let mut operation = json!({"op": op, "project": SMALL});
        for (name, value) in rest.as_object().unwrap() {
            operation[name] = value.clone();
        }
        world.simulator.mutate(operation).await;
    }
    world.mirror.pass().await;
    let there = seen_by(&world.simulator, "reader", "PCAP").await;
    let here = world.mirror.documents().await;
    assert_eq!(
        here.keys().collect::<Vec<_>>(),
        there.keys().collect::<Vec<_>>()
    );
    for (key, document) in &here {
        assert_eq!(comments(document), there[key].comments, "{key}");
    }
    // A sweep agrees with what was published, restricted comments or not.
    let swept = world.mirror.sweep().await;
    assert_eq!((swept.counts.published, swept.counts.deleted), (0, 0));

    // Made public: it comes. Made secret again: it goes, within a sweep.
    let set = |level: Value| json!({"op": "set_security", "project": SMALL, "number": number, "level": level});
    world.simulator.mutate(set(Value::Null)).await;
    world.mirror.pass().await;
    let key = format!("PCAP-{number}");
    assert!(world.mirror.documents().await.contains_key(&key));
    world.simulator.mutate(set(json!("Core team"))).await;
    assert_eq!(world.mirror.sweep().await.counts.deleted, 1);
    assert!(!world.mirror.documents().await.contains_key(&key));

    // With `confidential`, the same log gets all of it, marked.
    let mut settings = settings_of(world.simulator.base(), "admin");
    settings["confidential"] = json!(true);
    world.mirror.set(settings);
    world.mirror.pass().await;
    let there = seen_by(&world.simulator, "admin", "PCAP").await;
    let here = world.mirror.documents().await;
    assert_eq!(here.len(), there.len());
    assert_eq!(here[&key].visibility, Visibility::Confidential);
    let traits = world.simulator.get("/_control/traits").await;
    let restricted = &traits["projects"]["PCAP"]["restricted_comments"];
    let units = here.values().flat_map(|document| &document.units);
    let internal = units.filter(|unit| unit.visibility == Visibility::Internal);
    let expected = restricted.as_array().unwrap().len();
    assert_eq!(internal.count(), expected);
    assert!(expected > 0, "{traits}");
    // And back again: what was kept is taken out.
    world
        .mirror
        .set(settings_of(world.simulator.base(), "admin"));
    world.mirror.sweep().await;
    let here = world.mirror.documents().await;
    let all = here.values().flat_map(|document| &document.units);
    assert_eq!(
        all.filter(|u| u.visibility == Visibility::Internal).count(),
        0
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_moved_issue_stays_one_ticket_with_its_former_key() {
    let Some(mut world) = world("reader", OTHER, &[], json!({})).await else {
        return;
    };
    let number = a_number(&world).await;
    world.mirror.pass().await;
    world
        .simulator
        .mutate(json!({"op": "transfer", "project": SMALL, "number": number, "to": OTHER}))
        .await;
    world.mirror.pass().await;
    let here = world.mirror.documents().await;
    let old = format!("PCAP-{number}");
    let moved: Vec<&Document> = here.values().filter(|d| d.aliases.contains(&old)).collect();
    assert_eq!(moved.len(), 1);
    assert!(moved[0].id.starts_with("QLB-") && moved[0].project == "QLB");
    // Asked for by its old key from where it was, it is not there any more.
    world.mirror.point_at("jira:PCAP");
    let source = world.mirror.source();
    let wanted = whence_harvest::Wanted {
        key: None,
        names: vec![old],
    };
    let fetched = source.tracker().unwrap().fetch(&wanted).await.unwrap();
    assert!(
        matches!(&fetched, whence_harvest::Fetched::Present(whence_harvest::Item::Withdrawn { why, .. }) if why.contains("QLB-")),
        "{fetched:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_quiet_pass_is_two_requests() {
    let Some(world) = world("reader", SMALL, &[], json!({})).await else {
        return;
    };
    world.mirror.pass().await;
    let first = paths(&world, 0).await.len();
    let number = a_number(&world).await;
    let edit = json!({"op": "edit_ticket", "project": SMALL, "number": number, "body": "quokkas"});
    world.simulator.mutate(edit).await;
    let before = paths(&world, 0).await.len();
    assert_eq!(world.mirror.pass().await.counts.published, 1);
    let changed = paths(&world, before).await;
    let before = before + changed.len();
    let pass = world.mirror.pass().await;
    let quiet = paths(&world, before).await;
    eprintln!("first pass and sweep {first} requests; after one edit {changed:?}; quiet {quiet:?}");
    assert_eq!((quiet.len(), pass.counts.published), (2, 0), "{quiet:?}");
    assert!(changed.len() <= 4, "{changed:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn zones_change_nothing_but_how_times_are_written() {
    for who in ["utc", "india", "admin"] {
        let Some(world) = world(who, SMALL, &[], json!({})).await else {
            return;
        };
        world.mirror.pass().await;
        let number = a_number(&world).await;
        let edit = json!({"op": "edit_ticket", "project": SMALL, "number": number, "body": who});
        world.simulator.mutate(edit).await;
        assert_eq!(world.mirror.pass().await.counts.published, 1, "{who}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_index_that_lags_loses_nothing() {
    let Some(world) = world("reader", SMALL, &["--opt", "index_lag=60"], json!({})).await else {
        return;
    };
    world.mirror.pass().await;
    let number = a_number(&world).await;
    let change = [
        json!({"op": "edit_ticket", "project": SMALL, "number": number, "body": "late quokkas"}),
        json!({"op": "create_ticket", "project": SMALL, "title": "Late", "body": "late numbats",
            "author": "ada"}),
    ];
    world.simulator.mutate(json!(change)).await;
    // Something else changes later and is seen earlier.
    world.mirror.pass().await;
    world.simulator.advance(30).await;
    world
        .simulator
        .mutate(
            json!({"op": "add_comment", "project": SMALL, "number": number + 1,
            "body": "meanwhile"}),
        )
        .await;
    world.mirror.pass().await;
    world.simulator.advance(120).await;
    world.mirror.pass().await;
    let here = world.mirror.documents().await;
    let bodies = here.values().flat_map(|document| &document.units);
    let all: String = bodies.map(|unit| unit.body.as_str()).collect();
    assert!(all.contains("late quokkas") && all.contains("late numbats"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_that_repeats_and_a_page_of_no_end_do_not_loop() {
    let Some(world) = world("reader", SMALL, &[], json!({"page_size": 7})).await else {
        return;
    };
    let rule = json!({"match": {"path": "search/jql"}, "nth": [2, 3, 4, 5],
        "then": {"special": "token_loop"}});
    world.simulator.fault(rule).await;
    let begin = Instant::now();
    let run = any_pass(&world.mirror).await;
    assert!(begin.elapsed() < Duration::from_secs(60), "{run:?}");
    world.simulator.calm().await;
    world.mirror.sweep().await;
    let there = seen_by(&world.simulator, "reader", "PCAP").await;
    assert_eq!(world.mirror.documents().await.len(), there.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_heavy_page_is_halved_and_one_bad_issue_stays_one() {
    let Some(world) = world("reader", SMALL, &[], json!({})).await else {
        return;
    };
    let heavy = json!({"match": {"path": "bulkfetch"}, "nth": [1, 2],
        "then": {"preset": "jira.504_search"}});
    world.simulator.fault(heavy).await;
    // One issue alone cannot be had, in company or by itself.
    let number = a_number(&world).await;
    let key = format!("PCAP-{number}");
    let issue = ask(&world.simulator, "reader", &format!("/issue/{key}")).await;
    let id = issue["id"].as_str().unwrap().to_owned();
    for rule in [
        json!({"match": {"path": "bulkfetch", "contains": format!("\"{id}\"")}, "every": 1,
            "then": {"malformed": true}}),
        json!({"match": {"path": format!("issue/{id}$")}, "every": 1,
            "then": {"malformed": true}}),
    ] {
        world.simulator.fault(rule).await;
    }
    let pass = world.mirror.pass().await;
    assert!(pass.counts.unreadable >= 1, "{pass:?}");
    let there = seen_by(&world.simulator, "reader", "PCAP").await;
    let here = world.mirror.documents().await;
    assert_eq!(here.len(), there.len() - 1);
    assert!(!here.contains_key(&key));
    let letters = world.mirror.dead_letters().await;
    assert_eq!(letters.len(), 1, "{letters:?}");
    world.simulator.calm().await;
    world.mirror.sweep().await;
    assert!(world.mirror.documents().await.contains_key(&key));
    assert!(world.mirror.dead_letters().await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limits_are_heeded_before_and_after() {
    let arguments = ["--opt", "rate_limit=8"];
    let Some(world) = world("reader", SMALL, &arguments, json!({"page_size": 5})).await else {
        return;
    };
    world.mirror.pass().await;
    let log = world.simulator.log().await;
    let limited = &log["derived"]["statuses"]["429"];
    assert!(limited.as_u64().unwrap_or(0) <= 1, "{limited}");
    let rule = json!({"match": {}, "nth": 2, "then": {"preset": "jira.429"}});
    world.simulator.fault(rule).await;
    let begin = Instant::now();
    world.mirror.pass().await;
    assert!(begin.elapsed() >= Duration::from_secs(2));
    let notices = world.mirror.notices.lock().unwrap().clone();
    assert!(
        notices.iter().any(|line| line.contains("jira-burst-based")),
        "{notices:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_with_scopes_goes_by_the_gateway() {
    let Some(mut world) = world("reader", SMALL, &[], json!({})).await else {
        return;
    };
    let traits = world.simulator.get("/_control/traits").await;
    let cloud = traits["cloudId"].as_str().unwrap();
    let mut settings = settings_of(world.simulator.base(), "reader");
    settings["api_url"] = json!(format!("{}/ex/jira/{cloud}", world.simulator.base()));
    world.mirror.set(settings);
    world.mirror.pass().await;
    let there = seen_by(&world.simulator, "reader", "PCAP").await;
    let here = world.mirror.documents().await;
    assert_eq!(here.len(), there.len());
    let site = world.simulator.base();
    for (key, document) in &here {
        assert_eq!(document.url, Some(format!("{site}/browse/{key}")));
    }
    let source = world.mirror.source();
    let identity = source.tracker().unwrap().identify().await.unwrap();
    assert_eq!(identity.may_write, None, "{identity:?}");
    assert!(!identity.warnings.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_request_reads_and_says_nothing_of_a_browser() {
    let Some(world) = world("reader", SMALL, &[], json!({})).await else {
        return;
    };
    world.mirror.pass().await;
    let log = world.simulator.log().await;
    let agents = log["derived"]["user_agents"].to_string();
    assert!(
        agents.contains("whence/") && !agents.contains("Mozilla"),
        "{agents}"
    );
    let unauthenticated = &log["derived"]["unauthenticated"];
    assert!(
        unauthenticated.as_u64().unwrap_or(0) == 0,
        "{unauthenticated}"
    );
}

#[test]
fn a_missing_setting_names_itself() {
    use whence_harvest::{Opening, Settings, SourceSpec};
    let full = settings_of("https://acme.atlassian.net", "reader");
    for (key, variable) in [
        ("base_url", "JIRA_BASE_URL"),
        ("email", "JIRA_EMAIL"),
        ("api_token", "JIRA_API_TOKEN"),
    ] {
        let mut table = full.clone();
        table.as_object_mut().unwrap().remove(key);
        let tables = [("jira".to_owned(), table)].into();
        let opening = Opening {
            settings: Settings::new(tables).with_env(|_| None),
            ..Opening::new(whence_contract::Timestamp::now)
        };
        let spec: SourceSpec = "jira:PCAP".parse().unwrap();
        let error = spec.open(&opening).err().unwrap().to_string();
        for word in [variable, key, "docs/sources/jira.md"] {
            assert!(error.contains(word), "{error}");
        }
        assert!(!error.contains("sim-token"));
    }
    assert!("jira:PRO J".parse::<SourceSpec>().is_err());
    assert!("jira:7".parse::<SourceSpec>().is_err());
}
