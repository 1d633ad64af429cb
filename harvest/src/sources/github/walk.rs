//! What changed since the last pass: see the head of the folder's first file.

use super::{
    Github, OVERLAP,
    entry::{Entry, Kind},
    pages::{Order, Pages},
};
use crate::{Batch, Batches, Coverage, Listing, Since, SourceError, upstream::PageSize};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashSet;
use whence_contract::Timestamp;

/// Where a pass ended, or got to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Cursor {
    /// GitHub's id of the repository: another one may come to bear its name.
    repository: String,
    /// Every change of an issue before this has been sent.
    issues: Option<Timestamp>,
    /// The same of pull requests.
    pulls: Option<Timestamp>,
}

impl Cursor {
    fn since(&mut self, kind: Kind) -> &mut Option<Timestamp> {
        match kind {
            Kind::Issue => &mut self.issues,
            Kind::Pull => &mut self.pulls,
        }
    }

    /// All that changed up to `reached` has been sent.
    fn reach(&mut self, kind: Kind, reached: Timestamp) {
        let since = self.since(kind);
        let reached = reached.saturating_sub(OVERLAP).unwrap_or(reached);
        *since = Some(since.map_or(reached, |known| known.max(reached)));
    }

    fn value(&self) -> Result<Value, SourceError> {
        serde_json::to_value(self)
            .map_err(|error| SourceError::because("cannot encode the cursor", error))
    }
}

/// One pass under way.
struct Walk<'a> {
    github: &'a Github,
    out: &'a Batches,
    cursor: Cursor,
    size: PageSize,
    strange: usize,
}

impl Github {
    pub(super) async fn walk(&self, since: Since, out: &Batches) -> Result<Listing, SourceError> {
        let repository = self.repository().await?;
        let cursor = since.cursor.filter(|_| !since.whole);
        let cursor: Cursor = cursor
            .and_then(|cursor| serde_json::from_value(cursor).ok())
            .filter(|cursor: &Cursor| cursor.repository == repository)
            .unwrap_or_default();
        let mut walk = Walk {
            github: self,
            out,
            cursor: Cursor {
                repository,
                ..cursor
            },
            size: PageSize::new(self.page_size),
            strange: 0,
        };
        walk.forward(Kind::Issue).await?;
        match walk.cursor.pulls {
            None => walk.forward(Kind::Pull).await?,
            Some(since) => walk.back_and_forward(since).await?,
        }
        let mut listing = Listing {
            coverage: Coverage::Changes,
            cursor: walk.cursor.value()?,
            ..Listing::default()
        };
        if walk.strange > 0 {
            listing.incomplete(format!(
                "{} entries of the lists of {} lack an id, a number or a time",
                walk.strange,
                self.present()
            ));
        }
        Ok(listing)
    }
}

impl Walk<'_> {
    /// Longest unchanged first, sending page by page.
    async fn forward(&mut self, kind: Kind) -> Result<(), SourceError> {
        let since = match kind {
            Kind::Issue => self.cursor.issues,
            Kind::Pull => None,
        };
        let mut pages = Pages::new(&self.github.api, kind, Order::Updated, since);
        while let Some(page) = pages.next().await? {
            self.github.learn(&page.repository);
            self.strange += page.strange;
            self.send(kind, &page.entries).await?;
        }
        Ok(())
    }

    /// Latest change of a pull request first, down to `since`; then what was
    /// listed, the other way round.
    async fn back_and_forward(&mut self, since: Timestamp) -> Result<(), SourceError> {
        let mut pages = Pages::new(&self.github.api, Kind::Pull, Order::Latest, None);
        let mut changed: Vec<Entry> = Vec::new();
        let mut known = HashSet::new();
        'listing: while let Some(page) = pages.next().await? {
            self.github.learn(&page.repository);
            self.strange += page.strange;
            for entry in page.entries {
                if entry.updated_at < since {
                    break 'listing;
                }
                if known.insert(entry.node.clone()) {
                    changed.push(entry);
                }
            }
        }
        changed.sort_by(|a, b| (a.updated_at, &a.node).cmp(&(b.updated_at, &b.node)));
        self.send(Kind::Pull, &changed).await
    }

    /// Fetches and sends tickets that stand in the order of their changes.
    async fn send(&mut self, kind: Kind, entries: &[Entry]) -> Result<(), SourceError> {
        let mut rest = entries;
        while !rest.is_empty() {
            let (some, later) = rest.split_at(rest.len().min(self.size.now() as usize));
            let items = self.github.gather(some, &mut self.size).await?;
            if let Some(last) = some.last() {
                self.cursor.reach(kind, last.updated_at);
            }
            let cursor = Some(self.cursor.value()?);
            self.out.send(Batch { items, cursor }).await?;
            rest = later;
        }
        Ok(())
    }
}
