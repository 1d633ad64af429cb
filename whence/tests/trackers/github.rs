//! GitHub against its simulator: the standard suite, and what is special here.

use crate::{
    mirror::Mirror,
    simulator::Simulator,
    suite::{Counts, ODD, OTHER, SMALL, Service, suite},
};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::{collections::BTreeMap, time::Duration};
use tokio_util::sync::CancellationToken;
use whence_contract::{LinkKind, UnitKind};
use whence_harvest::RunOptions;
use whence_log::RunStatus;

struct Github;

const TOKEN: &str = "ghp_topsecretofwhence";

#[async_trait]
impl Service for Github {
    const NAME: &'static str = "github";
    const SECRET: &'static str = TOKEN;

    fn arguments() -> &'static [&'static str] {
        // Without a pace the minute's and the hour's limits would be met.
        &["--opt", "secondary_graphql=0", "--opt", "graphql_limit=1000000"]
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
        for issue in rest(simulator, &format!("/repos/{project}/issues?state=all")).await {
            let number = issue["number"].as_u64().unwrap();
            let mut counts = Counts {
                comments: issue["comments"].as_u64().unwrap() as usize,
                ..Counts::default()
            };
            if issue.get("pull_request").is_some() {
                let pull = format!("/repos/{project}/pulls/{number}");
                counts.reviews = rest(simulator, &format!("{pull}/reviews?")).await.len();
                counts.review_comments = rest(simulator, &format!("{pull}/comments?")).await.len();
                counts.files = rest(simulator, &format!("{pull}/files?")).await.len();
            }
            truth.insert(Self::id(project, number), counts);
        }
        truth
    }
}

suite!(Github);
