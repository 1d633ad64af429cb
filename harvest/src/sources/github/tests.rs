//! What needs no service: verdicts, webhooks, settings, texts of queries.
#![allow(clippy::unwrap_used)]

use super::{
    entry::{Entry, Kind, mark},
    queries::{MoreComments, PullDetails, more_comments},
    verdict::{self, Asked},
};
use crate::{
    HookError, HookRequest, Opening, Settings, SourceSpec, read_hook,
    upstream::{Reply, Verdict, only},
};
use ::http::HeaderMap;
use graphql_client::GraphQLQuery;
use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use std::{collections::BTreeMap, time::Duration};
use whence_contract::Timestamp;

fn now() -> Timestamp {
    "2024-01-02T03:04:05Z".parse().unwrap()
}

fn reply(status: u16, headers: &[(&'static str, &str)], body: &str) -> Reply {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.insert(*name, value.parse().unwrap());
    }
    Reply::new(status, map, body.as_bytes(), now())
}

fn graphql(body: &Value) -> Verdict {
    verdict::graphql(&reply(200, &[], &body.to_string()), Asked::default())
}

fn errors(kind: &str, path: Value, message: &str) -> Value {
    json!({ "data": {}, "errors": [{ "type": kind, "path": path, "message": message }] })
}

fn waits(verdict: Verdict) -> Duration {
    match verdict {
        Verdict::Wait(wait) => wait.at_least.unwrap(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn throttles_are_known_in_all_their_forms() {
    let secondary = "{\"message\":\"You have exceeded a secondary rate limit. Please wait.\"}";
    for status in [403, 429] {
        let stated = reply(status, &[("retry-after", "7")], secondary);
        assert_eq!(
            waits(verdict::graphql(&stated, Asked::default())).as_secs(),
            7
        );
        assert_eq!(waits(verdict::rest(&stated, Asked::default())).as_secs(), 7);
        // GitHub asks for a minute at least, and longer each time.
        for (unstated, seconds) in [(0, 60), (1, 120), (9, 960)] {
            let asked = Asked {
                unstated,
                ..Asked::default()
            };
            let plain = reply(status, &[("x-ratelimit-remaining", "17")], secondary);
            assert_eq!(waits(verdict::graphql(&plain, asked)).as_secs(), seconds);
        }
    }
    let hour = [
        ("date", "Tue, 02 Jan 2024 03:04:05 GMT"),
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", "1704164675"),
    ];
    for body in [
        json!({"errors": [{"type": "RATE_LIMITED", "message": "API rate limit exceeded"}]}),
        json!({"errors": [{"type": "RATE_LIMIT", "code": "graphql_rate_limit", "message": "x"}]}),
        json!({"errors": [{"extensions": {"code": "graphql_rate_limit"}, "message": "x"}]}),
    ] {
        let spent = reply(200, &hour, &body.to_string());
        assert_eq!(
            waits(verdict::graphql(&spent, Asked::default())).as_secs(),
            31
        );
    }
    let spent = reply(403, &hour, "{\"message\":\"API rate limit exceeded\"}");
    assert_eq!(waits(verdict::rest(&spent, Asked::default())).as_secs(), 31);
}

#[test]
fn heavy_pages_are_told_from_bad_tickets() {
    let timeout = json!({"data": null, "errors": [{"message":
        "Something went wrong while executing your query. This may be the result of a timeout"}]});
    let unicorn = reply(502, &[], "<!DOCTYPE html><title>Unicorn!</title>");
    for (verdict, again) in [
        (graphql(&timeout), reply(200, &[], &timeout.to_string())),
        (
            verdict::graphql(&unicorn, Asked::default()),
            unicorn.clone(),
        ),
        (
            graphql(&errors("MAX_NODE_LIMIT_EXCEEDED", json!([]), "too many")),
            reply(504, &[], "{}"),
        ),
        (
            graphql(&errors(
                "RESOURCE_LIMITS_EXCEEDED",
                json!(["nodes"]),
                "too much",
            )),
            reply(504, &[], "{}"),
        ),
    ] {
        assert!(matches!(verdict, Verdict::Heavy(_)), "{verdict:?}");
        let asked = Asked {
            smallest: true,
            ..Asked::default()
        };
        let smallest = verdict::graphql(&again, asked);
        assert!(matches!(smallest, Verdict::Garbled(_)), "{smallest:?}");
    }
    // Beside data, an error about a part of one ticket: never taken for whole.
    let part = errors("FORBIDDEN", json!(["nodes", 3, "comments"]), "no");
    assert!(matches!(graphql(&part), Verdict::Garbled(_)));
    let unknown = errors("SERVICE_UNAVAILABLE", json!(["repository", "issues"]), "x");
    assert!(matches!(graphql(&unknown), Verdict::Garbled(_)));
}

#[test]
fn a_refusal_is_not_an_absence() {
    let saml = errors("FORBIDDEN", json!(["repository"]), "SAML enforcement");
    assert!(matches!(graphql(&saml), Verdict::Denied(_)));
    let both = json!({"data": {}, "errors": [
        {"type": "NOT_FOUND", "path": ["repository"], "message": "a"},
        {"type": "FORBIDDEN", "path": ["repository"], "message": "b"},
    ]});
    assert!(matches!(graphql(&both), Verdict::Denied(_)));
    let nowhere = errors("NOT_FOUND", json!(["repository"]), "no repository");
    assert!(matches!(graphql(&nowhere), Verdict::Missing(_)));
    let asked = Asked {
        may_be_absent: true,
        ..Asked::default()
    };
    for (path, good) in [
        (json!(["repository", "issueOrPullRequest"]), true),
        (json!(["nodes", 2]), true),
        (json!(["repository"]), false),
        (json!(["nodes", 2, "comments"]), false),
    ] {
        let body = errors("NOT_FOUND", path, "x").to_string();
        let verdict = verdict::graphql(&reply(200, &[], &body), asked);
        assert_eq!(verdict == Verdict::Good, good, "{body}: {verdict:?}");
    }
    let query = json!({"errors": [{"path": ["query"], "message": "no such field",
        "extensions": {"code": "undefinedField"}}]});
    assert!(matches!(graphql(&query), Verdict::Refused(_)));
    assert!(matches!(
        graphql(&json!({"data": null})),
        Verdict::Garbled(_)
    ));
}

#[test]
fn a_mark_is_the_same_from_a_listing_and_from_the_ticket() {
    let listed = json!({"id": "I_1", "databaseId": null, "fullDatabaseId": "3000000001",
        "number": 7, "updatedAt": "2024-01-02T03:04:05Z", "comments": {"totalCount": 2},
        "labels": {"nodes": [{"name": "bug"}]}});
    let entry = Entry::read(Kind::Issue, &listed).unwrap();
    assert_eq!(entry.key, "issue-3000000001");
    let mut ticket = listed.clone();
    ticket["title"] = "x".into();
    ticket["labels"]["nodes"][0]["color"] = "red".into();
    assert_eq!(mark(&ticket), entry.mark);
    for (place, value) in [
        ("/comments/totalCount", json!(1)),
        ("/labels/nodes/0/name", json!("defect")),
        ("/updatedAt", json!("2024-01-02T03:04:06Z")),
    ] {
        let mut changed = listed.clone();
        *changed.pointer_mut(place).unwrap() = value;
        assert_ne!(mark(&changed), entry.mark, "{place}");
    }
    let many: Vec<Value> = (0..150)
        .map(|n| json!({ "name": format!("l{n}") }))
        .collect();
    assert_eq!(
        mark(&json!({"labels": {"nodes": many}})),
        mark(&json!({"labels": {"nodes": many[..100]}}))
    );
}

#[test]
fn only_the_operation_and_its_fragments_are_sent() {
    let variables = more_comments::Variables {
        id: "x".into(),
        first: 1,
        after: None,
    };
    let body = MoreComments::build_query(variables);
    let text = only(body.operation_name, body.query);
    assert!(text.starts_with("query MoreComments("), "{text}");
    for fragment in ["CommentPage", "Page", "Login", "Reactions"] {
        assert!(text.contains(&format!("fragment {fragment} on ")), "{text}");
    }
    assert!(!text.contains("MoreLabels") && !text.contains("ThreadPage") && text.len() < 1_500);
    let pull = only("PullDetails", body.query);
    assert!(pull.contains("fragment ReplyPage on") && !pull.contains("IssueTimelinePage"));
    let _named: Option<PullDetails> = None;
}

fn settings(table: Value) -> Settings {
    Settings::new(BTreeMap::from([("github".to_owned(), table)])).with_env(|_| None)
}

fn signed(secret: &str, body: &str, event: &str) -> Vec<(String, String)> {
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(body.as_bytes());
    let signature = hex::encode(mac.finalize().into_bytes());
    vec![
        ("x-hub-signature-256".into(), format!("sha256={signature}")),
        ("x-github-event".into(), event.into()),
    ]
}

#[test]
fn a_webhook_names_its_ticket_if_it_is_signed() {
    let on = settings(json!({ "webhook_secret": "quokka" }));
    let ask = |headers: &[(String, String)], body: &str, settings: &Settings| {
        let request = HookRequest {
            headers,
            body: body.as_bytes(),
        };
        read_hook("github", &request, settings)
    };
    let repository = json!({ "full_name": "acme/kiln" });
    for (event, holder) in [
        ("issues", "issue"),
        ("issue_comment", "issue"),
        ("pull_request", "pull_request"),
        ("pull_request_review", "pull_request"),
        ("pull_request_review_comment", "pull_request"),
    ] {
        let body = json!({ "repository": repository, holder: { "number": 7 } }).to_string();
        let headers = signed("quokka", &body, event);
        assert_eq!(ask(&headers, &body, &on).unwrap(), ["acme/kiln#7"]);
        let forged = signed("wombat", &body, event);
        assert_eq!(ask(&forged, &body, &on), Err(HookError::Forged));
        assert_eq!(
            ask(&headers, &format!("{body} "), &on),
            Err(HookError::Forged)
        );
        assert_eq!(ask(&headers[1..], &body, &on), Err(HookError::Forged));
        let off = settings(json!({}));
        assert!(matches!(
            ask(&headers, &body, &off),
            Err(HookError::Off { .. })
        ));
    }
    let ping = signed("quokka", "{}", "ping");
    assert!(ask(&ping, "{}", &on).unwrap().is_empty());
    let empty = signed("quokka", "{}", "issues");
    assert!(matches!(
        ask(&empty, "{}", &on),
        Err(HookError::Malformed(_))
    ));
}

#[test]
fn a_missing_or_broken_token_is_said_at_once_and_not_shown() {
    let open = |table: Value| {
        let spec: SourceSpec = "github:acme/kiln".parse().unwrap();
        let opening = Opening {
            settings: settings(table),
            ..Opening::new(now)
        };
        spec.open(&opening).err().map(|error| error.to_string())
    };
    let missing = open(json!({})).unwrap();
    for hint in ["GITHUB_TOKEN", "[github]", "docs/sources/github.md"] {
        assert!(missing.contains(hint), "{missing}");
    }
    assert_eq!(open(json!({ "token": "ghp_fine" })), None);
    let broken = open(json!({ "token": "ghp_a\nb" })).unwrap();
    assert!(!broken.contains("ghp_a"), "{broken}");
    assert!(
        open(json!({ "token": "x", "page_size": 101 }))
            .unwrap()
            .contains("100")
    );
    assert!(
        open(json!({ "token": "x", "pages": 1 }))
            .unwrap()
            .contains("[github]")
    );
}
