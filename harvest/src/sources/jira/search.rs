//! One page of a search, by either product's paging: which issues there are, in
//! a stated order, without their prose.

use super::{api::Api, settings::Flavor};
use crate::upstream::CallError;
use serde_json::{Value, json};
use whence_contract::Timestamp;

/// An empty page with more to come is asked for again so often: it may have been
/// a slip, and going on behind it may skip issues.
const EMPTY_TRIES: u32 = 3;

/// One result.
#[derive(Clone, Debug)]
pub(super) struct Row {
    pub(super) id: String,
    pub(super) key: String,
    /// Milliseconds since 1970, where it can be read.
    pub(super) updated: Option<i64>,
    /// The fields that were asked for.
    pub(super) fields: Value,
}

/// Where a page begins.
#[derive(Clone, Debug)]
pub(super) enum Place {
    Start,
    /// Cloud: as the page before said.
    Token(String),
    /// Server: behind so many results, of which this was the last.
    Behind {
        count: usize,
        last: String,
    },
}

/// What follows a page.
#[derive(Clone, Debug)]
pub(super) enum Next {
    End,
    Page(Place),
    /// More is to come, and nothing says where: begin anew behind what is known.
    Broken(String),
}

/// The results of one page.
#[derive(Clone, Debug)]
pub(super) struct Page {
    pub(super) rows: Vec<Row>,
    /// Results without an id: nothing can be done about them.
    pub(super) nameless: usize,
    pub(super) next: Next,
}

impl Api {
    /// # Errors
    /// When there is no answer, or none that can be read.
    pub(super) async fn search(
        &self,
        jql: &str,
        fields: &[&str],
        place: &Place,
    ) -> Result<Page, CallError> {
        match self.flavor {
            Flavor::Cloud => self.search_cloud(jql, fields, place).await,
            Flavor::Server => self.search_server(jql, fields, place).await,
        }
    }

    /// `isLast` has been seen to be wrong, so the token's absence is the end; if
    /// the two contradict each other, the end is looked at again.
    async fn search_cloud(
        &self,
        jql: &str,
        fields: &[&str],
        place: &Place,
    ) -> Result<Page, CallError> {
        let mut body = json!({ "jql": jql, "fields": fields, "maxResults": self.page_size });
        if let Place::Token(token) = place {
            body["nextPageToken"] = json!(token);
        }
        let what = self.search_name();
        let mut tries = 0;
        loop {
            let asked = self.post(&what, "/search/jql", &body, false).await;
            let reply = match (asked, place) {
                // Tokens end after a week, and a slow walk may take longer.
                (Err(CallError::Refused { why, .. }), Place::Token(_)) => {
                    return Ok(Page {
                        rows: Vec::new(),
                        nameless: 0,
                        next: Next::Broken(why),
                    });
                }
                (asked, _) => asked?,
            };
            let (rows, nameless) = rows(reply.value());
            let token = reply.value().get("nextPageToken").and_then(Value::as_str);
            let last = reply.value().get("isLast").and_then(Value::as_bool);
            tries += 1;
            if rows.is_empty() && token.is_some() && tries < EMPTY_TRIES {
                continue;
            }
            let next = match token {
                Some(token) => Next::Page(Place::Token(token.to_owned())),
                None if last == Some(false) => {
                    Next::Broken("a page says that more follows, and not where".to_owned())
                }
                None => Next::End,
            };
            return Ok(Page {
                rows,
                nameless,
                next,
            });
        }
    }

    /// Pages by number of results shift when an issue changes under the reader's
    /// hands. So each page begins with the last result of the one before: if that
    /// is another now, the numbers mean nothing any more.
    async fn search_server(
        &self,
        jql: &str,
        fields: &[&str],
        place: &Place,
    ) -> Result<Page, CallError> {
        let (start, last) = match place {
            Place::Behind { count, last } => (count.saturating_sub(1), Some(last)),
            Place::Start | Place::Token(_) => (0, None),
        };
        let most = self.page_size + usize::from(last.is_some());
        let body = json!({ "jql": jql, "fields": fields, "startAt": start, "maxResults": most });
        let reply = self
            .post(&self.search_name(), "/search", &body, false)
            .await?;
        let (mut rows, nameless) = rows(reply.value());
        let total = reply.value().get("total").and_then(Value::as_u64);
        let total = total.and_then(|total| usize::try_from(total).ok());
        let behind = start + rows.len() + nameless;
        if let Some(last) = last {
            if rows.first().is_none_or(|row| row.id != *last) {
                return Ok(Page {
                    rows: Vec::new(),
                    nameless: 0,
                    next: Next::Broken("pages shifted while they were read".to_owned()),
                });
            }
            rows.remove(0);
        }
        let more = total.map_or(!rows.is_empty(), |total| behind < total);
        let next = match (more, rows.last()) {
            (false, _) => Next::End,
            (true, Some(row)) => Next::Page(Place::Behind {
                count: behind,
                last: row.id.clone(),
            }),
            (true, None) => Next::Broken("an empty page, and more to come".to_owned()),
        };
        Ok(Page {
            rows,
            nameless,
            next,
        })
    }

    fn search_name(&self) -> String {
        format!("the issues of {}", self.project_key)
    }
}

fn rows(answer: &Value) -> (Vec<Row>, usize) {
    let issues = answer.get("issues").and_then(Value::as_array);
    let (mut rows, mut nameless) = (Vec::new(), 0);
    for issue in issues.into_iter().flatten() {
        let text = |field: &str| issue.get(field).and_then(Value::as_str);
        let (Some(id), Some(key)) = (text("id"), text("key")) else {
            nameless += 1;
            continue;
        };
        let fields = issue.get("fields").cloned().unwrap_or_default();
        rows.push(Row {
            id: id.to_owned(),
            key: key.to_owned(),
            updated: fields.get("updated").and_then(millis),
            fields,
        });
    }
    (rows, nameless)
}

/// A time of Jira, `2026-05-30T10:00:00.000+0200`, in milliseconds since 1970.
pub(super) fn millis(value: &Value) -> Option<i64> {
    let time: Timestamp = value.as_str()?.trim().parse().ok()?;
    Some(time.as_millisecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_any_zone_are_one_number() {
        for text in [
            "2026-05-30T10:00:00.250+0200",
            "2026-05-30T13:30:00.250+0530",
            "2026-05-30T08:00:00.25Z",
            "2026-05-30T08:00:00.250+00:00",
        ] {
            assert_eq!(millis(&json!(text)), Some(1_780_128_000_250), "{text}");
        }
        assert_eq!(millis(&json!("30/May/26 10:00 AM")), None);
        assert_eq!(millis(&json!(7)), None);
    }
}
