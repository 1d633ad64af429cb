//! Jira: the standard suite against the simulated Cloud, and what is Jira's own.

use crate::{
    mirror::Mirror,
    simulator::Simulator,
    suite::{Counts, ODD, OTHER, SMALL, Service, suite},
};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::collections::BTreeMap;

mod cloud;
mod server;

struct Jira;

/// The project's key, as the simulator's corpus maps it.
fn key_of(project: &str) -> &'static str {
    match project {
        ODD => "EDGE",
        SMALL => "PCAP",
        OTHER => "QLB",
        other => panic!("no key for {other}"),
    }
}

fn settings_of(base: &str, who: &str) -> Value {
    json!({
        "base_url": base,
        "email": format!("{who}@example.com"),
        "api_token": format!("sim-token-{who}"),
        "requests_per_second": 0.0,
    })
}

/// What a bare client of an account is answered.
async fn ask(simulator: &Simulator, who: &str, path: &str) -> Value {
    let url = format!("{}/rest/api/3{path}", simulator.base());
    let request = reqwest::Client::new().get(url);
    let token = format!("sim-token-{who}");
    let request = request.basic_auth(format!("{who}@example.com"), Some(token));
    request.send().await.unwrap().json().await.unwrap()
}

/// Every issue of a project that an account sees, with its count of comments.
async fn seen_by(simulator: &Simulator, who: &str, key: &str) -> BTreeMap<String, Counts> {
    let mut seen = BTreeMap::new();
    let mut token = String::new();
    loop {
        let path = format!(
            "/search/jql?jql=project%3D{key}%20order%20by%20key&fields=comment&maxResults=100{token}"
        );
        let page = ask(simulator, who, &path).await;
        for issue in page["issues"].as_array().unwrap() {
            let total = issue["fields"]["comment"]["total"].as_u64().unwrap();
            let counts = Counts {
                comments: total as usize,
                ..Counts::default()
            };
            seen.insert(issue["key"].as_str().unwrap().to_owned(), counts);
        }
        match page["nextPageToken"].as_str() {
            Some(next) => token = format!("&nextPageToken={next}"),
            None => return seen,
        }
    }
}

#[async_trait]
impl Service for Jira {
    const NAME: &'static str = "jira";
    const SECRET: &'static str = "sim-token-reader";

    fn spec(project: &str) -> String {
        format!("jira:{}", key_of(project))
    }

    fn settings(base: &str) -> Value {
        settings_of(base, "reader")
    }

    fn id(project: &str, number: u64) -> String {
        format!("{}-{number}", key_of(project))
    }

    async fn truth(simulator: &Simulator, project: &str) -> BTreeMap<String, Counts> {
        seen_by(simulator, "reader", key_of(project)).await
    }

    fn deletion_moves_time() -> bool {
        true
    }

    fn only_reads(path: &str) -> bool {
        path.ends_with("/search/jql") || path.ends_with("/issue/bulkfetch")
    }
}

suite!(Jira);

/// A simulator and a mirror of one of its projects for an account.
async fn world(who: &str, project: &str, arguments: &[&str], more: Value) -> Option<World> {
    let simulator = Simulator::start("jira", arguments).await?;
    let mut settings = settings_of(simulator.base(), who);
    for (key, value) in more.as_object().into_iter().flatten() {
        settings[key] = value.clone();
    }
    let mirror = Mirror::new(&Jira::spec(project), settings).await;
    Some(World { simulator, mirror })
}

struct World {
    simulator: Simulator,
    mirror: Mirror,
}
