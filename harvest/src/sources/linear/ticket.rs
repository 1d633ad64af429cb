//! Issues whole, by their ids, as many at once as one query may cost.

use super::{
    Linear,
    api::{MOST_POINTS, Team},
    mark::mark,
    parts::{complete, problem},
    queries::{IssueAt, IssuesWhole, issue_at, issues_whole},
};
use crate::{
    Fetched, Item, SourceError, Unreadable, Wanted,
    upstream::{CallError, PageSize, nodes, page_problem},
};
use serde_json::{Value, value::to_raw_value};
use std::collections::HashMap;
use whence_contract::{Dialect, RawTicket, TicketKey, Timestamp};

/// What an issue with the first page of its lists costs at most, rounded up; a
/// test holds it against the service's own figure.
const POINTS: u64 = 300;

impl Linear {
    /// How many issues one query may ask for.
    pub(super) fn batch(&self) -> PageSize {
        let affordable = u32::try_from(MOST_POINTS / POINTS).unwrap_or(1);
        PageSize::new(self.page_size.min(affordable))
    }

    /// Issues in the order of their ids, taken from the front of `ids`. Those
    /// that are gone are left out: the sweep says what became of them.
    pub(super) async fn gather(
        &self,
        team: &Team,
        ids: &[String],
        size: &mut PageSize,
    ) -> Result<(Vec<Item>, usize), SourceError> {
        loop {
            let many = ids.len().min(size.now() as usize);
            let batch = ids.get(..many).unwrap_or(ids);
            let (mut found, asked_at) = match self.whole(team, batch).await {
                Ok(found) => found,
                Err(CallError::Heavy { .. }) => {
                    size.halve();
                    continue;
                }
                // One of them spoils the answer: it shall not spoil the others.
                Err(CallError::Garbled { .. }) if many > 1 => {
                    size.halve();
                    continue;
                }
                Err(CallError::Garbled { what, why }) => {
                    let bad = batch.iter().map(|id| {
                        self.unreadable(self.key(id), &Value::Null, &format!("{what}: {why}"))
                    });
                    return Ok((bad.collect(), many));
                }
                Err(error) => return Err(error.into()),
            };
            size.grow();
            let mut items = Vec::new();
            for id in batch {
                if let Some(issue) = found.remove(id) {
                    items.extend(self.item(team, issue, asked_at).await?);
                }
            }
            return Ok((items, many));
        }
    }

    async fn whole(
        &self,
        team: &Team,
        ids: &[String],
    ) -> Result<(HashMap<String, Value>, Timestamp), CallError> {
        let what = format!("{} issues of {}", ids.len(), team.key);
        let variables = issues_whole::Variables {
            ids: ids.to_vec(),
            first: i64::try_from(ids.len()).unwrap_or(i64::MAX),
        };
        let check = |data: &Value| {
            let list = &data["issues"];
            let more = list["pageInfo"]["hasNextPage"] == true;
            page_problem(list, None)
                .or_else(|| nodes(list).find_map(problem))
                // So many were asked for as there can be.
                .or_else(|| more.then(|| "fewer issues than there are".to_owned()))
        };
        let smallest = ids.len() == 1;
        let reply = self
            .api
            .ask::<IssuesWhole>(&what, variables, smallest, check)
            .await?;
        let found = nodes(&reply.value()["data"]["issues"])
            .filter_map(|issue| Some((issue["id"].as_str()?.to_owned(), issue.clone())))
            .collect();
        Ok((found, reply.asked_at))
    }

    /// An issue by its id or by any name it ever had.
    pub(super) async fn fetch_one(&self, wanted: &Wanted) -> Result<Fetched, SourceError> {
        // Asked first: a team that cannot be seen says nothing of its issues.
        let team = self.api.team().await?;
        let ours = wanted
            .key
            .as_ref()
            .filter(|key| key.scope == self.api.host());
        let asked: Vec<&str> = match ours {
            Some(key) => vec![key.ticket.as_str()],
            None => wanted.names.iter().rev().map(String::as_str).collect(),
        };
        for name in asked {
            let variables = issue_at::Variables {
                id: name.to_owned(),
            };
            let check = |data: &Value| problem(&data["issue"]);
            let reply = match self.api.ask::<IssueAt>(name, variables, true, check).await {
                Ok(reply) => reply,
                Err(CallError::Missing { .. }) => continue,
                Err(error) => return Err(error.into()),
            };
            let issue = reply.value()["data"]["issue"].clone();
            return match self.item(&team, issue, reply.asked_at).await? {
                Some(item) => Ok(Fetched::Present(item)),
                None => Ok(Fetched::Gone),
            };
        }
        Ok(Fetched::Gone)
    }

    /// The item of an issue as it came; `None` where it vanished meanwhile.
    async fn item(
        &self,
        team: &Team,
        mut issue: Value,
        asked_at: Timestamp,
    ) -> Result<Option<Item>, SourceError> {
        let Some(id) = issue["id"].as_str() else {
            return Err(SourceError::bare("Linear gave an issue without an id"));
        };
        let key = self.key(id);
        let name = issue["identifier"].as_str().unwrap_or(id).to_owned();
        if let Some(why) = withdrawn(team, &issue, &name) {
            return Ok(Some(Item::Withdrawn { key, why }));
        }
        match complete(&self.api, &name, &mut issue).await {
            Ok(()) => {}
            Err(CallError::Missing { .. }) => return Ok(None),
            Err(CallError::Garbled { what, why }) => {
                let why = format!("{what}: {why}");
                return Ok(Some(self.unreadable(key, &issue, &why)));
            }
            Err(error) => return Err(error.into()),
        }
        let former = issue["previousIdentifiers"]
            .as_array()
            .into_iter()
            .flatten();
        let mut names: Vec<String> = former
            .filter_map(|name| name.as_str().map(str::to_owned))
            .filter(|former| *former != name)
            .collect();
        names.push(name);
        let payload = to_raw_value(&issue)
            .map_err(|error| SourceError::because("cannot encode an issue", error))?;
        let raw = RawTicket {
            location: issue["url"].as_str().map(str::to_owned),
            names,
            mark: Some(mark_of(&issue)),
            ..RawTicket::new(Dialect::LinearIssue, &self.name, asked_at, payload)
        };
        Ok(Some(Item::Ticket { key, raw }))
    }

    fn unreadable(&self, key: TicketKey, issue: &Value, why: &str) -> Item {
        let bytes = issue.to_string().into_bytes();
        let place = issue["url"].as_str().unwrap_or(&key.ticket).to_owned();
        Item::Unreadable(Unreadable {
            key: Some(key),
            location: place,
            causes: vec![why.to_owned()],
            size: bytes.len() as u64,
            bytes,
        })
    }
}

/// Why an issue is not to be kept.
fn withdrawn(team: &Team, issue: &Value, name: &str) -> Option<String> {
    if issue["team"]["id"].as_str() != Some(&team.id) {
        return Some(format!("it is {name} now, in another team"));
    }
    (issue["trashed"] == true).then(|| "it is in the trash".to_owned())
}

/// The mark of an issue whose lists are whole.
fn mark_of(issue: &Value) -> String {
    let list = |field: &str| issue[field].as_array().into_iter().flatten();
    mark(
        issue["updatedAt"].as_str().unwrap_or_default(),
        list("labels").filter_map(|label| label["name"].as_str()),
        list("comments")
            .filter_map(|comment| Some((comment["id"].as_str()?, comment["updatedAt"].as_str()?))),
    )
}
