//! A pass: what changed since the cursor, whole.

use super::{
    api::Api,
    cursor::Cursor,
    search::{Row, millis},
    walk::{Walk, as_millis, lag},
    whole::Found,
};
use crate::{Batch, Batches, Coverage, Item, Listing, Since, SourceError};
use std::collections::{BTreeMap, HashMap};

/// Raised when a payload's shape changes, so that all are made again.
const SHAPE: u32 = 1;

impl Api {
    pub(super) async fn list_changes(
        &self,
        since: Since,
        out: &Batches,
    ) -> Result<Listing, SourceError> {
        let made_with = format!(
            "{SHAPE} {} {:?} {}",
            self.scope, self.flavor, self.confidential
        );
        let stored = since.cursor.as_ref().filter(|_| !since.whole);
        let before = Cursor::read(stored, &made_with);
        let back = as_millis(lag(self.flavor));
        let from = before.updated.map(|updated| updated.saturating_sub(back));
        let project = self.project().await?;
        let mut listing = Listing {
            coverage: Coverage::Changes,
            ..Listing::default()
        };
        if !project.key.eq_ignore_ascii_case(&self.project_key) {
            listing.warnings.push(format!(
                "project {} is called {} now; write the source so",
                self.project_key, project.key
            ));
        }
        let mut walk = Walk::begin(self, project.clone(), &["updated"], from).await?;
        let mut known = before.known();
        // Sent in this pass: after a new beginning results come again.
        let mut sent: HashMap<String, Option<i64>> = HashMap::new();
        let mut youngest = before.updated;
        while let Some(rows) = walk.next().await? {
            youngest = youngest.max(rows.iter().filter_map(|row| row.updated).max());
            let wanted: Vec<String> = rows
                .iter()
                .filter(|row| !is_known(row, &known) && !was_sent(row, &sent))
                .map(|row| row.id.clone())
                .collect();
            sent.extend(rows.iter().map(|row| (row.id.clone(), row.updated)));
            let mut items = Vec::new();
            for (id, found) in self.whole(&wanted).await? {
                let updated = match &found {
                    Found::Issue { issue, .. } => issue.pointer("/fields/updated").and_then(millis),
                    Found::Unreadable(_) | Found::Absent => None,
                };
                let item = self.item(&project, &id, found).await?;
                match (&item, updated) {
                    (Some(Item::Ticket { .. } | Item::Withdrawn { .. }), Some(updated)) => {
                        known.insert(id, updated);
                    }
                    _ => {
                        known.remove(&id);
                    }
                }
                items.extend(item);
            }
            let sent_up_to = Cursor::remember(walk.settled(), &BTreeMap::new(), 0, &made_with);
            out.send(Batch {
                items,
                cursor: Some(sent_up_to.value()),
            })
            .await?;
        }
        if walk.nameless > 0 {
            listing.incomplete(format!("{} results have no id", walk.nameless));
        }
        let horizon = youngest.map_or(i64::MIN, |youngest| youngest.saturating_sub(back));
        listing.cursor = Cursor::remember(youngest, &known, horizon, &made_with).value();
        Ok(listing)
    }
}

/// Whether this state, or a younger one, was sent by an earlier pass.
fn is_known(row: &Row, known: &BTreeMap<String, i64>) -> bool {
    match (row.updated, known.get(&row.id)) {
        (Some(updated), Some(known)) => updated <= *known,
        _ => false,
    }
}

fn was_sent(row: &Row, sent: &HashMap<String, Option<i64>>) -> bool {
    row.updated.is_some() && sent.get(&row.id) == Some(&row.updated)
}
