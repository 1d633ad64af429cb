//! What hangs on an issue and may have pages of its own: comments and the
//! changelog.

use super::{api::Api, settings::Flavor};
use crate::upstream::CallError;
use serde_json::Value;
use std::collections::HashSet;

/// Times that a list is read anew because it changed under the reader's hands.
const ROUNDS: u32 = 4;
/// Asked for at a time; the service gives as many as it likes.
const PAGE: &str = "100";

/// A list to its end.
pub(super) struct Whole {
    pub(super) items: Vec<Value>,
    /// How many the service counts.
    pub(super) total: u64,
}

impl Api {
    /// All comments of an issue. They come with it up to some number that no
    /// page states, so what came is taken only where it is as many as there are.
    /// `desk`: of a service desk, where Server tells internal notes by a property
    /// that has to be asked for.
    pub(super) async fn comments(&self, issue: &Value, desk: bool) -> Result<Whole, CallError> {
        let embedded = issue.pointer("/fields/comment");
        let ask_anyway = desk && self.flavor == Flavor::Server;
        if !ask_anyway && let Some(whole) = embedded.and_then(|list| complete(list, "comments")) {
            return Ok(whole);
        }
        let expand = match self.flavor {
            Flavor::Cloud => "",
            Flavor::Server => "properties",
        };
        let query = [("orderBy", "created"), ("expand", expand)];
        self.pages(issue, "comment", "comments", &query).await
    }

    /// All changes of an issue. Server gives them whole with the issue; Cloud up
    /// to 40, the latest.
    pub(super) async fn changelog(&self, issue: &Value) -> Result<Whole, CallError> {
        let embedded = issue.get("changelog");
        if let Some(whole) = embedded.and_then(|list| complete(list, "histories")) {
            return Ok(whole);
        }
        match (self.flavor, embedded) {
            (Flavor::Server, Some(list)) => Ok(counted(list, "histories")),
            (Flavor::Server, None) => Ok(Whole {
                items: Vec::new(),
                total: 0,
            }),
            (Flavor::Cloud, _) => self.pages(issue, "changelog", "values", &[]).await,
        }
    }

    /// Begins each page behind what is known, so that a page that comes twice
    /// adds nothing, and reads anew where the end does not fit the count.
    async fn pages(
        &self,
        issue: &Value,
        list: &str,
        field: &str,
        more: &[(&str, &str)],
    ) -> Result<Whole, CallError> {
        let text = |field: &str| issue.get(field).and_then(Value::as_str).unwrap_or_default();
        let what = format!("the {list} list of {}", text("key"));
        let path = format!("/issue/{}/{list}", text("id"));
        let (mut known, mut total) = (Vec::new(), 0);
        for _ in 0..ROUNDS {
            let mut ids = HashSet::new();
            let mut first_total = None;
            known = Vec::new();
            loop {
                let start = known.len().to_string();
                let mut query = vec![("startAt", start.as_str()), ("maxResults", PAGE)];
                query.extend(more.iter().filter(|(_, value)| !value.is_empty()));
                let reply = self.get(&what, &path, &query, field).await?;
                let page = counted(reply.value(), field);
                total = page.total;
                first_total.get_or_insert(total);
                let before = known.len();
                for item in page.items {
                    if ids.insert(id_of(&item)) {
                        known.push(item);
                    }
                }
                let all = known.len() as u64 >= total;
                if all && first_total == Some(total) {
                    return Ok(Whole {
                        items: known,
                        total,
                    });
                }
                if all || known.len() == before {
                    break;
                }
            }
        }
        if known.len() as u64 == total {
            return Ok(Whole {
                items: known,
                total,
            });
        }
        let why = format!("it counts {total} and gives {}", known.len());
        Err(CallError::Garbled { what, why })
    }
}

/// A list that came with an issue, where all of it came.
fn complete(list: &Value, field: &str) -> Option<Whole> {
    list.get("total")?.as_u64()?;
    let whole = counted(list, field);
    let ids: HashSet<String> = whole.items.iter().map(id_of).collect();
    (ids.len() as u64 == whole.total && ids.len() == whole.items.len()).then_some(whole)
}

/// Its elements; without a count of its own it counts what it has.
fn counted(list: &Value, field: &str) -> Whole {
    let items = list.get(field).and_then(Value::as_array);
    let items = items.cloned().unwrap_or_default();
    let total = list.get("total").and_then(Value::as_u64);
    Whole {
        total: total.unwrap_or(items.len() as u64),
        items,
    }
}

/// Its id, or where it has none all of it.
fn id_of(item: &Value) -> String {
    match item.get("id") {
        Some(Value::String(id)) => id.clone(),
        Some(id) if !id.is_null() => id.to_string(),
        _ => item.to_string(),
    }
}
