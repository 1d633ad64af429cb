//! The calls that Whence makes, each judged and paced.

use super::{
    judge::{judge, judge_heavy},
    settings::{Flavor, JiraSettings},
};
use crate::{
    Opening, SourceError,
    upstream::{CallError, Caller, Client, Pace, Reply, resets_in},
};
use jiff::tz::TimeZone;
use reqwest::Url;
use serde_json::{Map, Value};
use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};
use tokio::sync::OnceCell;
use whence_contract::{Provenance, TicketKey, Timestamp};

/// The pause after an answer that says the limit is near.
const NEAR_LIMIT: Duration = Duration::from_secs(2);
/// Issues in a row that may fail alone.
const MOST_FAILURES: usize = 5;
/// What every account has, on either product.
pub(super) const ACCOUNT: &str = "displayName";

/// One project of one Jira.
pub(super) struct Api {
    client: Client,
    caller: Caller,
    pub(super) flavor: Flavor,
    /// As people open it, without a slash at the end.
    pub(super) site: String,
    /// What the keys' scope is: the site's host.
    pub(super) scope: String,
    /// The project's key, in capitals.
    pub(super) project_key: String,
    /// The source's name: the origin of its tickets.
    pub(super) origin: String,
    pub(super) confidential: bool,
    /// Requests go where tokens with scopes are taken.
    pub(super) scoped: bool,
    pub(super) page_size: usize,
    /// Issues asked for whole at a time: fewer after a page was too heavy.
    pub(super) batch: AtomicUsize,
    /// What the service gives at most.
    pub(super) most: AtomicUsize,
    /// Issues in a row that failed while the project could be read.
    failures: AtomicUsize,
    names: OnceCell<Map<String, Value>>,
    zone: OnceCell<Option<TimeZone>>,
}

/// A project as Jira has it now.
#[derive(Clone, Debug)]
pub(super) struct Project {
    pub(super) id: String,
    pub(super) key: String,
    /// It is a service desk: comments may be internal.
    pub(super) desk: bool,
}

impl Api {
    pub(super) fn new(
        origin: &str,
        place: &str,
        settings: &JiraSettings,
        opening: &Opening,
    ) -> Result<Self, SourceError> {
        let access = settings.access(&opening.settings)?;
        let pace = Pace::per_second(settings.requests_per_second);
        Ok(Self {
            client: Client::new(access.target, opening.clock)?,
            caller: Caller::new(origin, pace, opening.notice.clone(), opening.clock),
            flavor: settings.flavor,
            site: access.site.as_str().trim_end_matches('/').to_owned(),
            scope: scope(&access.site),
            project_key: place.trim().to_uppercase(),
            origin: origin.to_owned(),
            confidential: settings.confidential,
            scoped: settings.api_url.is_some(),
            page_size: settings.page_size(),
            batch: AtomicUsize::new(settings.page_size()),
            most: AtomicUsize::new(settings.page_size()),
            failures: AtomicUsize::new(0),
            names: OnceCell::new(),
            zone: OnceCell::new(),
        })
    }

    /// Of the key of an issue with this id.
    pub(super) fn key(&self, id: &str) -> TicketKey {
        TicketKey {
            provenance: Provenance::Upstream,
            source: "jira".to_owned(),
            scope: self.scope.clone(),
            ticket: id.to_owned(),
        }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.caller.now()
    }

    /// Asks for something that has `field`; see [`judge`].
    pub(super) async fn get(
        &self,
        what: &str,
        path: &str,
        query: &[(&str, &str)],
        field: &str,
    ) -> Result<Reply, CallError> {
        let url = self.url(path, query);
        let verdict = |reply: &Reply| judge(reply, field);
        let send = || self.client.get(url.clone());
        let reply = self.caller.call(what, verdict, send).await?;
        self.heed(&reply);
        Ok(reply)
    }

    /// Asks with a body. `heavy`: a smaller body may help where this one fails.
    pub(super) async fn post(
        &self,
        what: &str,
        path: &str,
        body: &Value,
        heavy: bool,
    ) -> Result<Reply, CallError> {
        let url = self.url(path, &[]);
        let verdict = |reply: &Reply| match heavy {
            true => judge_heavy(reply, "issues"),
            false => judge(reply, "issues"),
        };
        let send = || self.client.post(url.clone(), body);
        let reply = self.caller.call(what, verdict, send).await?;
        self.heed(&reply);
        Ok(reply)
    }

    /// The project, which must be there for anything else to mean something.
    pub(super) async fn project(&self) -> Result<Project, CallError> {
        let what = format!("project {}", self.project_key);
        let path = format!("/project/{}", self.project_key);
        let reply = self.get(&what, &path, &[], "id").await?;
        let value = reply.value();
        let text = |field: &str| value.get(field).and_then(Value::as_str);
        let Some(id) = text("id").filter(|id| !id.is_empty()) else {
            let why = "the project has no id".to_owned();
            return Err(CallError::Garbled { what, why });
        };
        Ok(Project {
            id: id.to_owned(),
            key: text("key").unwrap_or(&self.project_key).to_owned(),
            desk: text("projectTypeKey") == Some("service_desk"),
        })
    }

    /// What the fields are called, by id; asked for once.
    pub(super) async fn field_names(&self) -> Result<&Map<String, Value>, CallError> {
        let ask = || async {
            let reply = self.get("the fields' names", "/field", &[], "").await?;
            let fields = reply.value().as_array().into_iter().flatten();
            let named = fields.filter_map(|field| {
                let id = field.get("id")?.as_str()?;
                Some((id.to_owned(), field.get("name")?.clone()))
            });
            Ok(named.collect())
        };
        self.names.get_or_try_init(ask).await
    }

    /// The caller's time zone, where it can be told; asked for once.
    pub(super) async fn zone(&self) -> Result<Option<TimeZone>, CallError> {
        let ask = || async {
            let reply = self.get("the account", "/myself", &[], ACCOUNT).await?;
            let name = reply.value().get("timeZone").and_then(Value::as_str);
            Ok(name.and_then(|name| TimeZone::get(name).ok()))
        };
        self.zone.get_or_try_init(ask).await.cloned()
    }

    /// Whether one more issue may fail alone: so many in a row are no accident.
    pub(super) fn patient(&self) -> bool {
        self.failures.fetch_add(1, Ordering::Relaxed) < MOST_FAILURES
    }

    /// An issue came whole.
    pub(super) fn relieved(&self) {
        self.failures.store(0, Ordering::Relaxed);
    }

    fn url(&self, path: &str, query: &[(&str, &str)]) -> Url {
        let version = match self.flavor {
            Flavor::Cloud => 3,
            Flavor::Server => 2,
        };
        let path = format!("/rest/api/{version}{path}");
        self.client.url(&path, query)
    }

    /// Slows down before the limit is met, not after.
    fn heed(&self, reply: &Reply) {
        if reply.header("x-ratelimit-remaining") == Some("0")
            && let Some(wait) = resets_in(reply, "x-ratelimit-reset")
        {
            self.caller.hold(wait, "Jira's limit is used up");
        } else if reply.header("x-ratelimit-nearlimit") == Some("true") {
            self.caller.rest(NEAR_LIMIT);
        }
    }
}

/// The host, with the port where it is not the usual one, and with the path
/// where Jira lives below one: ids are its own, and a neighbour may be another.
fn scope(site: &Url) -> String {
    let host = site.host_str().unwrap_or_default();
    let path = site.path().trim_end_matches('/');
    match site.port() {
        Some(port) => format!("{host}:{port}{path}"),
        None => format!("{host}{path}"),
    }
}
