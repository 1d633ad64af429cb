//! One issue, wanted now.

use super::{api::Api, payload::key_of, whole::Found};
use crate::{Fetched, Item, SourceError, Wanted};
use serde_json::Value;

impl Api {
    /// An issue that is deleted and one that a security level hides answer alike
    /// (404, one sentence). As long as the project is there for this reader and
    /// the login is good, both mean that it is not to be shown any more.
    pub(super) async fn fetch_one(&self, wanted: &Wanted) -> Result<Fetched, SourceError> {
        let ours = wanted.key.as_ref().filter(|key| key.scope == self.scope);
        let asked: Vec<&str> = match ours {
            Some(key) => vec![key.ticket.as_str()],
            // The present name first.
            None => wanted.names.iter().rev().map(String::as_str).collect(),
        };
        let project = self.project().await?;
        for name in asked {
            // A name goes into the address.
            if !name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_')
            {
                continue;
            }
            let found = self.single(name).await?;
            let elsewhere = match &found {
                Found::Issue { issue, .. } if !self.is_of(&project, issue) => {
                    Some((id_of(issue), key_of(issue).to_owned()))
                }
                _ => None,
            };
            if let Some((Some(id), present)) = elsewhere {
                return Ok(Fetched::Present(Item::Withdrawn {
                    key: self.key(&id),
                    why: format!("it is {present} now, in another project"),
                }));
            }
            // Under a name alone, what cannot be read has no identity.
            if let (Found::Unreadable(why), None) = (&found, ours) {
                return Err(SourceError::bare(why.clone()));
            }
            if let Some(item) = self.item(&project, name, found).await? {
                return Ok(Fetched::Present(item));
            }
        }
        Ok(Fetched::Gone)
    }
}

fn id_of(issue: &Value) -> Option<String> {
    issue.get("id")?.as_str().map(str::to_owned)
}
