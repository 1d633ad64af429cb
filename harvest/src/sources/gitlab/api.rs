//! GitLab's REST API v4: one request, and all pages of a list.

use super::settings::GitlabSettings;
use crate::{
    Opening, Secret, SourceError,
    upstream::{
        CallError, Caller, Client, Pace, Reply, Target, Verdict, Wait, base_url, judge_status,
        resets_in,
    },
};
use reqwest::header::{HeaderMap, HeaderValue};
use serde_json::Value;
use std::time::Duration;
use url::Url;

/// Items of a page of notes or files; GitLab gives no more.
const PAGE: &str = "100";
/// How often a list is asked for that is shorter than it says.
const SHORT_TRIES: u32 = 3;
/// Pages that one list may have: a ticket with 100,000 notes is a loop.
const MOST_PAGES: usize = 1_000;

pub(super) struct Api {
    client: Client,
    pub(super) caller: Caller,
    base: Url,
}

/// A project as it is called now.
#[derive(Clone, Debug)]
pub(super) struct Project {
    pub(super) id: u64,
    pub(super) path: String,
}

impl Api {
    pub(super) fn new(
        source: &str,
        settings: &GitlabSettings,
        token: &Secret,
        opening: &Opening,
    ) -> Result<Self, SourceError> {
        let base = base_url("gitlab.base_url", &settings.base_url)?;
        let mut secret = HeaderValue::from_str(token.expose()).map_err(|_| {
            SourceError::bare("the GitLab token holds characters that no token has")
        })?;
        secret.set_sensitive(true);
        let mut headers = HeaderMap::new();
        headers.insert("private-token", secret);
        let target = Target {
            base: base.clone(),
            headers,
            ca_file: settings.ca_file.clone(),
        };
        let pace = Pace::per_second(settings.requests_per_second);
        Ok(Self {
            client: Client::new(target, opening.clock)?,
            caller: Caller::new(source, pace, opening.notice.clone(), opening.clock),
            base,
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

    /// One request below `/api/v4`.
    pub(super) async fn get(
        &self,
        what: &str,
        path: &str,
        query: &[(&str, &str)],
    ) -> Result<Reply, CallError> {
        self.get_judged(what, path, query, judge).await
    }

    pub(super) async fn get_judged(
        &self,
        what: &str,
        path: &str,
        query: &[(&str, &str)],
        judge: impl Fn(&Reply) -> Verdict,
    ) -> Result<Reply, CallError> {
        let url = self.client.url(&format!("/api/v4{path}"), query);
        let reply = self
            .caller
            .call(what, judge, || self.client.get(url.clone()))
            .await?;
        if let Some(wait) = spent(&reply) {
            self.caller.hold(wait, "the request budget is spent");
        }
        Ok(reply)
    }

    /// All items of a list that belongs to one ticket.
    ///
    /// GitLab counts what this reader may not see and leaves it out after it has
    /// cut the pages, so a list may be shorter than it says. It may also be short
    /// by a slip: then it is asked for again, and the longest answer counts.
    pub(super) async fn all(
        &self,
        what: &str,
        path: &str,
        keep: impl Fn(Value) -> Option<Value>,
    ) -> Result<Vec<Value>, CallError> {
        let mut longest = Vec::new();
        for _ in 0..SHORT_TRIES {
            let (items, stated) = self.once(what, path).await?;
            let is_whole = stated.is_none_or(|stated| items.len() >= stated);
            if items.len() > longest.len() {
                longest = items;
            }
            if is_whole {
                break;
            }
        }
        Ok(longest.into_iter().filter_map(keep).collect())
    }

    /// One walk over the pages of a list, and how many items it says it has.
    async fn once(&self, what: &str, path: &str) -> Result<(Vec<Value>, Option<usize>), CallError> {
        let garbled = |why: &str| CallError::Garbled {
            what: what.to_owned(),
            why: why.to_owned(),
        };
        let mut items = Vec::new();
        let mut page = "1".to_owned();
        for _ in 0..MOST_PAGES {
            let query = [("per_page", PAGE), ("page", page.as_str())];
            let reply = self.get_judged(what, path, &query, judge_list).await?;
            items.extend(reply.value().as_array().cloned().unwrap_or_default());
            match next_page(&reply) {
                Some(next) if next == page => return Err(garbled("a page is followed by itself")),
                Some(next) => page = next,
                None => {
                    let stated = reply.header("x-total").and_then(|n| n.trim().parse().ok());
                    return Ok((items, stated));
                }
            }
        }
        Err(garbled("the pages come to no end"))
    }

    /// The project; found by a former path too.
    pub(super) async fn project(&self, path: &str) -> Result<Project, SourceError> {
        let encoded = path.replace('/', "%2F");
        let what = format!("the project {path}");
        let reply = self
            .get(&what, &format!("/projects/{encoded}"), &[])
            .await?;
        let project = reply.value();
        match (
            project["id"].as_u64(),
            project["path_with_namespace"].as_str(),
        ) {
            (Some(id), Some(path)) => Ok(Project {
                id,
                path: path.to_owned(),
            }),
            _ => Err(SourceError::bare(format!(
                "{what}: {} does not answer as GitLab does",
                self.base
            ))),
        }
    }
}

/// The number of the next page, where there is one.
pub(super) fn next_page(reply: &Reply) -> Option<String> {
    let next = reply.header("x-next-page")?.trim();
    (!next.is_empty()).then(|| next.to_owned())
}

pub(super) fn judge(reply: &Reply) -> Verdict {
    match judge_status(reply) {
        // Without Retry-After the budget's own header says when.
        Verdict::Wait(Wait {
            why,
            at_least: None,
        }) => Verdict::Wait(Wait {
            why,
            at_least: resets_in(reply, "ratelimit-reset"),
        }),
        verdict => verdict,
    }
}

/// A list must be one.
pub(super) fn judge_list(reply: &Reply) -> Verdict {
    match judge(reply) {
        Verdict::Good if !reply.value().is_array() => {
            Verdict::Garbled("a list was expected".to_owned())
        }
        verdict => verdict,
    }
}

/// How long to wait before the next request, where this one was the last.
fn spent(reply: &Reply) -> Option<Duration> {
    let left: u64 = reply.header("ratelimit-remaining")?.trim().parse().ok()?;
    if left > 0 {
        return None;
    }
    resets_in(reply, "ratelimit-reset")
}
