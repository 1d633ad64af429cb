//! Linear: the standard suite, and what is Linear's own.

use crate::{
    mirror::Mirror,
    simulator::Simulator,
    suite::{Counts, ODD, OTHER, SMALL, Service, suite},
};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use whence_contract::UnitKind;

const KEY: &str = "lin_api_sim0reader0key";

pub(crate) struct Linear;

/// The simulator's projects as Linear's teams.
fn team(project: &str) -> &'static str {
    match project {
        ODD => "EDGE",
        SMALL => "PCAP",
        OTHER => "QLB",
        other => panic!("no team for {other}"),
    }
}

/// One query, by a client of no cleverness.
async fn ask(simulator: &Simulator, query: &str, variables: Value) -> Value {
    let answer = reqwest::Client::new()
        .post(format!("{}/graphql", simulator.base()))
        .header("Authorization", KEY)
        .json(&json!({ "query": query, "variables": variables }))
        .send()
        .await
        .unwrap();
    let answer: Value = answer.json().await.unwrap();
    assert!(answer["errors"].is_null(), "{answer}");
    answer["data"].clone()
}

/// All nodes of a list at the top.
async fn all(simulator: &Simulator, list: &str, filter: &str, nodes: &str) -> Vec<Value> {
    let archived = match list {
        "issues" => "includeArchived: true,",
        _ => "",
    };
    let query = format!(
        "query($after: String) {{ {list}({archived} filter: {filter}, first: 100, after: $after) \
         {{ pageInfo {{ hasNextPage endCursor }} nodes {{ {nodes} }} }} }}"
    );
    let (mut items, mut after) = (Vec::new(), Value::Null);
    loop {
        let data = ask(simulator, &query, json!({ "after": after })).await;
        items.extend(data[list]["nodes"].as_array().unwrap().iter().cloned());
        if data[list]["pageInfo"]["hasNextPage"] != true {
            return items;
        }
        after = data[list]["pageInfo"]["endCursor"].clone();
    }
}

#[async_trait]
impl Service for Linear {
    const NAME: &'static str = "linear";
    const SECRET: &'static str = KEY;

    fn spec(project: &str) -> String {
        format!("linear:{}", team(project))
    }

    fn settings(base: &str) -> Value {
        json!({"base_url": base, "api_key": KEY, "requests_per_second": 0.0})
    }

    fn id(project: &str, number: u64) -> String {
        format!("{}-{number}", team(project))
    }

    async fn truth(simulator: &Simulator, project: &str) -> BTreeMap<String, Counts> {
        let of_team = format!("{{ team: {{ key: {{ eq: \"{}\" }} }} }}", team(project));
        let mut truth = BTreeMap::new();
        for issue in all(simulator, "issues", &of_team, "identifier trashed").await {
            if issue["trashed"] != true {
                let id = issue["identifier"].as_str().unwrap().to_owned();
                truth.insert(id, Counts::default());
            }
        }
        let filter = format!("{{ issue: {of_team} }}");
        for comment in all(simulator, "comments", &filter, "issue { identifier }").await {
            let of = comment["issue"]["identifier"].as_str().unwrap();
            if let Some(counts) = truth.get_mut(of) {
                counts.comments += 1;
            }
        }
        truth
    }

    fn only_reads(path: &str) -> bool {
        path == "/graphql"
    }
}

suite!(Linear);

async fn start(project: &str, arguments: &[&str], more: Value) -> Option<(Simulator, Mirror)> {
    let simulator = Simulator::start("linear", arguments).await?;
    let mut settings = Linear::settings(simulator.base());
    for (key, value) in more.as_object().unwrap() {
        settings[key] = value.clone();
    }
    let mirror = Mirror::new(&Linear::spec(project), settings).await;
    Some((simulator, mirror))
}

/// An issue with a few comments, by number.
async fn with_comments(mirror: &Mirror) -> u64 {
    let documents = mirror.documents().await;
    let found = documents
        .values()
        .find(|document| (4..20).contains(&document.units.len()));
    let (_, number) = found.unwrap().id.rsplit_once('-').unwrap();
    number.parse().unwrap()
}

#[tokio::test]
async fn a_comment_that_is_edited_is_seen_within_one_pass() {
    let Some((simulator, mirror)) = start(SMALL, &[], json!({})).await else {
        return;
    };
    mirror.pass().await;
    let number = with_comments(&mirror).await;
    simulator.advance(120).await;
    simulator
        .mutate(
            json!({"op": "edit_comment", "project": SMALL, "number": number, "index": 0,
            "body": "Said otherwise: quokkas."}),
        )
        .await;
    let pass = mirror.pass().await;
    assert_eq!(pass.counts.published, 1, "{pass:?}");
    let document = &mirror.documents().await[&Linear::id(SMALL, number)];
    assert!(document.units.iter().any(|u| u.body.contains("quokkas")));
    // Linear does not move the issue's time for that.
    assert!(document.updated_at < Some(whence_contract::Timestamp::now()));
}

#[tokio::test]
async fn archived_stays_and_trash_goes() {
    let Some((simulator, mirror)) = start(SMALL, &[], json!({})).await else {
        return;
    };
    mirror.pass().await;
    let number = with_comments(&mirror).await;
    let id = Linear::id(SMALL, number);
    let archive = json!({"op": "archive_ticket", "project": SMALL, "number": number});
    simulator.advance(120).await;
    simulator.mutate(archive).await;
    mirror.pass().await;
    let documents = mirror.documents().await;
    assert!(documents[&id].meta.contains_key("archived_at"));

    simulator.advance(120).await;
    simulator
        .mutate(
            json!({"op": "archive_ticket", "project": SMALL, "number": number,
            "trashed": true}),
        )
        .await;
    mirror.pass().await;
    assert!(!mirror.documents().await.contains_key(&id));
    // It stays away, and comes back when it is taken out.
    let swept = mirror.sweep().await;
    assert_eq!((swept.counts.published, swept.counts.deleted), (0, 0));
    simulator.advance(120).await;
    simulator
        .mutate(json!({"op": "unarchive_ticket", "project": SMALL, "number": number}))
        .await;
    mirror.pass().await;
    assert!(mirror.documents().await.contains_key(&id));
}

#[tokio::test]
async fn a_renamed_label_is_found_by_the_sweep() {
    let Some((simulator, mirror)) = start(ODD, &[], json!({})).await else {
        return;
    };
    mirror.pass().await;
    let documents = mirror.documents().await;
    let labelled = documents.values().filter(|d| !d.labels.is_empty());
    let name = labelled.clone().next().unwrap().labels[0].name.clone();
    let bearing = |documents: &BTreeMap<String, whence_contract::Document>, name: &str| {
        documents
            .values()
            .filter(|d| d.labels.iter().any(|label| label.name == name))
            .count()
    };
    let many = bearing(&documents, &name);
    simulator
        .mutate(json!({"op": "rename_label", "project": ODD, "old": name,
            "new": "quokka"}))
        .await;
    mirror.sweep().await;
    let documents = mirror.documents().await;
    assert_eq!(bearing(&documents, &name), 0);
    assert_eq!(bearing(&documents, "quokka"), many);
}

#[tokio::test]
async fn a_moved_issue_resolves_under_its_old_name() {
    let Some((simulator, mirror)) = start(OTHER, &[], json!({})).await else {
        return;
    };
    simulator
        .mutate(json!({"op": "transfer", "project": SMALL, "number": 3, "to": OTHER}))
        .await;
    mirror.pass().await;
    let documents = mirror.documents().await;
    let moved = documents
        .values()
        .find(|document| document.aliases == ["PCAP-3"])
        .expect("the moved issue has its old name as an alias");
    assert!(moved.id.starts_with("QLB-"));
}

#[tokio::test]
async fn threads_are_in_reading_order() {
    let Some((simulator, mirror)) = start(SMALL, &[], json!({})).await else {
        return;
    };
    mirror.pass().await;
    let documents = mirror.documents().await;
    let filter = "{ parent: { null: false }, issue: { team: { key: { eq: \"PCAP\" } } } }";
    let replies = all(
        &simulator,
        "comments",
        filter,
        "id parentId issue { identifier }",
    )
    .await;
    let replies: Vec<&Value> = replies
        .iter()
        .filter(|r| r["parentId"].is_string())
        .collect();
    assert!(!replies.is_empty());
    for reply in replies {
        let document = &documents[reply["issue"]["identifier"].as_str().unwrap()];
        let at = |id: &Value| {
            let mut units = document.units.iter();
            units.position(|unit| unit.upstream_id.as_deref() == id.as_str())
        };
        let (root, own) = (at(&reply["parentId"]).unwrap(), at(&reply["id"]).unwrap());
        assert!(root < own);
        // Nothing but replies to the same comment stands between.
        let times: Vec<_> = document.units[root..=own]
            .iter()
            .map(|unit| unit.created_at)
            .collect();
        assert!(times.is_sorted());
    }
    let kinds = documents.values().flat_map(|d| &d.units).map(|u| u.kind);
    assert!(
        kinds
            .clone()
            .all(|kind| matches!(kind, UnitKind::Description | UnitKind::Comment))
    );
}

#[tokio::test]
async fn no_query_costs_more_than_it_may_and_no_budget_is_overdrawn() {
    // Buckets that refill within 20 seconds, and hold two of our dearest queries.
    let small = [
        "--opt",
        "complexity_limit=20000",
        "--opt",
        "request_limit=15",
        "--opt",
        "rate_window=20",
    ];
    let Some((simulator, mirror)) = start(SMALL, &small, json!({})).await else {
        return;
    };
    mirror.pass().await;
    let log = simulator.log().await;
    let entries = log["requests"].as_array().unwrap();
    let mut dearest: f64 = 0.0;
    for entry in entries {
        assert_ne!(entry["rate_limited"], true, "{entry}");
        dearest = dearest.max(entry["complexity"].as_f64().unwrap_or_default());
    }
    assert!((8_000.0..=9_500.0).contains(&dearest), "{dearest}");
    let notices = mirror.notices.lock().unwrap().clone();
    assert!(
        notices.iter().any(|line| line.contains("waiting until")),
        "{notices:?}"
    );
    eprintln!(
        "linear: the dearest of {} queries cost {dearest}",
        entries.len()
    );
}

#[tokio::test]
async fn a_throttle_at_400_is_no_missing_team() {
    let Some((simulator, mirror)) = start(SMALL, &[], json!({})).await else {
        return;
    };
    for (nth, preset) in [
        (1, "linear.ratelimited_requests"),
        (2, "linear.ratelimited_complexity"),
        (3, "linear.lock_timeout"),
        (4, "linear.partial_error"),
        (6, "linear.500"),
        (8, "linear.502"),
    ] {
        simulator
            .fault(json!({"match": {}, "nth": nth, "then": {"preset": preset}}))
            .await;
    }
    let pass = mirror.pass().await;
    assert!(pass.warnings.is_empty(), "{pass:?}");
    simulator.calm().await;
    let swept = mirror.sweep().await;
    assert_eq!((swept.counts.published, swept.counts.deleted), (0, 0));
    let here = mirror.documents().await.len();
    assert_eq!(here, Linear::truth(&simulator, SMALL).await.len());
    let notices = mirror.notices.lock().unwrap().clone();
    assert!(
        notices
            .iter()
            .any(|line| line.contains("requests are spent"))
    );
}

#[tokio::test]
async fn pages_that_are_too_heavy_are_halved() {
    let Some((simulator, mirror)) = start(SMALL, &[], json!({})).await else {
        return;
    };
    simulator
        .fault(
            json!({"match": {"operation": "IssuesWhole"}, "nth": [1, 2, 3],
            "then": {"preset": "linear.502"}}),
        )
        .await;
    mirror.pass().await;
    let here = mirror.documents().await.len();
    assert_eq!(here, Linear::truth(&simulator, SMALL).await.len());
    // What costs more than one query may is halved too, before it is sent in vain
    // for ever.
    let tight = ["--opt", "query_limit=2000"];
    let Some((simulator, mirror)) = start(SMALL, &tight, json!({})).await else {
        return;
    };
    mirror.pass().await;
    let here = mirror.documents().await.len();
    assert_eq!(here, Linear::truth(&simulator, SMALL).await.len());
}
