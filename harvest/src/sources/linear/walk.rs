//! All that changed since the cursor, in the order of the changes.
//!
//! What changed is listed first (ids and times), then fetched whole, the longest
//! unchanged first; so a pass that is stopped goes on where it was. Comments are
//! listed too, because an edited one does not move its issue's time.
//!
//! A cursor of T says: every change before T has been sent. It never passes the
//! service's own time at the beginning of the listing: what changes meanwhile may
//! be in one of the two lists only.

use super::{
    Linear,
    pages::{EVER, List, Order},
};
use crate::{Batch, Batches, Coverage, Listing, Since, SourceError};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{collections::HashMap, time::Duration};
use whence_contract::Timestamp;

/// How much earlier than the cursor a pass begins: a replica may lag, and the
/// times of a service's machines differ. What comes again unchanged costs nothing.
const OVERLAP: Duration = Duration::from_secs(60);

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Cursor {
    since: Option<Timestamp>,
}

impl Cursor {
    fn encode(&self) -> Result<Value, SourceError> {
        serde_json::to_value(self)
            .map_err(|error| SourceError::because("cannot encode the cursor", error))
    }
}

impl Linear {
    pub(super) async fn walk(&self, since: Since, out: &Batches) -> Result<Listing, SourceError> {
        let team = self.api.team().await?;
        let mut cursor: Cursor = since
            .cursor
            .filter(|_| !since.whole)
            .and_then(|cursor| serde_json::from_value(cursor).ok())
            .unwrap_or_default();
        let from = cursor.since.and_then(|at| at.checked_sub(OVERLAP).ok());
        let from = from.map_or_else(|| EVER.to_owned(), |at| at.to_string());

        let mut changed: HashMap<String, Timestamp> = HashMap::new();
        for issue in self.list(&team, List::Issues, &from).await? {
            note(&mut changed, &issue, "id")?;
        }
        // At first every issue comes whole anyway.
        if cursor.since.is_some() {
            for comment in self.list(&team, List::Comments, &from).await? {
                note(&mut changed, &comment, "issueId")?;
            }
        }
        let mut changed: Vec<(Timestamp, String)> =
            changed.into_iter().map(|(id, at)| (at, id)).collect();
        changed.sort_unstable();

        let (times, ids): (Vec<Timestamp>, Vec<String>) = changed.into_iter().unzip();
        let mut size = self.batch();
        let mut done = 0;
        while let Some(rest) = ids.get(done..).filter(|rest| !rest.is_empty()) {
            let (items, taken) = self.gather(&team, rest, &mut size).await?;
            done += taken.max(1);
            // Never back: the overlap begins before what was reached.
            let reached = times.get(done - 1).copied().map(|at| at.min(team.now));
            cursor.since = cursor.since.max(reached);
            out.send(Batch {
                items,
                cursor: Some(cursor.encode()?),
            })
            .await?;
        }
        Ok(Listing {
            coverage: Coverage::Changes,
            cursor: cursor.encode()?,
            ..Listing::default()
        })
    }

    async fn list(
        &self,
        team: &super::api::Team,
        list: List,
        from: &str,
    ) -> Result<Vec<Value>, SourceError> {
        self.api.all(list, team, Order::Updated, from).await
    }
}

/// Of an issue the latest change counts.
fn note(
    changed: &mut HashMap<String, Timestamp>,
    node: &Value,
    field: &str,
) -> Result<(), SourceError> {
    let time = node["updatedAt"]
        .as_str()
        .and_then(|time| time.parse().ok());
    let (Some(id), Some(time)) = (node[field].as_str(), time) else {
        // A comment of something that is no issue.
        if field != "id" && node[field].is_null() {
            return Ok(());
        }
        return Err(SourceError::bare(format!(
            "Linear lists an entry without {field} or time: {}",
            node["id"].as_str().unwrap_or_default()
        )));
    };
    let at = changed.entry(id.to_owned()).or_insert(time);
    *at = time.max(*at);
    Ok(())
}
