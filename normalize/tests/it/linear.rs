//! Issues of Linear.

use crate::raw;
use whence_contract::{Dialect, Document, Provenance, TicketKey};
use whence_normalize::{NormalizeError, normalize};

const ID: &str = "5f0c1c1e-0000-4000-8000-000000000007";

fn read(ticket: &str, payload: &str) -> Result<Document, NormalizeError> {
    let key = TicketKey {
        provenance: Provenance::Upstream,
        source: "linear".to_owned(),
        scope: "api.linear.app".to_owned(),
        ticket: ticket.to_owned(),
    };
    normalize(&raw(Dialect::LinearIssue, payload), &key)
}

#[test]
fn an_issue() {
    let payload = include_str!("../fixtures/linear-issue.json");
    insta::assert_json_snapshot!(read(ID, payload).unwrap());
}

#[test]
fn all_may_be_null_but_the_identity() {
    let payload = format!(
        r#"{{"id":"{ID}","identifier":"ENG-7","title":null,"description":null,"team":null,
        "state":null,"creator":null,"labels":null,"comments":[null,{{}},{{"id":"1","parentId":"gone"}}],
        "relations":[{{"type":null,"relatedIssue":null}}],"attachments":[{{}}],"cycle":{{}}}}"#
    );
    insta::assert_json_snapshot!(read(ID, &payload).unwrap());
}

#[test]
fn without_identity_there_is_no_document() {
    let payload = include_str!("../fixtures/linear-issue.json");
    let nameless = format!(r#"{{"id":"{ID}"}}"#);
    for (key, payload) in [("other", payload), (ID, "{}"), (ID, nameless.as_str())] {
        assert!(read(key, payload).is_err(), "{payload}");
    }
}
