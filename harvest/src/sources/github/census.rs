//! Everything there is, by id and figures.

use super::{
    Github,
    entry::{Entry, Kind},
    pages::{Order, Pages},
};
use crate::{Census, Scope, Sighting, Sightings, SourceError};
use std::collections::HashSet;
use whence_contract::Provenance;

impl Github {
    /// In the order of creation, which no edit changes.
    pub(super) async fn count(&self, out: &Sightings) -> Result<Census, SourceError> {
        let mut census = Census::default();
        for kind in [Kind::Issue, Kind::Pull] {
            let mut pages = Pages::new(&self.api, kind, Order::Created, None);
            let mut seen = HashSet::new();
            let (mut total, mut strange) = (None, 0);
            while let Some(page) = pages.next().await? {
                self.learn(&page.repository);
                // What the last page says: tickets may go meanwhile.
                total = page.total;
                strange += page.strange;
                let sightings = page.entries.into_iter().map(|entry| {
                    seen.insert(entry.node.clone());
                    self.sighting(entry)
                });
                out.send(sightings.collect()).await?;
            }
            let counted = seen.len() + strange;
            if total.is_some_and(|total| total > counted as u64) {
                census.warnings.push(format!(
                    "{}: GitHub counts {} {} and lists {counted}; it may hide some",
                    self.present(),
                    total.unwrap_or_default(),
                    kind.plural(),
                ));
            }
            if strange > 0 {
                return Err(SourceError::bare(format!(
                    "{}: {strange} entries of the list lack an id, a number or a time",
                    self.present()
                )));
            }
        }
        census.scopes = vec![Scope {
            provenance: Provenance::Upstream,
            source: super::KIND.name.to_owned(),
            scope: self.api.scope().to_owned(),
        }];
        Ok(census)
    }

    fn sighting(&self, entry: Entry) -> Sighting {
        Sighting {
            key: self.key(&entry.key),
            name: format!("{}#{}", self.present(), entry.number),
            mark: entry.mark,
            comments: entry.comments,
        }
    }
}
