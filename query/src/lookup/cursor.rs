//! Where a list goes on: opaque to callers, and good for the list that gave it
//! only.

use crate::SearchError;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize};
use whence_contract::{ContentHash, Timestamp};

/// The last ticket of a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Cursor {
    /// Of the filters and the order; a cursor of another list is refused.
    list: String,
    /// The time that is sorted by.
    pub(super) at: Option<Timestamp>,
    pub(super) ticket_id: i64,
}

impl Cursor {
    pub(super) fn new(list: &str, at: Option<Timestamp>, ticket_id: i64) -> Self {
        let list = fingerprint(list);
        Self {
            list,
            at,
            ticket_id,
        }
    }

    pub(super) fn write(&self) -> String {
        // A text, a time and a number are always JSON.
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).unwrap_or_default())
    }

    /// # Errors
    /// When it was not written by [`Cursor::write`], or for another list.
    pub(super) fn read(text: &str, list: &str) -> Result<Self, SearchError> {
        let cursor: Option<Self> = URL_SAFE_NO_PAD
            .decode(text)
            .ok()
            .and_then(|json| serde_json::from_slice(&json).ok());
        let refused = |message: &str| {
            let hint = "take `next` of the last page as it is, with the same filters and order";
            SearchError::bad_request(message, hint)
        };
        match cursor {
            None => Err(refused("the cursor cannot be read")),
            Some(cursor) if cursor.list != fingerprint(list) => {
                Err(refused("the cursor is one of another list"))
            }
            Some(cursor) => Ok(cursor),
        }
    }
}

fn fingerprint(list: &str) -> String {
    let hash = ContentHash::of(list);
    hash.as_str().chars().take(16).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn good_for_its_own_list_only() {
        let at = "2024-01-31T12:00:00.123456Z".parse().unwrap();
        for at in [None, Some(at)] {
            let cursor = Cursor::new("a", at, 7);
            let written = cursor.write();
            assert_eq!(Cursor::read(&written, "a").unwrap(), cursor);
            assert_eq!(Cursor::read(&written, "b").unwrap_err().status, 400);
        }
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in any::<String>()) {
            drop(Cursor::read(&text, "a"));
        }
    }
}
