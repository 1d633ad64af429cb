//! Every issue without its prose. Comments are asked for because nothing else
//! counts them: the answers hold some, and the right total.

use super::{
    api::Api,
    payload::{is_confidential, is_restricted, mark},
    search::{Next, Place, Row},
    walk::no_search,
};
use crate::{Census, Scope, Sighting, Sightings, SourceError};
use serde_json::Value;
use std::collections::HashSet;
use whence_contract::Provenance;

const FIELDS: [&str; 4] = ["updated", "security", "issuerestriction", "comment"];
/// Times that it is begun anew because pages shifted or broke off.
const MOST_ROUNDS: u32 = 4;
const MOST_PAGES_EMPTY: u32 = 10;

impl Api {
    /// By key, so that an edit moves nothing between the pages.
    pub(super) async fn count_all(&self, out: &Sightings) -> Result<Census, SourceError> {
        let project = self.project().await?;
        let jql = format!("project = {} ORDER BY key ASC", project.id);
        let mut seen = HashSet::new();
        let mut place = Place::Start;
        let mut tokens = HashSet::new();
        let (mut rounds, mut empty) = (0, 0);
        loop {
            let page = self.search(&jql, &FIELDS, &place).await;
            let page = page.map_err(|error| no_search(error, &project))?;
            if page.nameless > 0 {
                return Err(SourceError::bare(format!(
                    "the issues of {}: {} results have no id, so nothing can be counted",
                    project.key, page.nameless
                )));
            }
            empty = match page.rows.is_empty() {
                true => empty + 1,
                false => 0,
            };
            let sightings = page
                .rows
                .into_iter()
                .filter(|row| self.confidential || !is_confidential(&row.fields))
                .filter(|row| seen.insert(row.id.clone()))
                .map(|row| self.sighting(&row))
                .collect();
            out.send(sightings).await?;
            let broken = match page.next {
                Next::End => break,
                Next::Broken(why) => why,
                Next::Page(Place::Token(token)) if !tokens.insert(token.clone()) => {
                    "a page leads to one that was read before".to_owned()
                }
                Next::Page(_) if empty > MOST_PAGES_EMPTY => "page after page is empty".to_owned(),
                Next::Page(next) => {
                    place = next;
                    continue;
                }
            };
            rounds += 1;
            if rounds >= MOST_ROUNDS {
                return Err(SourceError::bare(format!(
                    "the issues of {} cannot be counted: {broken}, again and again",
                    project.key
                )));
            }
            (place, empty) = (Place::Start, 0);
            tokens.clear();
        }
        Ok(Census {
            scopes: vec![Scope {
                provenance: Provenance::Upstream,
                source: "jira".to_owned(),
                scope: self.scope.clone(),
            }],
            warnings: Vec::new(),
        })
    }

    fn sighting(&self, row: &Row) -> Sighting {
        let list = row.fields.get("comment");
        let total = list.and_then(|list| list.get("total")?.as_u64());
        Sighting {
            key: self.key(&row.id),
            name: row.key.clone(),
            mark: mark(row.updated, total.unwrap_or_default(), &row.key),
            comments: total.and_then(|total| self.kept(list, total)),
        }
    }

    /// How many comments are published of those that Jira counts. The answer
    /// holds only the first: where one of these is left out and more follow,
    /// nobody can tell.
    fn kept(&self, list: Option<&Value>, total: u64) -> Option<u64> {
        let shown = list.and_then(|list| list.get("comments")?.as_array());
        let shown: &[Value] = shown.map_or(&[], Vec::as_slice);
        let left_out = match self.confidential {
            true => 0,
            false => shown.iter().filter(|c| is_restricted(c)).count() as u64,
        };
        match left_out {
            0 => Some(total),
            _ if shown.len() as u64 == total => Some(total - left_out),
            _ => None,
        }
    }
}
