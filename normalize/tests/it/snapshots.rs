//! What each dialect becomes, whole.

use crate::read;
use whence_contract::Dialect;

#[test]
fn a_pull_request() {
    let payload = include_str!("../fixtures/pull.json");
    insta::assert_json_snapshot!(read(Dialect::GithubArchivePull, payload).unwrap());
}

#[test]
fn an_issue_with_wrong_fields() {
    let payload = include_str!("../fixtures/issue.json");
    insta::assert_json_snapshot!(read(Dialect::GithubArchiveIssue, payload).unwrap());
}

#[test]
fn the_least_that_is_an_issue() {
    insta::assert_json_snapshot!(read(Dialect::GithubArchiveIssue, r#"{"number":7}"#).unwrap());
}

#[test]
fn a_note() {
    let text = include_str!("../fixtures/note.md").replace('\n', "\r\n");
    let payload = serde_json::json!({"path": "guide/firing.md", "text": format!("\u{feff}{text}")});
    insta::assert_json_snapshot!(read(Dialect::MarkdownNote, &payload.to_string()).unwrap());
}

#[test]
fn a_note_whose_front_matter_is_broken() {
    let payload = serde_json::json!({
        "path": "guide/firing.md",
        "text": "---\ntitle: Never closed\n\n```\n# no heading\n```\nHot `kilns`\n===\n",
    });
    insta::assert_json_snapshot!(read(Dialect::MarkdownNote, &payload.to_string()).unwrap());
}

#[test]
fn titles_of_notes() {
    let title = |path: &str, text: &str| {
        let payload = serde_json::json!({"path": path, "text": text}).to_string();
        read(Dialect::MarkdownNote, &payload).unwrap().title
    };
    assert_eq!(title("a/b.md", "---\ntitle: T\n---\n# H"), "T");
    assert_eq!(title("a/b.md", "---\ntitle:\n---\n# H *em* `c`"), "H em c");
    assert_eq!(title("a/b.md", "## two\n\n#\n\n# one"), "one");
    assert_eq!(title("a/b.c.md", "~~~\n# code\n~~~"), "b.c");
    assert_eq!(title("a/.md", ""), ".md");
}

#[test]
fn our_own_shape() {
    let payload = include_str!("../fixtures/document.json");
    insta::assert_json_snapshot!(read(Dialect::WhenceDocument, payload).unwrap());
}
