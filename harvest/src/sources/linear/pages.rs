//! Lists without prose: what changed since a time, and all there is.
//!
//! Linear lists newest first, and a position is the id of a node whose place is
//! looked up anew: an issue that is edited between two pages takes the position
//! with it to the top. Nothing is skipped by that, some come again.

use super::{
    api::{Api, Team},
    queries::{CommentsPage, IssuesPage, LabelsPage, comments_page, issues_page, labels_page},
};
use crate::{
    SourceError,
    upstream::{CallError, PageSize, Reply, nodes, page_problem},
};
use serde_json::Value;
use std::collections::HashSet;

/// As many as Linear gives at once; these pages are light.
const LISTED: u32 = 250;
/// A position may come again when what it names was edited; not for ever.
const MOST_REPEATS: usize = 20;
/// Before anything was written in Linear.
pub(super) const EVER: &str = "1970-01-01T00:00:00.000Z";

/// What is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum List {
    Issues,
    Comments,
    Labels,
}

/// In which order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Which no edit changes.
    Created,
    Updated,
}

impl List {
    fn field(self) -> &'static str {
        match self {
            Self::Issues => "issues",
            Self::Comments => "comments",
            Self::Labels => "issueLabels",
        }
    }

    fn what(self) -> &'static str {
        match self {
            Self::Issues => "the list of issues",
            Self::Comments => "the list of comments",
            Self::Labels => "the list of labels",
        }
    }
}

impl Api {
    /// All nodes of a list that changed at `since` or later, each once.
    ///
    /// # Errors
    /// When a page cannot be had, or the listing goes in a circle.
    pub(super) async fn all(
        &self,
        list: List,
        team: &Team,
        order: Order,
        since: &str,
    ) -> Result<Vec<Value>, SourceError> {
        let what = format!("{} of {}", list.what(), team.key);
        let mut size = PageSize::new(LISTED);
        let mut after: Option<String> = None;
        let (mut all, mut known, mut positions) = (Vec::new(), HashSet::new(), HashSet::new());
        let mut repeats = 0;
        loop {
            let page = Page {
                what: &what,
                team,
                order,
                since,
                first: size.now(),
                after: after.as_deref(),
            };
            let reply = match page.ask(self, list).await {
                Ok(reply) => reply,
                Err(CallError::Heavy { .. }) => {
                    size.halve();
                    continue;
                }
                // What the position named is gone: from the top, once more.
                Err(CallError::Refused { .. }) if after.is_some() && repeats < MOST_REPEATS => {
                    (after, repeats) = (None, repeats + 1);
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            size.grow();
            let found = &reply.value()["data"][list.field()];
            for node in nodes(found) {
                let Some(id) = node["id"].as_str() else {
                    return Err(SourceError::bare(format!("{what}: an entry without an id")));
                };
                if known.insert(id.to_owned()) {
                    all.push(node.clone());
                }
            }
            if found["pageInfo"]["hasNextPage"] != true {
                return Ok(all);
            }
            after = found["pageInfo"]["endCursor"].as_str().map(str::to_owned);
            repeats += usize::from(!positions.insert(after.clone()));
            if repeats > MOST_REPEATS {
                return Err(SourceError::bare(format!(
                    "{what}: Linear gives the same page again and again"
                )));
            }
        }
    }
}

/// One page to ask for.
pub(super) struct Page<'a> {
    pub(super) what: &'a str,
    pub(super) team: &'a Team,
    pub(super) order: Order,
    pub(super) since: &'a str,
    pub(super) first: u32,
    pub(super) after: Option<&'a str>,
}

impl Page<'_> {
    pub(super) async fn ask(&self, api: &Api, list: List) -> Result<Reply, CallError> {
        let check = |data: &Value| page_problem(&data[list.field()], self.after);
        let smallest = self.first == 1;
        let (team, since) = (self.team.id.clone(), self.since.to_owned());
        let first = i64::from(self.first);
        let after = self.after.map(str::to_owned);
        match list {
            List::Issues => {
                use issues_page::{PaginationOrderBy, Variables};
                let order = match self.order {
                    Order::Created => PaginationOrderBy::createdAt,
                    Order::Updated => PaginationOrderBy::updatedAt,
                };
                let variables = Variables {
                    team,
                    since,
                    order,
                    first,
                    after,
                };
                api.ask::<IssuesPage>(self.what, variables, smallest, check)
                    .await
            }
            List::Comments => {
                use comments_page::{PaginationOrderBy, Variables};
                let order = match self.order {
                    Order::Created => PaginationOrderBy::createdAt,
                    Order::Updated => PaginationOrderBy::updatedAt,
                };
                let variables = Variables {
                    team,
                    since,
                    order,
                    first,
                    after,
                };
                api.ask::<CommentsPage>(self.what, variables, smallest, check)
                    .await
            }
            List::Labels => {
                let variables = labels_page::Variables { first, after };
                api.ask::<LabelsPage>(self.what, variables, smallest, check)
                    .await
            }
        }
    }
}
