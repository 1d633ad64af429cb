//! GitHub against its simulator: the standard suite.

use crate::{
    simulator::Simulator,
    suite::{Counts, Service, suite},
};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::collections::BTreeMap;

pub(crate) struct Github;

const TOKEN: &str = "ghp_topsecretofwhence";

#[async_trait]
impl Service for Github {
    const NAME: &'static str = "github";
    const SECRET: &'static str = TOKEN;

    fn arguments() -> &'static [&'static str] {
        // Without a pace the minute's and the hour's limits would be met.
        &[
            "--opt",
            "secondary_graphql=0",
            "--opt",
            "graphql_limit=1000000",
        ]
    }

    fn spec(project: &str) -> String {
        format!("github:{project}")
    }

    fn settings(base: &str) -> Value {
        json!({ "base_url": base, "token": TOKEN, "requests_per_second": 0.0 })
    }

    fn id(project: &str, number: u64) -> String {
        format!("{project}#{number}")
    }

    async fn truth(simulator: &Simulator, project: &str) -> BTreeMap<String, Counts> {
        let mut truth = BTreeMap::new();
        for (list, more) in [
            ("issues", ""),
            (
                "pullRequests",
                "changedFiles totalCommentsCount reviews { totalCount }",
            ),
        ] {
            let mut after = Value::Null;
            loop {
                let (owner, name) = project.split_once('/').unwrap();
                let query = format!(
                    "query($after: String) {{ repository(owner: {owner:?}, name: {name:?}) {{ \
                     {list}(first: 100, after: $after) {{ pageInfo {{ hasNextPage endCursor }} \
                     nodes {{ number comments {{ totalCount }} {more} }} }} }} }}"
                );
                let answer = ask(simulator, &query, json!({ "after": after })).await;
                let page = &answer["data"]["repository"][list];
                for ticket in page["nodes"].as_array().unwrap() {
                    let count = |value: &Value| value.as_u64().unwrap_or(0) as usize;
                    let comments = count(&ticket["comments"]["totalCount"]);
                    let counts = Counts {
                        comments,
                        reviews: count(&ticket["reviews"]["totalCount"]),
                        review_comments: count(&ticket["totalCommentsCount"])
                            .saturating_sub(comments),
                        files: count(&ticket["changedFiles"]),
                    };
                    let number = ticket["number"].as_u64().unwrap();
                    truth.insert(Self::id(project, number), counts);
                }
                after = page["pageInfo"]["endCursor"].clone();
                if page["pageInfo"]["hasNextPage"] != true {
                    break;
                }
            }
        }
        truth
    }
}

/// A bare client's question.
pub(crate) async fn ask(simulator: &Simulator, query: &str, variables: Value) -> Value {
    let answer = reqwest::Client::new()
        .post(format!("{}/graphql", simulator.base()))
        .header("User-Agent", "truth")
        .bearer_auth("ghp_another")
        .json(&json!({ "query": query, "variables": variables }))
        .send()
        .await
        .unwrap();
    answer.json().await.unwrap()
}

suite!(Github);
