//! Where the last pass ended. Every pass looks back over the time in which the
//! search may lag, so the cursor also remembers what it has of that time: what
//! is unchanged is not asked for again.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// Issues that are remembered; more are asked for again, which only costs calls.
const MOST: usize = 10_000;

/// Opaque to everybody else.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Cursor {
    /// The last change up to which everything was sent, in milliseconds since
    /// 1970; absent before the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) updated: Option<i64>,
    /// Ids of issues, by the time of change of the state that was sent.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    seen: BTreeMap<i64, Vec<String>>,
    /// What decides how an issue is published: where it is from, what is left
    /// out of it.
    #[serde(skip_serializing_if = "String::is_empty")]
    made_with: String,
}

impl Cursor {
    /// A cursor as it was stored; the beginning where other settings would make
    /// other tickets now.
    pub(super) fn read(stored: Option<&Value>, made_with: &str) -> Self {
        let read = stored.and_then(|stored| serde_json::from_value(stored.clone()).ok());
        read.filter(|cursor: &Self| cursor.made_with == made_with)
            .unwrap_or_default()
    }

    /// The states that were sent, by issue.
    pub(super) fn known(&self) -> BTreeMap<String, i64> {
        let entries = self.seen.iter();
        entries
            .flat_map(|(updated, ids)| ids.iter().map(|id| (id.clone(), *updated)))
            .collect()
    }

    /// A cursor that remembers what changed at or after `from`, the youngest
    /// first where that is too much.
    pub(super) fn remember(
        updated: Option<i64>,
        known: &BTreeMap<String, i64>,
        from: i64,
        made_with: &str,
    ) -> Self {
        let mut young: Vec<_> = known.iter().filter(|(_, at)| **at >= from).collect();
        young.sort_by(|one, other| other.1.cmp(one.1).then(one.0.cmp(other.0)));
        young.truncate(MOST);
        let mut seen: BTreeMap<i64, Vec<String>> = BTreeMap::new();
        for (id, at) in young {
            seen.entry(*at).or_default().push(id.clone());
        }
        Self {
            updated,
            seen,
            made_with: made_with.to_owned(),
        }
    }

    pub(super) fn value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_young_is_remembered_and_nonsense_begins_anew() {
        let known: BTreeMap<String, i64> = [("1", 10), ("2", 20), ("3", 20)]
            .map(|(id, at)| (id.to_owned(), at))
            .into();
        let cursor = Cursor::remember(Some(20), &known, 15, "x");
        let again = Cursor::read(Some(&cursor.value()), "x");
        assert_eq!(again, cursor);
        assert_eq!(again.known().keys().collect::<Vec<_>>(), ["2", "3"]);
        let other = Cursor::read(Some(&cursor.value()), "y");
        assert_eq!((other.updated, other.known().len()), (None, 0));
        assert_eq!(Cursor::read(Some(&json!([7])), "x").updated, None);
    }

    #[test]
    fn a_cursor_stays_small() {
        let known = (0..50_000_i64).map(|n| (n.to_string(), n)).collect();
        let cursor = Cursor::remember(None, &known, 0, "x");
        assert_eq!(cursor.known().len(), MOST);
        assert!(cursor.value().to_string().len() < 400_000);
    }
}
