//! GitHub's GraphQL shape, whole and damaged.

use whence_contract::{Dialect, Document, Provenance, RawTicket, TicketKey};
use whence_normalize::{NormalizeError, normalize};

fn read(dialect: Dialect, ticket: &str, payload: &str) -> Result<Document, NormalizeError> {
    let payload = serde_json::value::RawValue::from_string(payload.to_owned()).unwrap();
    let key = TicketKey {
        provenance: Provenance::Upstream,
        source: "github".into(),
        scope: "github.com".into(),
        ticket: ticket.into(),
    };
    let now = "2024-01-06T00:00:00Z".parse().unwrap();
    let mut raw = RawTicket::new(dialect, "github:acme/kiln", now, payload);
    raw.names = vec!["acme/oven#3".into(), "acme/kiln#12".into()];
    normalize(&raw, &key)
}

#[test]
fn a_pull_request() {
    let payload = include_str!("../fixtures/github/pull.json");
    let read = read(Dialect::GithubPull, "pull-3000000012", payload);
    insta::assert_json_snapshot!(read.unwrap());
}

#[test]
fn an_issue_with_wrong_fields() {
    let payload = include_str!("../fixtures/github/issue.json");
    insta::assert_json_snapshot!(read(Dialect::GithubIssue, "issue-7007", payload).unwrap());
}

#[test]
fn what_does_not_say_which_ticket_it_is_is_refused() {
    let issue = include_str!("../fixtures/github/issue.json");
    for (dialect, ticket, payload) in [
        (Dialect::GithubIssue, "issue-7008", issue),
        (Dialect::GithubPull, "issue-7007", issue),
        (
            Dialect::GithubIssue,
            "issue-7",
            r#"{"databaseId": 7, "number": 7}"#,
        ),
        (Dialect::GithubIssue, "issue-7", r#"{"number": 7}"#),
    ] {
        assert!(read(dialect, ticket, payload).is_err(), "{payload}");
    }
}
