//! What holds for every payload.

use crate::{key, raw, read};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use whence_contract::{Dialect, UnitKind};
use whence_normalize::normalize;

fn dialect() -> impl Strategy<Value = Dialect> {
    prop::sample::select(vec![
        Dialect::GithubArchiveIssue,
        Dialect::GithubArchivePull,
        Dialect::MarkdownNote,
        Dialect::WhenceDocument,
    ])
}

/// Text with everything in it that a later stage would choke on.
fn dirty() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "[a# \\r\\n\\t\u{0}\u{1b}\u{7f}\u{85}\u{feff}é😀`\\[\\]-]{0,30}",
        "((fixes|closes) #[0-9]|\\[\\[a\\]\\]|\\[a\\]\\(b.md\\)|---\n|a: b\n|# h\n|```\n|\r){0,8}",
        Just("2024-01-02T03:04:05Z".to_owned()),
        Just("https://github.com/acme/kiln/issues/7".to_owned()),
    ]
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        dirty().prop_map(Value::from),
    ];
    let names = prop_oneof![
        prop::sample::select(vec![
            "number",
            "title",
            "body",
            "state",
            "author",
            "login",
            "labels",
            "name",
            "comments",
            "reviews",
            "createdAt",
            "url",
            "path",
            "text",
            "source",
            "project",
            "id",
            "kind",
            "units",
            "meta",
            "milestone",
            "mergeCommit",
        ])
        .prop_map(str::to_owned),
        dirty(),
    ];
    leaf.prop_recursive(5, 60, 8, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((names.clone(), inner), 0..10)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// An object with some of `names`, each of any kind.
fn some_of(names: &'static [&'static str]) -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::vec((prop::sample::select(names), any_json()), 0..names.len())
        .prop_map(|fields| fields.into_iter().map(|(n, v)| (n.to_owned(), v)).collect())
}

fn comment() -> impl Strategy<Value = Map<String, Value>> {
    some_of(&[
        "author",
        "body",
        "createdAt",
        "updatedAt",
        "url",
        "path",
        "id",
        "state",
    ])
}

fn ticket() -> impl Strategy<Value = (Map<String, Value>, Vec<usize>, usize)> {
    let review = (comment(), prop::collection::vec(comment(), 0..4));
    (
        some_of(&[
            "title",
            "body",
            "author",
            "labels",
            "assignees",
            "state",
            "url",
            "meta",
        ]),
        prop::collection::vec(comment(), 0..5),
        prop::collection::vec(review, 0..4),
    )
        .prop_map(|(mut fields, comments, reviews)| {
            let counts = reviews.iter().map(|(_, own)| own.len()).collect();
            let reviews: Vec<Value> = reviews
                .into_iter()
                .map(|(mut review, own)| {
                    review.insert("comments".to_owned(), json!(own));
                    Value::Object(review)
                })
                .collect();
            let number = comments.len();
            fields.insert("number".to_owned(), json!(7));
            fields.insert("comments".to_owned(), json!(comments));
            fields.insert("reviews".to_owned(), json!(reviews));
            (fields, counts, number)
        })
}

/// Every text within, keys too.
fn texts<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => found.push(text),
        Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
        Value::Object(fields) => fields.iter().for_each(|(name, value)| {
            found.push(name);
            texts(value, found);
        }),
        _ => {}
    }
}

fn assert_clean(document: &whence_contract::Document) {
    let value = serde_json::to_value(document).unwrap();
    let mut found = Vec::new();
    texts(&value, &mut found);
    for text in found {
        let bad = |c: &char| (c.is_control() && !matches!(c, '\n' | '\t')) || *c == '\u{feff}';
        assert_eq!(text.chars().find(bad), None, "{text:?}");
    }
    let back: whence_contract::Document = serde_json::from_value(value).unwrap();
    assert_eq!(&back, document);
}

proptest! {
    #[test]
    fn any_json_is_decided_and_clean(dialect in dialect(), payload in any_json()) {
        if let Ok(document) = read(dialect, &payload.to_string()) {
            assert_clean(&document);
        }
    }

    #[test]
    fn any_raw_json_text_is_decided(dialect in dialect(), text in r#"(\\u[0-9a-fA-F]{4}|\\ud[89abcdef]0f|\\[\\"nrtbf/]|[a-z# \[\]-]){0,40}"#, number in "-?[1-9][0-9]{0,30}(\\.[0-9]{1,9})?([eE][+-]?[0-9]{1,4})?") {
        let payload = format!(
            r#"{{"number":7,"path":"a.md","text":"{text}","body":"{text}","title":"{text}","{text}":{number},
            "source":"jira","project":"K","id":"K-1","kind":"issue","meta":{{"{text}":"{text}","n":{number}}}}}"#
        );
        let document = read(dialect, &payload);
        prop_assert!(document.is_ok(), "{:?}", document);
        assert_clean(&document.unwrap());
    }

    #[test]
    fn nothing_written_is_lost((payload, own, comments) in ticket()) {
        let json = Value::Object(payload).to_string();
        let document = read(Dialect::GithubArchivePull, &json).unwrap();
        assert_clean(&document);
        let count = |kind| document.units.iter().filter(|unit| unit.kind == kind).count();
        prop_assert_eq!(count(UnitKind::Description), 1);
        prop_assert_eq!(document.units[0].kind, UnitKind::Description);
        prop_assert_eq!(count(UnitKind::Comment), comments);
        prop_assert_eq!(count(UnitKind::Review), own.len());
        prop_assert_eq!(count(UnitKind::ReviewComment), own.iter().sum::<usize>());
        prop_assert_eq!(document.units.len(), 1 + comments + own.len() + own.iter().sum::<usize>());
        // A review comment stands in its review's run.
        for pair in document.units.windows(2) {
            let alone = matches!(pair[0].kind, UnitKind::Description | UnitKind::Comment);
            prop_assert!(!(alone && pair[1].kind == UnitKind::ReviewComment));
        }
        // The same input gives the same output.
        prop_assert_eq!(read(Dialect::GithubArchivePull, &json).unwrap(), document);
    }

    #[test]
    fn a_document_read_again_is_itself(dialect in dialect(), payload in any_json(), scope in dirty()) {
        let Ok(document) = normalize(&raw(dialect, &payload.to_string()), &key(dialect, &scope, "7")) else {
            return Ok(());
        };
        if document.project.is_empty() {
            return Ok(());
        }
        let again = read(Dialect::WhenceDocument, &serde_json::to_string(&document).unwrap());
        prop_assert_eq!(again.unwrap(), document);
    }

    #[test]
    fn a_note_keeps_its_body(body in dirty(), path in "[a-z]{1,4}(/[a-z]{1,4})?\\.md") {
        let payload = json!({"path": path, "text": body}).to_string();
        let document = read(Dialect::MarkdownNote, &payload).unwrap();
        assert_clean(&document);
        prop_assert_eq!(document.units.len(), 1);
        prop_assert_eq!(&document.id, &format!("docs/{path}"));
        prop_assert!(!document.title.is_empty());
        let clean = whence_normalize::clean_text(&body);
        prop_assert!(clean.ends_with(&document.units[0].body));
    }
}
