//! Whole issues by id: many in one call where that works, one by one where it
//! does not.

use super::{api::Api, settings::Flavor};
use crate::{SourceError, upstream::CallError};
use serde_json::{Value, json};
use std::{collections::HashMap, sync::atomic::Ordering};
use whence_contract::Timestamp;

/// Everything but work logs, which are long and no prose, and what only says who
/// looked when. Comments come with it as far as Jira gives them there.
const FIELDS: [&str; 4] = ["*all", "-worklog", "-lastViewed", "-watches"];

/// What came of asking for one issue.
#[derive(Clone, Debug)]
pub(super) enum Found {
    Issue {
        issue: Value,
        asked_at: Timestamp,
    },
    /// It, and only it, cannot be had.
    Unreadable(String),
    /// It is not there, or not for this reader: the service does not tell which.
    Absent,
}

impl Api {
    /// Asks for these issues; the answers are in the same order.
    pub(super) async fn whole(&self, ids: &[String]) -> Result<Vec<(String, Found)>, SourceError> {
        let mut found = Vec::new();
        let mut rest = ids;
        while !rest.is_empty() {
            let size = self.batch.load(Ordering::Relaxed).clamp(1, rest.len());
            let (now, later) = rest.split_at(size);
            match self.bulk(now).await {
                Ok((mut issues, asked_at)) => {
                    for id in now {
                        let one = match issues.remove(id) {
                            Some(issue) => Found::Issue { issue, asked_at },
                            // Left out without a word: ask for it by name.
                            None => self.single(id).await?,
                        };
                        found.push((id.clone(), one));
                    }
                    self.grow();
                    rest = later;
                }
                Err(CallError::Heavy { .. }) if size > 1 => {
                    self.batch.store(size / 2, Ordering::Relaxed);
                }
                Err(
                    CallError::Heavy { .. }
                    | CallError::Garbled { .. }
                    | CallError::Exhausted { .. }
                    | CallError::Refused { .. },
                ) => {
                    for id in now {
                        found.push((id.clone(), self.single(id).await?));
                    }
                    rest = later;
                }
                Err(error @ (CallError::Denied { .. } | CallError::Missing { .. })) => {
                    return Err(error.into());
                }
            }
        }
        Ok(found)
    }

    /// One issue, by id or by any key that it ever had.
    pub(super) async fn single(&self, name: &str) -> Result<Found, SourceError> {
        let what = format!("issue {name}");
        let fields = FIELDS.join(",");
        let query = [("fields", fields.as_str()), ("expand", "changelog")];
        let path = format!("/issue/{name}");
        match self.get(&what, &path, &query, "fields").await {
            Ok(mut reply) => Ok(Found::Issue {
                asked_at: reply.asked_at,
                issue: std::mem::replace(&mut reply.json, Ok(Value::Null)).unwrap_or_default(),
            }),
            Err(CallError::Missing { .. }) => Ok(Found::Absent),
            Err(error) => self.blame(error).await.map(Found::Unreadable),
        }
    }

    /// Whether a failure lies with one issue: then what is wrong with it. If the
    /// project cannot be read either, it is the service, or the reader.
    pub(super) async fn blame(&self, error: CallError) -> Result<String, SourceError> {
        self.project().await?;
        match error {
            CallError::Exhausted { .. } if !self.patient() => Err(error.into()),
            error => Ok(error.to_string()),
        }
    }

    async fn bulk(&self, ids: &[String]) -> Result<(HashMap<String, Value>, Timestamp), CallError> {
        let what = format!("{} issues of {}", ids.len(), self.project_key);
        let heavy = ids.len() > 1;
        let reply = match self.flavor {
            Flavor::Cloud => {
                let body = json!({
                    "issueIdsOrKeys": ids, "fields": FIELDS, "expand": ["changelog"],
                });
                self.post(&what, "/issue/bulkfetch", &body, heavy).await?
            }
            Flavor::Server => {
                // Not validated: an id that is gone would fail the whole query.
                let body = json!({
                    "jql": format!("id in ({})", ids.join(",")),
                    "fields": FIELDS, "expand": ["changelog"],
                    "startAt": 0, "maxResults": ids.len(), "validateQuery": false,
                });
                self.post(&what, "/search", &body, heavy).await?
            }
        };
        let asked_at = reply.asked_at;
        let mut answer = reply.json.unwrap_or_default();
        let issues = answer.get_mut("issues").map(Value::take);
        let Some(Value::Array(issues)) = issues else {
            return Ok((HashMap::new(), asked_at));
        };
        let by_id = issues.into_iter().filter_map(|issue| {
            let id = issue.get("id")?.as_str()?.to_owned();
            issue.get("fields")?.is_object().then_some((id, issue))
        });
        Ok((by_id.collect(), asked_at))
    }

    /// A tenth more at a time, up to what is configured.
    fn grow(&self) {
        let size = self.batch.load(Ordering::Relaxed);
        let larger = (size + 1 + size / 10).min(self.page_size);
        self.batch.store(larger, Ordering::Relaxed);
    }
}
