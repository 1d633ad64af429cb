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
        let mut found = HashMap::new();
        let mut rest: Vec<String> = ids.to_vec();
        while !rest.is_empty() {
            let size = self.batch.load(Ordering::Relaxed).clamp(1, rest.len());
            let later = rest.split_off(size);
            let now = std::mem::replace(&mut rest, later);
            match self.bulk(&now).await {
                Ok(mut bulk) => {
                    let cut = bulk.cut();
                    for id in now {
                        match bulk.issues.remove(&id) {
                            Some(issue) => {
                                let asked_at = bulk.asked_at;
                                found.insert(id, Found::Issue { issue, asked_at });
                            }
                            None if cut => rest.push(id),
                            // Left out without a word: ask for it by name.
                            None => {
                                let one = self.single(&id).await?;
                                found.insert(id, one);
                            }
                        }
                    }
                    self.grow();
                }
                Err(CallError::Heavy { .. }) if size > 1 => {
                    self.batch.store(size / 2, Ordering::Relaxed);
                    rest.splice(..0, now);
                }
                Err(
                    CallError::Heavy { .. }
                    | CallError::Garbled { .. }
                    | CallError::Exhausted { .. }
                    | CallError::Refused { .. },
                ) => {
                    for id in now {
                        let one = self.single(&id).await?;
                        found.insert(id, one);
                    }
                }
                Err(error @ (CallError::Denied { .. } | CallError::Missing { .. })) => {
                    return Err(error.into());
                }
            }
        }
        let in_order = ids.iter().filter_map(|id| found.remove_entry(id));
        Ok(in_order.collect())
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

    async fn bulk(&self, ids: &[String]) -> Result<Bulk, CallError> {
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
        let total = answer.get("total").and_then(Value::as_u64);
        let issues = match answer.get_mut("issues").map(Value::take) {
            Some(Value::Array(issues)) => issues,
            _ => Vec::new(),
        };
        let bulk = Bulk {
            asked_at,
            given: issues.len(),
            total: total.and_then(|total| usize::try_from(total).ok()),
            issues: issues
                .into_iter()
                .filter_map(|issue| {
                    let id = issue.get("id")?.as_str()?.to_owned();
                    issue.get("fields")?.is_object().then_some((id, issue))
                })
                .collect(),
        };
        if bulk.cut() {
            self.most.fetch_min(bulk.given, Ordering::Relaxed);
        }
        Ok(bulk)
    }

    /// A tenth more at a time, up to what is configured and what is given.
    fn grow(&self) {
        let size = self.batch.load(Ordering::Relaxed);
        let most = self.most.load(Ordering::Relaxed);
        let larger = (size + 1 + size / 10).min(most);
        self.batch.store(larger, Ordering::Relaxed);
    }
}

/// One answer with many issues.
struct Bulk {
    issues: HashMap<String, Value>,
    asked_at: Timestamp,
    given: usize,
    total: Option<usize>,
}

impl Bulk {
    /// A server may give fewer than it was asked for, and say that there are more.
    fn cut(&self) -> bool {
        self.given > 0 && self.total.is_some_and(|total| total > self.given)
    }
}
