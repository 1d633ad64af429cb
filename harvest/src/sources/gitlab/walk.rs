//! All issues or merge requests in the order of a time, though they change under
//! the reader's hands.
//!
//! Pages are counted by offset: when a ticket before the reader's place changes,
//! all others move up and one is skipped. So the walk does not count pages: after
//! each one it asks for what is as late as the last ticket or later, and begins
//! at page 1 again. Only among tickets of one and the same time it counts on.
//! This also keeps below the 50,000 rows where GitLab ends counting. Times are
//! shown in milliseconds and kept finer, so the last ticket always comes again.

use super::api::{Api, Project, judge_list, next_page};
use crate::{
    SourceError,
    upstream::{Reply, Verdict},
};
use serde_json::Value;
use std::collections::HashSet;

/// Issues or merge requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Issue,
    MergeRequest,
}

impl Kind {
    pub(super) const ALL: [Self; 2] = [Self::Issue, Self::MergeRequest];

    pub(super) fn path(self) -> &'static str {
        match self {
            Self::Issue => "issues",
            Self::MergeRequest => "merge_requests",
        }
    }

    /// What stands before the id in a key: the two have ids of their own.
    pub(super) fn prefix(self) -> &'static str {
        match self {
            Self::Issue => "issue",
            Self::MergeRequest => "merge-request",
        }
    }

    pub(super) fn sign(self) -> char {
        match self {
            Self::Issue => '#',
            Self::MergeRequest => '!',
        }
    }
}

/// Which time orders a walk.
#[derive(Clone, Copy, Debug)]
pub(super) enum By {
    Updated,
    /// Does not move: for a census.
    Created,
}

impl By {
    fn field(self) -> &'static str {
        match self {
            Self::Updated => "updated_at",
            Self::Created => "created_at",
        }
    }

    fn bound(self) -> &'static str {
        match self {
            Self::Updated => "updated_after",
            Self::Created => "created_after",
        }
    }
}

pub(super) struct Walk<'a> {
    api: &'a Api,
    project: &'a Project,
    kind: Kind,
    by: By,
    size: String,
    /// Everything from this time on is still to come; `None` from the beginning.
    bound: Option<String>,
    page: u64,
    seen: HashSet<(u64, String)>,
    ended: bool,
}

impl<'a> Walk<'a> {
    pub(super) fn new(
        api: &'a Api,
        project: &'a Project,
        kind: Kind,
        by: By,
        size: u16,
        from: Option<String>,
    ) -> Self {
        Self {
            api,
            project,
            kind,
            by,
            size: size.to_string(),
            bound: from,
            page: 1,
            seen: HashSet::new(),
            ended: false,
        }
    }

    /// The time up to which everything was given.
    pub(super) fn reached(&self) -> Option<&str> {
        self.bound.as_deref()
    }

    /// The next tickets that did not come yet, perhaps none; `None` at the end.
    pub(super) async fn next(&mut self) -> Result<Option<(Reply, Vec<Value>)>, SourceError> {
        if self.ended {
            return Ok(None);
        }
        let page = self.page.to_string();
        let mut query = vec![
            ("scope", "all"),
            ("with_labels_details", "true"),
            ("order_by", self.by.field()),
            ("sort", "asc"),
            ("per_page", self.size.as_str()),
            ("page", page.as_str()),
        ];
        if let Some(bound) = &self.bound {
            query.push((self.by.bound(), bound));
        }
        let path = format!("/projects/{}/{}", self.project.id, self.kind.path());
        let what = format!("the {} of {}", self.kind.path(), self.project.path);
        let reply = self
            .api
            .get_judged(&what, &path, &query, |reply| judge_page(reply, self.page))
            .await?;
        let items = reply.value().as_array().cloned().unwrap_or_default();
        let field = self.by.field();
        let last = items.last().and_then(|item| item[field].as_str());
        match next_page(&reply) {
            None => {
                self.ended = true;
                self.bound = last.map(str::to_owned).or(self.bound.take());
            }
            // Later than the bound: what is there again now begins at page 1.
            Some(_) if last.is_some() && last != self.bound.as_deref() => {
                self.bound = last.map(str::to_owned);
                self.page = 1;
                // What came before this time never comes again.
                self.seen.retain(|(_, at)| Some(at.as_str()) == last);
            }
            Some(_) => self.page += 1,
        }
        let mut fresh = Vec::new();
        for item in items {
            let at = item[field].as_str().unwrap_or_default().to_owned();
            match item["id"].as_u64() {
                Some(id) if !self.seen.insert((id, at)) => {}
                _ => fresh.push(item),
            }
        }
        Ok(Some((reply, fresh)))
    }
}

/// A page of tickets with more to follow is never empty, nor is the first one of
/// a list that says it has some.
fn judge_page(reply: &Reply, page: u64) -> Verdict {
    let is_empty = reply.value().as_array().is_some_and(Vec::is_empty);
    let stated = reply.header("x-total").and_then(|n| n.trim().parse().ok());
    let has_some = page == 1 && stated.is_some_and(|total: u64| total > 0);
    match judge_list(reply) {
        Verdict::Good if is_empty && (next_page(reply).is_some() || has_some) => {
            Verdict::Again("an empty page with more to follow".to_owned())
        }
        verdict => verdict,
    }
}
