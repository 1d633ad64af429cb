//! Issues and merge requests of GitLab.

use crate::raw;
use whence_contract::{Dialect, Document, Provenance, TicketKey};
use whence_normalize::{NormalizeError, normalize};

fn read(dialect: Dialect, ticket: &str, payload: &str) -> Result<Document, NormalizeError> {
    let key = TicketKey {
        provenance: Provenance::Upstream,
        source: "gitlab".to_owned(),
        scope: "gitlab.com".to_owned(),
        ticket: ticket.to_owned(),
    };
    normalize(&raw(dialect, payload), &key)
}

#[test]
fn an_issue() {
    let payload = include_str!("../fixtures/gitlab-issue.json");
    insta::assert_json_snapshot!(read(Dialect::GitlabIssue, "issue-77", payload).unwrap());
}

#[test]
fn a_merge_request() {
    let payload = include_str!("../fixtures/gitlab-merge-request.json");
    let read = read(Dialect::GitlabMergeRequest, "merge-request-88", payload);
    insta::assert_json_snapshot!(read.unwrap());
}

#[test]
fn without_identity_there_is_no_document() {
    let payload = include_str!("../fixtures/gitlab-issue.json");
    for (key, payload) in [
        ("issue-78", payload),
        ("issue-77", "{}"),
        ("issue-77", r#"{"project":"a/b","ticket":{"id":77}}"#),
        ("issue-77", r#"{"ticket":{"id":77,"iid":7}}"#),
    ] {
        assert!(
            read(Dialect::GitlabIssue, key, payload).is_err(),
            "{payload}"
        );
    }
}
