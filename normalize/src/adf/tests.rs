//! Fixtures of our own for every node, and laws over whatever comes.
#![allow(clippy::unwrap_used)]

use super::to_markdown;
use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag};
use serde_json::{Value, json};

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn marked(text: &str, marks: &[&str]) -> Value {
    let marks: Vec<Value> = marks.iter().map(|mark| json!({"type": mark})).collect();
    json!({"type": "text", "text": text, "marks": marks})
}

fn node(kind: &str, content: Vec<Value>) -> Value {
    json!({"type": kind, "content": content})
}

fn doc(content: Vec<Value>) -> String {
    to_markdown(&json!({"type": "doc", "version": 1, "content": content}))
}

#[test]
fn every_block() {
    let para = |t: &str| node("paragraph", vec![text(t)]);
    let item = |content| node("listItem", content);
    let list = node(
        "bulletList",
        vec![
            item(vec![
                para("clay"),
                node("bulletList", vec![item(vec![para("grey")])]),
            ]),
            item(vec![para("ash"), para("sifted")]),
        ],
    );
    let ordered = json!({"type": "orderedList", "attrs": {"order": 3},
        "content": [item(vec![para("fire")]), item(vec![para("cool")])]});
    let code = json!({"type": "codeBlock", "attrs": {"language": "rust"},
        "content": [text("let s = \"```\";\nfire();")]});
    let head = |t: &str| node("tableHeader", vec![para(t)]);
    let cell = |content| node("tableCell", content);
    let table = node(
        "table",
        vec![
            node("tableRow", vec![head("cone"), head("at")]),
            node(
                "tableRow",
                vec![cell(vec![para("a|b"), para("c")]), cell(vec![para("1222")])],
            ),
        ],
    );
    let tasks = node(
        "taskList",
        vec![
            json!({"type": "taskItem", "attrs": {"state": "DONE"}, "content": [text("load")]}),
            json!({"type": "taskItem", "attrs": {"state": "TODO"}, "content": [text("fire")]}),
        ],
    );
    insta::assert_snapshot!(doc(vec![
        json!({"type": "heading", "attrs": {"level": 2}, "content": [text("Why it cracks")]}),
        para("The clay was wet."),
        list,
        ordered,
        code,
        node("blockquote", vec![para("never twice"), para("they said")]),
        json!({"type": "panel", "attrs": {"panelType": "warning"}, "content": [para("Hot.")]}),
        json!({"type": "expand", "attrs": {"title": "Details"}, "content": [para("Inside.")]}),
        json!({"type": "rule"}),
        table,
        tasks,
        node(
            "decisionList",
            vec![node("decisionItem", vec![text("Fire once")])]
        ),
        node(
            "mediaSingle",
            vec![json!({"type": "media", "attrs": {"type": "file", "id": "1", "alt": "kiln.png"}}),]
        ),
        node(
            "mediaSingle",
            vec![
                json!({"type": "media", "attrs": {"type": "external", "url": "https://example.org/k.png"}}),
            ]
        ),
        json!({"type": "blockCard", "attrs": {"url": "https://example.org/card"}}),
        node(
            "layoutSection",
            vec![node("layoutColumn", vec![para("left")])]
        ),
        json!({"type": "unheardOf", "content": [para("kept all the same")]}),
        json!({"type": "extension", "attrs": {"text": "an extension's text"}}),
    ]));
}

#[test]
fn every_inline() {
    let link = json!({"type": "text", "text": "the guide",
        "marks": [{"type": "link", "attrs": {"href": "https://example.org/a b"}}]});
    insta::assert_snapshot!(doc(vec![node(
        "paragraph",
        vec![
            marked("bold ", &["strong"]),
            marked("both", &["strong", "em"]),
            text(" and "),
            marked("gone", &["strike"]),
            text(" "),
            marked("a`b", &["code"]),
            text(" "),
            link,
            json!({"type": "hardBreak"}),
            json!({"type": "mention", "attrs": {"text": "@Ada", "id": "7"}}),
            text(" "),
            json!({"type": "emoji", "attrs": {"shortName": ":fire:", "text": "🔥"}}),
            text(" "),
            json!({"type": "date", "attrs": {"timestamp": "1704067200000"}}),
            text(" "),
            json!({"type": "status", "attrs": {"text": "IN KILN", "color": "red"}}),
            text(" "),
            json!({"type": "inlineCard", "attrs": {"url": "https://example.org/x"}}),
            text(" snake_case_name _lone_ 2 * 3 <b> # no"),
        ],
    )]));
    assert_eq!(
        doc(vec![node("paragraph", vec![text("# no heading")])]),
        "\\# no heading"
    );
    assert_eq!(
        doc(vec![node("paragraph", vec![text("1. no list")])]),
        "1\\. no list"
    );
    assert_eq!(to_markdown(&json!("plain")), "plain");
    assert_eq!(to_markdown(&Value::Null), "");
}

#[test]
fn nesting_beyond_reason_keeps_its_words() {
    let mut tree = node("paragraph", vec![text("at the bottom")]);
    // As deep as the parser of JSON lets a tree be.
    for level in 0..50 {
        let kind = if level % 2 == 0 {
            "bulletList"
        } else {
            "listItem"
        };
        tree = node(kind, vec![tree]);
    }
    assert!(doc(vec![tree.clone()]).contains("- at the bottom"));
    for _ in 0..20 {
        tree = node("blockquote", vec![tree]);
    }
    assert!(doc(vec![tree]).contains("at the bottom"));
}

/// Headings, items, code blocks and rows that a reader of Markdown sees.
fn structure(markdown: &str) -> [usize; 4] {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let mut seen = [0; 4];
    for event in Parser::new_ext(markdown, options) {
        match event {
            Event::Start(Tag::Heading { .. }) => seen[0] += 1,
            Event::Start(Tag::Item) => seen[1] += 1,
            Event::Start(Tag::CodeBlock(_)) => seen[2] += 1,
            Event::Start(Tag::TableRow) => seen[3] += 1,
            _ => {}
        }
    }
    seen
}

fn prose() -> impl Strategy<Value = String> {
    "[a-z#>*_`~|.0-9-]{1,6}( [a-zA-Z#>*_`~|.0-9-]{1,6}){0,4}"
        .prop_filter("blocks need a word", |t| t.chars().any(char::is_alphabetic))
}

fn any_block() -> impl Strategy<Value = (Value, [usize; 4])> {
    let para = |t: String| node("paragraph", vec![text(&t)]);
    prop_oneof![
        prose().prop_map(move |t| (para(t), [0; 4])),
        prose().prop_map(|t| {
            let heading = json!({"type": "heading", "attrs": {"level": 3}, "content": [text(&t)]});
            (heading, [1, 0, 0, 0])
        }),
        "[a-z `\n#]{0,20}".prop_map(|t| (node("codeBlock", vec![text(&t)]), [0, 0, 1, 0])),
        prop::collection::vec(prose(), 1..4).prop_map(move |items| {
            let count = items.len();
            let items = items
                .into_iter()
                .map(|t| node("listItem", vec![para(t)]))
                .collect();
            (node("bulletList", items), [0, count, 0, 0])
        }),
        prop::collection::vec(prose(), 1..4).prop_map(move |rows| {
            let count = rows.len();
            let row = |t| node("tableRow", vec![node("tableCell", vec![para(t)])]);
            (
                node("table", rows.into_iter().map(row).collect()),
                [0, 0, 0, count],
            )
        }),
    ]
}

proptest! {
    #[test]
    fn blocks_stay_what_they_are(first in any_block(), second in any_block()) {
        // Two lists in a row are one to Markdown; their items are counted all the same.
        let markdown = doc(vec![first.0, second.0]);
        let sum: Vec<usize> = first.1.iter().zip(second.1).map(|(a, b)| a + b).collect();
        prop_assert_eq!(structure(&markdown).to_vec(), sum, "{}", markdown);
    }

    #[test]
    fn every_word_is_kept_in_order(texts in prop::collection::vec("[a-z]{1,8}", 1..6), kind in "[a-zA-Z]{1,10}") {
        let words: Vec<Value> = texts.iter().map(|t| node(&kind, vec![text(t)])).collect();
        let markdown = doc(words);
        let mut rest = markdown.as_str();
        for word in &texts {
            let at = rest.find(word.as_str());
            prop_assert!(at.is_some(), "{word} is not in {markdown}");
            rest = &rest[at.unwrap() + word.len()..];
        }
    }

    #[test]
    fn no_json_panics(kind in "\\PC{0,8}", inner in "\\PC{0,12}", number: i64) {
        for value in [
            json!({"type": kind, "content": inner}),
            json!({"type": kind, "attrs": {"level": number, "order": number, "timestamp": number}, "content": [inner, null, 3]}),
            json!([{"type": "text", "text": inner, "marks": [kind]}]),
        ] {
            prop_assert_eq!(to_markdown(&value), to_markdown(&value));
        }
    }
}
