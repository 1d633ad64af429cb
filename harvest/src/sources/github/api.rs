//! Questions to GitHub and their answers, within its budget.
//!
//! GraphQL is paid in points an hour. Every answer says what is left; before it
//! cannot pay the dearest request seen so far, nothing goes out until the hour
//! is over. Servers of one's own usually have no budget and say nothing.

use super::{
    settings::{Place, Repository},
    transport::Transport,
    verdict::{self, Asked},
};
use crate::upstream::{CallError, Caller, Reply, Verdict, only, resets_in};
use graphql_client::GraphQLQuery;
use serde::Serialize;
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// What a source needs to ask.
pub(super) struct Api {
    transport: Transport,
    caller: Caller,
    place: Place,
    /// As configured; GitHub follows where a repository was renamed.
    pub(super) repository: Repository,
    /// Points that the dearest request so far has cost.
    dearest: AtomicU64,
    /// Throttles in a row that named no time.
    unstated: AtomicU32,
}

impl Api {
    /// `dearest`: what the dearest request may cost, before any has been paid.
    pub(super) fn new(
        transport: Transport,
        caller: Caller,
        place: Place,
        repository: Repository,
        dearest: u64,
    ) -> Self {
        Self {
            transport,
            caller,
            place,
            repository,
            dearest: AtomicU64::new(dearest),
            unstated: AtomicU32::new(0),
        }
    }

    pub(super) fn scope(&self) -> &str {
        &self.place.scope
    }

    /// Asks by GraphQL. `check` says what is wrong with data that came without
    /// an error: it is asked for again.
    ///
    /// # Errors
    /// When there is no good answer.
    pub(super) async fn graphql<Q>(
        &self,
        what: &str,
        variables: Q::Variables,
        asked: Asked,
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
        let judge = |reply: &Reply| match verdict::graphql(reply, self.asked(asked)) {
            Verdict::Good => match check(&reply.value()["data"]) {
                None => Verdict::Good,
                Some(problem) => Verdict::Garbled(problem),
            },
            verdict => verdict,
        };
        let reply = self
            .caller
            .call(
                what,
                |reply| self.noted(judge(reply)),
                || self.transport.post(self.place.graphql, &body),
            )
            .await?;
        self.spend(&reply);
        Ok(reply)
    }

    /// Asks the REST interface; `path` begins below it and is encoded already.
    ///
    /// # Errors
    /// When there is no good answer.
    pub(super) async fn rest(&self, what: &str, path: &str) -> Result<Reply, CallError> {
        let path = format!("{}{path}", self.place.rest);
        let judge = |reply: &Reply| verdict::rest(reply, self.asked(Asked::default()));
        let reply = self
            .caller
            .call(
                what,
                |reply| self.noted(judge(reply)),
                || self.transport.get(&path),
            )
            .await?;
        self.spend(&reply);
        Ok(reply)
    }

    fn asked(&self, asked: Asked) -> Asked {
        Asked {
            unstated: self.unstated.load(Ordering::Relaxed),
            ..asked
        }
    }

    fn noted(&self, verdict: Verdict) -> Verdict {
        match verdict {
            Verdict::Wait(_) => self.unstated.fetch_add(1, Ordering::Relaxed),
            _ => self.unstated.swap(0, Ordering::Relaxed),
        };
        verdict
    }

    /// Holds everything back while the next request could not be paid.
    fn spend(&self, reply: &Reply) {
        let cost = reply.value()["data"]["rateLimit"]["cost"].as_u64();
        let cost = cost.unwrap_or(1);
        let dearest = self.dearest.fetch_max(cost, Ordering::Relaxed).max(cost);
        let left = reply
            .header("x-ratelimit-remaining")
            .and_then(|left| left.trim().parse::<u64>().ok());
        if let Some(left) = left.filter(|left| *left < dearest)
            && let Some(wait) = resets_in(reply, "x-ratelimit-reset")
        {
            let why = format!("{left} points are left of GitHub's budget");
            self.caller.hold(wait, &why);
        }
    }
}
