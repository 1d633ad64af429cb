//! What has no document, and what the error says; and the stage around it.

use crate::{key, raw, read};
use whence_contract::{Dialect, Recipe, Revision, StageVersion};
use whence_log::{ErrorKind, Input, Previous, Stage};
use whence_normalize::{NormalizeStage, VERSION};

const ALL: [Dialect; 6] = [
    Dialect::JiraIssue,
    Dialect::JiraServerIssue,
    Dialect::GithubArchiveIssue,
    Dialect::GithubArchivePull,
    Dialect::MarkdownNote,
    Dialect::WhenceDocument,
];

#[test]
fn errors_name_place_ticket_and_cause() {
    let deep = format!(
        "{{\"number\":1,\"x\":{}{}}}",
        "[".repeat(200),
        "]".repeat(200)
    );
    let document = |more: &str| {
        format!(r#"{{"source":"jira","project":"K","id":"K-1","kind":"issue","title":"t"{more}}}"#)
    };
    let mut said = Vec::new();
    for (dialect, payload) in [
        (Dialect::GithubArchiveIssue, "null".to_owned()),
        (Dialect::GithubArchiveIssue, "{}".to_owned()),
        (Dialect::GithubArchivePull, r#"{"number":"7"}"#.to_owned()),
        (Dialect::GithubArchivePull, r#"{"number":1e400}"#.to_owned()),
        (Dialect::GithubArchivePull, r#"{"number":-1}"#.to_owned()),
        (Dialect::GithubArchivePull, r#"{"number":8}"#.to_owned()),
        (Dialect::GithubArchiveIssue, deep),
        (Dialect::MarkdownNote, r#"{"text":"x"}"#.to_owned()),
        (Dialect::MarkdownNote, r#"{"path":"./"}"#.to_owned()),
        (Dialect::WhenceDocument, r#"{"source":"jira"}"#.to_owned()),
        (Dialect::WhenceDocument, document(r#","source":" \u0000""#)),
        (Dialect::WhenceDocument, document(r#","kind":"epic""#)),
        (Dialect::WhenceDocument, document(r#","created_at":"soon""#)),
        (
            Dialect::WhenceDocument,
            document(r#","url":"javascript:x""#),
        ),
        (
            Dialect::WhenceDocument,
            document(r#","units":[{"kind":"comment"},{"kind":"comment","body":7}]"#),
        ),
        (
            Dialect::WhenceDocument,
            document(r#","units":[{"body":"x"}]"#),
        ),
    ] {
        said.push(read(dialect, &payload).unwrap_err().to_string());
    }
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn no_dialect_takes_what_is_no_object() {
    for dialect in ALL {
        for payload in ["null", "7", "true", "\"x\"", "[]", "{}"] {
            assert!(read(dialect, payload).is_err(), "{dialect:?} {payload}");
        }
    }
}

#[tokio::test]
async fn the_stage_sets_its_recipe_and_refuses_for_good() {
    let stage = NormalizeStage;
    let other = StageVersion {
        code: 9,
        settings: 3,
    };
    let recipe = stage.recipe(Recipe {
        normalize: other,
        chunk: other,
        embed: other,
    });
    assert_eq!(recipe.normalize.code, VERSION);
    assert_eq!((recipe.chunk, recipe.embed), (other, other));
    assert_eq!(stage.name(), "normalize");

    let dialect = Dialect::GithubArchiveIssue;
    let input = |payload: &str| Input {
        key: key(dialect, "acme/kiln", "7"),
        revision: Revision(1),
        recipe,
        trace: None,
        body: raw(dialect, payload),
    };
    let none = Previous::known(None);
    let document = stage.handle(input(r#"{"number":7}"#), &none).await.unwrap();
    assert_eq!(document.id, "acme/kiln#7");
    let error = stage.handle(input("{}"), &none).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Malformed);
    assert!(error.to_string().contains("tickets/archive.json"));
}
