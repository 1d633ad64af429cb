//! The pages of a listing: issues or pull requests of the repository, a hundred
//! at a time, without prose.

use super::{
    api::Api,
    entry::{Entry, Kind},
    queries::{IssuesPage, PullsPage, issues_page, pulls_page},
    verdict::Asked,
};
use crate::{
    SourceError,
    upstream::{CallError, PageSize, Reply, nodes, page_problem},
};
use serde_json::Value;
use std::collections::HashSet;
use whence_contract::Timestamp;

/// As many as GitHub gives at once; these pages are light.
const LISTED: u32 = 100;

/// In which order a listing goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Oldest ticket first; edits move nothing.
    Created,
    /// Longest unchanged first.
    Updated,
    /// Latest change first.
    Latest,
}

/// One page.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) entries: Vec<Entry>,
    /// `owner/repo` as it is called now.
    pub(super) repository: String,
    /// Tickets of this kind in all, as GitHub counts them.
    pub(super) total: Option<u64>,
    /// Tickets of the page that could not be read.
    pub(super) strange: usize,
}

/// A listing under way.
pub(super) struct Pages<'a> {
    api: &'a Api,
    kind: Kind,
    order: Order,
    since: Option<Timestamp>,
    after: Option<String>,
    ended: bool,
    seen: HashSet<String>,
    size: PageSize,
}

impl<'a> Pages<'a> {
    /// `since`: issues only; GitHub has no such filter for pull requests.
    pub(super) fn new(api: &'a Api, kind: Kind, order: Order, since: Option<Timestamp>) -> Self {
        Self {
            api,
            kind,
            order,
            since,
            after: None,
            ended: false,
            seen: HashSet::new(),
            size: PageSize::new(LISTED),
        }
    }

    /// # Errors
    /// When the page cannot be had, or the listing goes in a circle.
    pub(super) async fn next(&mut self) -> Result<Option<Page>, SourceError> {
        if self.ended {
            return Ok(None);
        }
        let reply = loop {
            match self.ask().await {
                Ok(reply) => break reply,
                Err(CallError::Heavy { .. }) => self.size.halve(),
                Err(error) => return Err(error.into()),
            }
        };
        self.size.grow();
        let data = &reply.value()["data"]["repository"];
        let list = &data[field(self.kind)];
        let entries: Vec<Entry> = nodes(list)
            .filter_map(|node| Entry::read(self.kind, node))
            .collect();
        match list["pageInfo"]["hasNextPage"].as_bool() {
            Some(true) => {
                let after = list["pageInfo"]["endCursor"].as_str().unwrap_or_default();
                if !self.seen.insert(after.to_owned()) {
                    return Err(SourceError::bare(format!(
                        "{}: GitHub gives the same page again and again",
                        self.what()
                    )));
                }
                self.after = Some(after.to_owned());
            }
            _ => self.ended = true,
        }
        Ok(Some(Page {
            strange: nodes(list).count() - entries.len(),
            entries,
            repository: data["nameWithOwner"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            total: list["totalCount"].as_u64(),
        }))
    }

    fn what(&self) -> String {
        let kind = self.kind.plural();
        format!("the list of {kind} of {}", self.api.repository.path())
    }

    async fn ask(&self) -> Result<Reply, CallError> {
        let repository = self.api.repository.clone();
        let asked = Asked {
            smallest: self.size.now() == 1,
            ..Asked::default()
        };
        let check = |data: &Value| {
            let repository = &data["repository"];
            match repository["nameWithOwner"].is_string() {
                true => page_problem(&repository[field(self.kind)], self.after.as_deref()),
                false => Some("an answer without the repository".to_owned()),
            }
        };
        let first = i64::from(self.size.now());
        let after = self.after.clone();
        match self.kind {
            Kind::Issue => {
                use issues_page::{IssueOrder, IssueOrderField, OrderDirection, Variables};
                let (field, direction) = match self.order {
                    Order::Created => (IssueOrderField::CREATED_AT, OrderDirection::ASC),
                    Order::Updated => (IssueOrderField::UPDATED_AT, OrderDirection::ASC),
                    Order::Latest => (IssueOrderField::UPDATED_AT, OrderDirection::DESC),
                };
                let variables = Variables {
                    owner: repository.owner,
                    name: repository.name,
                    first,
                    after,
                    order: IssueOrder { field, direction },
                    since: self.since.map(|since| since.to_string()),
                };
                let api = self.api;
                api.graphql::<IssuesPage>(&self.what(), variables, asked, check)
                    .await
            }
            Kind::Pull => {
                use pulls_page::{IssueOrder, IssueOrderField, OrderDirection, Variables};
                let (field, direction) = match self.order {
                    Order::Created => (IssueOrderField::CREATED_AT, OrderDirection::ASC),
                    Order::Updated => (IssueOrderField::UPDATED_AT, OrderDirection::ASC),
                    Order::Latest => (IssueOrderField::UPDATED_AT, OrderDirection::DESC),
                };
                let variables = Variables {
                    owner: repository.owner,
                    name: repository.name,
                    first,
                    after,
                    order: IssueOrder { field, direction },
                };
                let api = self.api;
                api.graphql::<PullsPage>(&self.what(), variables, asked, check)
                    .await
            }
        }
    }
}

fn field(kind: Kind) -> &'static str {
    match kind {
        Kind::Issue => "issues",
        Kind::Pull => "pullRequests",
    }
}
