//! Laws of the scanner: it cuts where a JSON parser would, and holds what was
//! whole before a break.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use super::{
    item,
    scan::{Piece, Scanner, compact},
};
use proptest::prelude::*;
use serde_json::{Value, json};

/// All items until the end or the break, and whether there was a break.
fn items(bytes: &[u8]) -> (Vec<Vec<u8>>, Option<String>) {
    // One byte at a time, so that every boundary is a boundary of reads too.
    let mut scanner = Scanner::new(Dribble(bytes), item::LISTS);
    let mut items = Vec::new();
    loop {
        match scanner.next() {
            Ok(Some(Piece::Item { bytes, .. })) => items.push(bytes),
            Ok(Some(Piece::Field { .. })) => {}
            Ok(None) => return (items, None),
            Err(broken) => return (items, Some(broken.cause)),
        }
    }
}

struct Dribble<'a>(&'a [u8]);

impl std::io::Read for Dribble<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let most = buffer.len().min(1);
        std::io::Read::read(&mut self.0, &mut buffer[..most])
    }
}

/// An item as it would be written without indentation.
fn text_of(bytes: &[u8]) -> String {
    compact(std::str::from_utf8(bytes).unwrap())
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        any::<f32>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        "[\\[\\]{}\",:\\\\ \n]{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z\"\\\\]{0,4}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn it_cuts_where_a_parser_would(
        issues in prop::collection::vec(value(), 0..5),
        pulls in prop::collection::vec(value(), 0..5),
        labels in value(),
        pretty in any::<bool>(),
    ) {
        let archive = json!({ "labels": labels, "issues": issues, "repo": "a/b", "pulls": pulls });
        let text = if pretty {
            serde_json::to_string_pretty(&archive).unwrap()
        } else {
            archive.to_string()
        };
        let (found, broken) = items(text.as_bytes());
        prop_assert_eq!(broken, None);
        let found: Vec<String> = found.iter().map(|bytes| text_of(bytes)).collect();
        let expected: Vec<String> = issues.iter().chain(&pulls).map(Value::to_string).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn compacting_takes_only_white_space_between_tokens(value in value()) {
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        prop_assert_eq!(compact(&pretty), value.to_string());
    }

    #[test]
    fn any_bytes_end_in_pieces_or_a_cause(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let (found, broken) = items(&bytes);
        prop_assert!(found.is_empty() && broken.is_some());
    }

    #[test]
    fn before_a_cut_everything_whole_is_found(
        issues in prop::collection::vec(value(), 1..6),
        at in any::<prop::sample::Index>(),
    ) {
        let text = json!({ "issues": issues, "repo": "a/b" }).to_string();
        let cut = at.index(text.len());
        let (found, broken) = items(&text.as_bytes()[..cut]);
        prop_assert!(broken.is_some());
        // An item is whole once the comma or bracket after it is there, too.
        let mut end = "{\"issues\":[".len();
        let whole = issues
            .iter()
            .take_while(|issue| {
                end += issue.to_string().len() + 1;
                end <= cut
            })
            .count();
        prop_assert!(found.len() == whole || found.len() == whole + 1);
        for (found, issue) in found.iter().zip(&issues) {
            prop_assert_eq!(text_of(found), issue.to_string());
        }
    }
}

#[test]
fn a_broken_item_stays_within_itself() {
    let text = br#"{"issues":[{"number":1,"body":"\ud800 \x \q"},{"number":2,"t":"ok"},7,
        {"number":"3"},{"number":-4},{"title":"none"},{"number":5,"body":"\ud800\u0000"}]}"#;
    let mut bytes = text.to_vec();
    // A byte that is no UTF-8, within the second item.
    let at = text.windows(2).position(|w| w == b"ok").unwrap();
    bytes[at] = 0xFF;
    let (found, broken) = items(&bytes);
    assert_eq!(broken, None);
    let read: Vec<_> = found
        .iter()
        .map(|bytes| item::read(bytes).map(|(_, number)| number))
        .collect();
    assert!(
        matches!(&read[0], Err(e) if e.contains("valid JSON")),
        "{read:?}"
    );
    assert!(
        matches!(&read[1], Err(e) if e.contains("valid JSON")),
        "{read:?}"
    );
    assert!(
        matches!(&read[2], Err(e) if e.contains("not an object")),
        "{read:?}"
    );
    assert!(
        matches!(&read[3], Err(e) if e.contains("`number`")),
        "{read:?}"
    );
    assert!(matches!(&read[4], Err(e) if e.contains("-4")), "{read:?}");
    assert!(
        matches!(&read[5], Err(e) if e.contains("no field `number`")),
        "{read:?}"
    );
    assert_eq!(read[6], Ok(5));
}

#[test]
fn only_owner_and_name_make_a_repository() {
    for good in ["quicwg/qlog", "a/b.c", "A-1/_x"] {
        assert!(item::is_repo(good), "{good}");
    }
    for bad in ["", "qlog", "a/", "/b", "a/b/c", "a b/c", "../x", "a/.."] {
        assert!(!item::is_repo(bad), "{bad}");
    }
}
