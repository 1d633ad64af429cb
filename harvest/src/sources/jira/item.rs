//! A whole issue as an item of a batch.

use super::{
    api::{Api, Project},
    payload::{Parts, is_confidential, key_of, mark_of, names_of, payload},
    settings::Flavor,
    whole::Found,
};
use crate::{Item, SourceError, Unreadable, upstream::CallError};
use serde_json::{Value, value::to_raw_value};
use whence_contract::{Dialect, RawTicket, Timestamp};

impl Api {
    /// What came of asking for an issue, with its comments and changes; `None`
    /// where it is not there, or not in this project any more.
    pub(super) async fn item(
        &self,
        project: &Project,
        id: &str,
        found: Found,
    ) -> Result<Option<Item>, SourceError> {
        let (issue, asked_at) = match found {
            Found::Absent => return Ok(None),
            Found::Unreadable(why) => return Ok(Some(self.unreadable(id, why, &Value::Null))),
            Found::Issue { issue, asked_at } => (issue, asked_at),
        };
        if !self.is_of(project, &issue) {
            return Ok(None);
        }
        // Without an id of its own it would be filed under what was asked for.
        let id = issue.get("id").and_then(Value::as_str).unwrap_or(id);
        let fields = issue.get("fields").unwrap_or(&Value::Null);
        if is_confidential(fields) && !self.confidential {
            return Ok(Some(Item::Withdrawn {
                key: self.key(id),
                why: "it has a security level; `confidential` in [jira] would keep it".to_owned(),
            }));
        }
        match self.ticket(project, id, &issue, asked_at).await {
            Ok(item) => {
                self.relieved();
                Ok(Some(item))
            }
            // Deleted since.
            Err(CallError::Missing { .. }) => Ok(None),
            Err(error) => {
                let why = self.blame(error).await?;
                Ok(Some(self.unreadable(id, why, &issue)))
            }
        }
    }

    async fn ticket(
        &self,
        project: &Project,
        id: &str,
        issue: &Value,
        asked_at: Timestamp,
    ) -> Result<Item, CallError> {
        let names = self.field_names().await?;
        let comments = self.comments(issue, project.desk).await?;
        let changelog = self.changelog(issue).await?;
        let payload = payload(Parts {
            site: &self.site,
            issue: issue.clone(),
            comments: comments.items,
            comment_total: comments.total,
            changelog: changelog.items,
            names,
            confidential: self.confidential,
        });
        let raw = to_raw_value(&payload).map_err(|error| CallError::Garbled {
            what: format!("issue {}", key_of(issue)),
            why: error.to_string(),
        })?;
        let dialect = match self.flavor {
            Flavor::Cloud => Dialect::JiraIssue,
            Flavor::Server => Dialect::JiraServerIssue,
        };
        Ok(Item::Ticket {
            key: self.key(id),
            raw: RawTicket {
                location: payload["url"].as_str().map(str::to_owned),
                names: names_of(&payload),
                mark: Some(mark_of(&payload)),
                ..RawTicket::new(dialect, &self.origin, asked_at, raw)
            },
        })
    }

    /// A key may change with its project's; the project's id does not.
    pub(super) fn is_of(&self, project: &Project, issue: &Value) -> bool {
        let text = |path: &str| issue.pointer(path).and_then(Value::as_str);
        match text("/fields/project/id") {
            Some(id) => id == project.id,
            None => key_of(issue)
                .rsplit_once('-')
                .is_some_and(|(key, _)| key.eq_ignore_ascii_case(&project.key)),
        }
    }

    fn unreadable(&self, id: &str, why: String, issue: &Value) -> Item {
        let bytes = match issue {
            Value::Null => Vec::new(),
            issue => issue.to_string().into_bytes(),
        };
        Item::Unreadable(Unreadable {
            key: Some(self.key(id)),
            location: format!("{}, issue {id}", self.site),
            causes: vec![why],
            size: bytes.len() as u64,
            bytes: bytes.into_iter().take(LARGEST_SAMPLE).collect(),
        })
    }
}

/// Bytes of an issue in a dead letter.
const LARGEST_SAMPLE: usize = 64 << 10;
