//! Everything there is, by id, times and labels.

use super::{
    Linear,
    mark::mark,
    pages::{EVER, List, Order},
};
use crate::{Census, Scope, Sighting, Sightings, SourceError};
use serde_json::Value;
use std::collections::HashMap;
use whence_contract::Provenance;

/// Sightings of one page.
const PAGE: usize = 500;

impl Linear {
    /// In the order of creation, which no edit changes.
    pub(super) async fn count(&self, out: &Sightings) -> Result<Census, SourceError> {
        let team = self.api.team().await?;
        let all = async |list| self.api.all(list, &team, Order::Created, EVER).await;
        let names: HashMap<String, String> = all(List::Labels)
            .await?
            .iter()
            .filter_map(|label| Some((text(label, "id")?, text(label, "name")?)))
            .collect();
        let issues = all(List::Issues).await?;
        let mut comments: HashMap<String, Vec<(String, String)>> = HashMap::new();
        for comment in all(List::Comments).await? {
            let of = (text(&comment, "id"), text(&comment, "updatedAt"));
            if let (Some(issue), (Some(id), Some(at))) = (text(&comment, "issueId"), of) {
                comments.entry(issue).or_default().push((id, at));
            }
        }
        let mut page = Vec::new();
        for issue in issues.iter().filter(|issue| issue["trashed"] != true) {
            let (Some(id), Some(name), Some(updated_at)) = (
                text(issue, "id"),
                text(issue, "identifier"),
                text(issue, "updatedAt"),
            ) else {
                return Err(SourceError::bare(format!(
                    "{}: an entry of the list lacks an id, an identifier or a time",
                    team.key
                )));
            };
            let labels = issue["labelIds"].as_array().into_iter().flatten();
            let labels = labels.filter_map(|id| names.get(id.as_str()?).map(String::as_str));
            let said = comments.get(&id).map_or(&[][..], Vec::as_slice);
            let pairs = said.iter().map(|(id, at)| (id.as_str(), at.as_str()));
            page.push(Sighting {
                key: self.key(&id),
                name,
                mark: mark(&updated_at, labels, pairs),
                comments: Some(said.len() as u64),
            });
            if page.len() >= PAGE {
                out.send(std::mem::take(&mut page)).await?;
            }
        }
        out.send(page).await?;
        Ok(Census {
            scopes: vec![Scope {
                provenance: Provenance::Upstream,
                source: super::KIND.name.to_owned(),
                scope: self.api.host(),
            }],
            warnings: Vec::new(),
        })
    }
}

fn text(value: &Value, field: &str) -> Option<String> {
    value[field].as_str().map(str::to_owned)
}
