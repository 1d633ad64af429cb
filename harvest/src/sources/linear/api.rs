//! Questions to Linear and their answers, within its two budgets.
//!
//! Requests and complexity points are leaky buckets. Every answer says what is
//! left of each; while that cannot pay the dearest query seen so far, nothing
//! goes out until enough has flowed back.

use super::{
    queries::{TeamAt, team_at},
    settings::LinearSettings,
    verdict::{judge, share},
};
use crate::{
    Opening, Secret, SourceError,
    upstream::{
        CallError, Caller, Client, Pace, Reply, Target, Verdict, base_url, nodes, only,
        page_problem, resets_in,
    },
};
use graphql_client::GraphQLQuery;
use reqwest::{
    Url,
    header::{HeaderMap, HeaderValue},
};
use serde::Serialize;
use serde_json::{Value, json};
use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// Points that no query of ours exceeds; the limit is 10,000.
pub(super) const MOST_POINTS: u64 = 9_500;
const HOUR: Duration = Duration::from_secs(3600);

pub(super) struct Api {
    client: Client,
    caller: Caller,
    base: Url,
    /// The team's key as configured.
    pub(super) key: String,
    /// Points that the dearest query so far has cost.
    dearest: AtomicU64,
}

/// A team as it is called now.
#[derive(Clone, Debug)]
pub(super) struct Team {
    pub(super) id: String,
    pub(super) key: String,
    pub(super) name: String,
    /// Linear's own time when it was asked.
    pub(super) now: whence_contract::Timestamp,
}

impl Api {
    pub(super) fn new(
        source: &str,
        key: &str,
        settings: &LinearSettings,
        secret: &Secret,
        opening: &Opening,
    ) -> Result<Self, SourceError> {
        let base = base_url("linear.base_url", &settings.base_url)?;
        // A personal key goes raw; Linear refuses it behind `Bearer`, and wants
        // that before an OAuth token.
        let value = match secret.expose().starts_with("lin_oauth_") {
            true => format!("Bearer {}", secret.expose()),
            false => secret.expose().to_owned(),
        };
        let mut value = HeaderValue::from_str(&value).map_err(|_| {
            SourceError::bare("the key for Linear holds characters that no key has")
        })?;
        value.set_sensitive(true);
        let mut headers = HeaderMap::new();
        headers.insert("authorization", value);
        let target = Target {
            base: base.clone(),
            headers,
            ca_file: None,
        };
        let pace = Pace::per_second(settings.requests_per_second);
        Ok(Self {
            client: Client::new(target, opening.clock)?,
            caller: Caller::new(source, pace, opening.notice.clone(), opening.clock),
            base,
            key: key.to_owned(),
            dearest: AtomicU64::new(MOST_POINTS),
        })
    }

    /// The host as people know it; the key's scope.
    pub(super) fn host(&self) -> String {
        let host = self.base.host_str().unwrap_or_default();
        match self.base.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    /// Asks. `check` says what is wrong with data that came without an error: it
    /// is asked for again. `smallest`: nothing smaller can be asked for.
    ///
    /// # Errors
    /// When there is no good answer.
    pub(super) async fn ask<Q>(
        &self,
        what: &str,
        variables: Q::Variables,
        smallest: bool,
        check: impl Fn(&Value) -> Option<String>,
    ) -> Result<Reply, CallError>
    where
        Q: GraphQLQuery,
        Q::Variables: Serialize,
    {
        let query = Q::build_query(variables);
        let body = json!({
            "operationName": query.operation_name,
            "query": only(query.operation_name, query.query),
            "variables": query.variables,
        });
        let judge = |reply: &Reply| match judge(reply, smallest) {
            Verdict::Good => match check(&reply.value()["data"]) {
                None => Verdict::Good,
                Some(problem) => Verdict::Garbled(problem),
            },
            verdict => verdict,
        };
        let url = self.client.url("/graphql", &[]);
        let reply = self
            .caller
            .call(what, judge, || self.client.post(url.clone(), &body))
            .await?;
        self.spend(&reply);
        Ok(reply)
    }

    /// The team, by its key.
    ///
    /// # Errors
    /// When there is none that this reader may see.
    pub(super) async fn team(&self) -> Result<Team, SourceError> {
        let what = format!("the team {}", self.key);
        let variables = team_at::Variables {
            key: self.key.clone(),
        };
        let check = |data: &Value| {
            page_problem(&data["teams"], None).filter(|_| {
                // More teams of this key than one cannot be; a first page that is
                // empty with more to come can.
                nodes(&data["teams"]).next().is_none()
            })
        };
        let reply = self.ask::<TeamAt>(&what, variables, true, check).await?;
        let team = nodes(&reply.value()["data"]["teams"]).next();
        let text = |field: &str| {
            team.and_then(|team| team[field].as_str())
                .map(str::to_owned)
        };
        let (Some(id), Some(key)) = (text("id"), text("key")) else {
            return Err(SourceError::bare(format!(
                "Linear has no team {} that this key may see; is it written as in PROJ-12?",
                self.key
            )));
        };
        Ok(Team {
            id,
            key,
            name: text("name").unwrap_or_default(),
            now: reply.server_time(),
        })
    }

    /// Holds everything back while the next query could not be paid.
    fn spend(&self, reply: &Reply) {
        let number = |name: &str| reply.header(name)?.trim().parse::<f64>().ok();
        let points = number("x-complexity").map_or(0, |points| points as u64);
        self.dearest.fetch_max(points, Ordering::Relaxed);
        let dearest = self.dearest.load(Ordering::Relaxed) as f64;
        for (budget, needed, why) in [
            ("requests", 1.0, "Linear's requests are spent"),
            (
                "complexity",
                dearest,
                "Linear's complexity points are spent",
            ),
        ] {
            let left = number(&format!("x-ratelimit-{budget}-remaining"));
            let limit = number(&format!("x-ratelimit-{budget}-limit"));
            let (Some(left), Some(limit)) = (left, limit) else {
                continue;
            };
            if left < needed.min(limit) {
                // The reset is when the bucket is full again, one period ahead.
                let period = resets_in(reply, &format!("x-ratelimit-{budget}-reset"));
                let period = period.unwrap_or(HOUR).min(HOUR);
                let wait = share(needed - left, limit, period);
                self.caller.hold(wait, why);
            }
        }
    }
}
