//! GitLab: the standard suite, and what is GitLab's own.

use crate::{
    mirror::Mirror,
    simulator::Simulator,
    suite::{Counts, ODD, SMALL, Service, suite},
};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use whence_contract::{UnitKind, Visibility};

const TOKEN: &str = "glpat-sim-reporter";

pub(crate) struct Gitlab;

/// All items of a list, by a client of no cleverness.
async fn all(simulator: &Simulator, path: &str) -> Vec<Value> {
    let http = reqwest::Client::new();
    let mut items = Vec::new();
    for page in 1.. {
        let url = format!(
            "{}/api/v4{path}?per_page=100&page={page}&scope=all",
            simulator.base()
        );
        let answer = http
            .get(url)
            .header("PRIVATE-TOKEN", TOKEN)
            .send()
            .await
            .unwrap();
        let next = answer.headers()["x-next-page"].to_str().unwrap().to_owned();
        let found: Vec<Value> = answer.json().await.unwrap();
        items.extend(found);
        if next.is_empty() {
            break;
        }
    }
    items
}

#[async_trait]
impl Service for Gitlab {
    const NAME: &'static str = "gitlab";
    const SECRET: &'static str = TOKEN;

    fn spec(project: &str) -> String {
        format!("gitlab:{project}")
    }

    fn settings(base: &str) -> Value {
        json!({"base_url": base, "token": TOKEN, "requests_per_second": 0.0})
    }

    fn id(project: &str, number: u64) -> String {
        format!("{project}#{number}")
    }

    async fn truth(simulator: &Simulator, project: &str) -> BTreeMap<String, Counts> {
        let home = format!("/projects/{}", project.replace('/', "%2F"));
        let mut truth = BTreeMap::new();
        for (list, sign) in [("issues", '#'), ("merge_requests", '!')] {
            for ticket in all(simulator, &format!("{home}/{list}")).await {
                if ticket["confidential"] == true || ticket["moved_to_id"].is_u64() {
                    continue;
                }
                let path = format!("{home}/{list}/{}", ticket["iid"]);
                let mut counts = Counts::default();
                for discussion in all(simulator, &format!("{path}/discussions")).await {
                    for note in discussion["notes"].as_array().unwrap() {
                        if note["system"] == true || note["internal"] == true {
                            continue;
                        }
                        match note["position"].is_object() {
                            true => counts.review_comments += 1,
                            false => counts.comments += 1,
                        }
                    }
                }
                if sign == '!' {
                    counts.files = all(simulator, &format!("{path}/diffs")).await.len();
                }
                truth.insert(format!("{project}{sign}{}", ticket["iid"]), counts);
            }
        }
        truth
    }
}

suite!(Gitlab);

async fn start(project: &str, more: Value) -> Option<(Simulator, Mirror)> {
    let simulator = Simulator::start("gitlab", &[]).await?;
    let mut settings = Gitlab::settings(simulator.base());
    for (key, value) in more.as_object().unwrap() {
        settings[key] = value.clone();
    }
    let mirror = Mirror::new(&Gitlab::spec(project), settings).await;
    Some((simulator, mirror))
}

#[tokio::test]
async fn what_is_confidential_is_left_out_unless_it_is_asked_for() {
    let Some((simulator, mirror)) = start(ODD, json!({})).await else {
        return;
    };
    mirror.pass().await;
    let traits = simulator.get("/_control/traits").await;
    let hidden = traits["projects"][ODD]["confidential_issues"].clone();
    let hidden: Vec<u64> = serde_json::from_value(hidden).unwrap();
    assert!(!hidden.is_empty());
    let documents = mirror.documents().await;
    for number in &hidden {
        assert!(!documents.contains_key(&format!("{ODD}#{number}")));
    }
    // Made confidential, it goes within one pass; made public, it comes.
    let number = documents
        .keys()
        .find_map(|id| id.strip_prefix(&format!("{ODD}#"))?.parse::<u64>().ok())
        .unwrap();
    let set = |on: bool| json!({"op": "set_confidential", "project": ODD, "number": number, "confidential": on});
    simulator.advance(120).await;
    simulator.mutate(set(true)).await;
    assert_eq!(mirror.pass().await.counts.deleted, 1);
    assert!(
        !mirror
            .documents()
            .await
            .contains_key(&format!("{ODD}#{number}"))
    );
    simulator.advance(120).await;
    simulator.mutate(set(false)).await;
    assert_eq!(mirror.pass().await.counts.published, 1);

    let Some((_simulator, all)) = start(ODD, json!({"confidential": true})).await else {
        return;
    };
    all.pass().await;
    let documents = all.documents().await;
    for number in &hidden {
        let document = &documents[&format!("{ODD}#{number}")];
        assert_eq!(document.visibility, Visibility::Confidential);
    }
    let internal = documents
        .values()
        .flat_map(|document| &document.units)
        .filter(|unit| unit.visibility == Visibility::Internal)
        .count();
    assert!(internal > 0, "internal notes are kept with their mark");
}

#[tokio::test]
async fn files_and_threads_keep_what_gitlab_says_of_them() {
    let Some((_simulator, mirror)) = start(SMALL, json!({})).await else {
        return;
    };
    mirror.pass().await;
    let documents = mirror.documents().await;
    let files: Vec<_> = documents.values().flat_map(|d| &d.files).collect();
    assert!(files.iter().any(|file| file.new_file));
    assert!(files.iter().any(|file| file.deleted_file));
    let renamed = files.iter().find(|file| file.renamed_file).unwrap();
    assert_ne!(renamed.old_path, renamed.new_path);
    let placed = documents
        .values()
        .flat_map(|document| &document.units)
        .filter(|unit| unit.kind == UnitKind::ReviewComment);
    assert!(placed.clone().count() > 0 && placed.clone().all(|unit| unit.path.is_some()));
    // What the service does is an event, not prose.
    assert!(
        documents
            .values()
            .any(|document| !document.events.is_empty())
    );
}

#[tokio::test]
async fn a_renamed_project_stays_one_and_former_names_are_known() {
    let Some((simulator, mirror)) = start(SMALL, json!({})).await else {
        return;
    };
    mirror.pass().await;
    let before = mirror.keyed().await;
    simulator
        .mutate(json!({"op": "rename_project", "project": SMALL, "new": "pcapng/renamed"}))
        .await;
    mirror.sweep().await;
    let after = mirror.keyed().await;
    assert_eq!(before.len(), after.len());
    assert!(before.keys().eq(after.keys()), "keys are for life");
    let (key, document) = after.iter().next().unwrap();
    assert!(document.id.starts_with("pcapng/renamed"), "{}", document.id);
    assert_eq!(document.aliases, [before[key].id.clone()]);
}

#[tokio::test]
async fn refused_tokens_are_told_apart_and_delete_nothing() {
    let Some((simulator, mut mirror)) = start(SMALL, json!({})).await else {
        return;
    };
    mirror.pass().await;
    let all = mirror.documents().await.len();
    for (token, words) in [
        ("glpat-sim-expired", "401"),
        ("glpat-sim-revoked", "401"),
        ("glpat-sim-blocked", "403"),
        ("glpat-sim-readuser", "403"),
    ] {
        mirror.set_one("token", json!(token));
        let refused = mirror.source().tracker().unwrap().identify().await;
        let said = refused.unwrap_err().to_string();
        assert!(said.contains(words) && !said.contains(token), "{said}");
        let record = mirror.try_sweep().await;
        assert_eq!(record.counts.deleted, 0, "{record:?}");
        assert_eq!(mirror.documents().await.len(), all);
    }
    drop(simulator);
}
