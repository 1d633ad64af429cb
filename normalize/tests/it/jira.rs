//! Issues of Jira, of both kinds.

use crate::raw;
use serde_json::{Value, json};
use whence_contract::{Dialect, Document, Provenance, TicketKey};
use whence_normalize::{NormalizeError, normalize};

fn read(dialect: Dialect, payload: &str) -> Result<Document, NormalizeError> {
    let key = TicketKey {
        provenance: Provenance::Upstream,
        source: "jira".to_owned(),
        scope: "acme.atlassian.net".to_owned(),
        ticket: "10012".to_owned(),
    };
    let mut ticket = raw(dialect, payload);
    ticket.names = vec!["CLAY-12".to_owned(), "KILN-7".to_owned()];
    normalize(&ticket, &key)
}

#[test]
fn an_issue_of_cloud() {
    let payload = include_str!("../fixtures/jira-cloud.json");
    insta::assert_json_snapshot!(read(Dialect::JiraIssue, payload).unwrap());
}

#[test]
fn an_issue_of_server() {
    let payload = include_str!("../fixtures/jira-server.json");
    insta::assert_json_snapshot!(read(Dialect::JiraServerIssue, payload).unwrap());
}

#[test]
fn the_least_that_is_an_issue_of_jira() {
    let payload = r#"{"issue":{"id":"10012","key":"KILN-7"}}"#;
    insta::assert_json_snapshot!(read(Dialect::JiraIssue, payload).unwrap());
}

#[test]
fn without_identity_there_is_no_document() {
    for payload in [
        "{}",
        r#"{"issue":7}"#,
        r#"{"issue":{"id":10012,"key":"KILN-7"}}"#,
        r#"{"issue":{"id":"10013","key":"KILN-7"}}"#,
        r#"{"issue":{"id":"10012","key":" "}}"#,
    ] {
        let error = read(Dialect::JiraIssue, payload).unwrap_err().to_string();
        assert!(error.contains("issue"), "{error}");
    }
}

/// Every field in turn becomes something else: the issue stays.
#[test]
fn no_wrong_field_loses_an_issue() {
    let payload: Value = serde_json::from_str(include_str!("../fixtures/jira-cloud.json")).unwrap();
    let names = payload["issue"]["fields"].as_object().unwrap().keys();
    let mut places: Vec<String> = names.map(|name| format!("/issue/fields/{name}")).collect();
    for whole in [
        "/url",
        "/issue/fields",
        "/comments",
        "/changelog",
        "/names",
        "/comments/0",
    ] {
        places.push(whole.to_owned());
    }
    for place in places {
        for wrong in [
            json!(null),
            json!(7),
            json!("x"),
            json!([[]]),
            json!({"a": [1]}),
        ] {
            let mut payload = payload.clone();
            *payload.pointer_mut(&place).unwrap() = wrong.clone();
            for dialect in [Dialect::JiraIssue, Dialect::JiraServerIssue] {
                let document = read(dialect, &payload.to_string()).unwrap();
                assert_eq!(document.id, "KILN-7", "{place} {wrong}");
            }
        }
    }
}
