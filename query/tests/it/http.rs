//! The HTTP face.

use crate::conformance::conforms;
use crate::corpus::{service, ticket, write};
use crate::server;
use async_trait::async_trait;
use axum::{
    Router,
    body::{Body, to_bytes},
    http::Request,
};
use serde_json::{Value, json};
use std::sync::Arc;
use tower::ServiceExt;
use whence_query::{
    LookupService, Pool, SearchConfig, SearchError,
    http::{
        AppState, Guard, Intake, Invalidate, Invalidated, LocalSync, MAX_BODY_BYTES, Noted, Stored,
        router,
    },
};

async fn app() -> Router {
    let (client, pool) = server::ready().await;
    write(&client, &[ticket(1, "engine", &["engine runs"])]).await;
    over(&pool)
}

/// All endpoints over these tables.
pub fn over(pool: &Pool) -> Router {
    guarded(pool, Guard::default())
}

fn guarded(pool: &Pool, guard: Guard) -> Router {
    let config = SearchConfig::default();
    router(AppState {
        search: Arc::new(service(pool, config)),
        lookup: Arc::new(LookupService::new(pool.clone(), config.deadline)),
        stats: Arc::new(|| Box::pin(async { Ok(counts()) })),
        intake: Arc::new(Closed),
        guard,
    })
}

/// What the binary counts.
fn counts() -> Value {
    json!({ "tickets": [], "units": [], "chunks": 1, "postings": 0, "tombstones": 0,
        "vectors": [], "sizes": [{ "table": "chunks", "bytes": 1, "index_bytes": 2 }] })
}

/// Takes in nothing: these tests ask.
struct Closed;

#[async_trait]
impl Intake for Closed {
    async fn invalidate(&self, request: Invalidate) -> Result<Invalidated, SearchError> {
        Ok(Invalidated::Fetched {
            ticket: request.ticket_id,
            source: request.source,
            revision: 1,
            searchable: request.wait,
        })
    }

    async fn local_sync(&self, request: LocalSync) -> Result<Stored, SearchError> {
        Ok(Stored {
            status: "stored",
            ticket: request.ticket_id,
            revision: Some(request.findings_md.len() as u64),
            searchable: request.wait,
        })
    }

    async fn hook(
        &self,
        kind: &str,
        headers: &[(String, String)],
        body: &[u8],
    ) -> Result<Noted, SearchError> {
        let signed = headers.iter().any(|(name, _)| name == "x-signature");
        assert_eq!((kind, signed), ("github", true));
        Ok(Noted {
            status: "noted",
            tickets: body.len() as u64,
        })
    }
}

pub async fn call(
    app: &Router,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
    body: impl Into<Body>,
) -> (u16, Value) {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = app
        .clone()
        .oneshot(request.body(body.into()).unwrap())
        .await
        .unwrap();
    let status = response.status().as_u16();
    assert_eq!(
        response.headers()["content-type"],
        "application/json",
        "{path}"
    );
    let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    let answer = serde_json::from_slice(&bytes).unwrap();
    conforms(method, path, status, &answer);
    (status, answer)
}

pub const LOCAL: &[(&str, &str)] = &[("host", "127.0.0.1:7777")];

#[tokio::test]
async fn endpoints_answer() {
    let app = app().await;
    assert_eq!(
        call(&app, "GET", "/healthz", LOCAL, "").await,
        (200, json!({"status": "ok"}))
    );
    let (status, body) = call(&app, "GET", "/readyz", LOCAL, "").await;
    assert_eq!(
        (status, body),
        (200, json!({"status": "ready", "tickets": 1}))
    );
    assert_eq!(
        call(&app, "GET", "/stats", LOCAL, "").await,
        (200, counts())
    );
    let (status, body) = call(&app, "GET", "/version", LOCAL, "").await;
    assert_eq!((status, body["version"].is_string()), (200, true));
    let ask = r#"{"query": "engine", "k": 3, "filters": {"source": "github", "kind": ["issue"]}}"#;
    let (status, body) = call(&app, "POST", "/search", LOCAL, ask).await;
    assert_eq!(
        (status, &body["hits"][0]["id"]),
        (200, &json!("acme/rockets#1"))
    );
    assert_eq!(body["mode"], "hybrid");
}

#[tokio::test]
async fn errors_have_one_shape() {
    let app = app().await;
    let too_long = json!({ "query": "x".repeat(9000) }).to_string();
    let cases = [
        ("GET", "/nothing", String::new()),
        ("GET", "/search", String::new()),
        ("POST", "/search", String::new()),
        ("POST", "/search", "{".to_owned()),
        ("POST", "/search", "[]".to_owned()),
        ("POST", "/search", r#"{"query": ""}"#.to_owned()),
        (
            "POST",
            "/search",
            r#"{"query": "x", "limit": 3}"#.to_owned(),
        ),
        ("POST", "/search", r#"{"query": "x", "k": 201}"#.to_owned()),
        ("POST", "/search", r#"{"query": "x", "k": -1}"#.to_owned()),
        (
            "POST",
            "/search",
            r#"{"query": "x", "mode": "best"}"#.to_owned(),
        ),
        (
            "POST",
            "/search",
            r#"{"query": "x", "filters": {"color": "red"}}"#.to_owned(),
        ),
        (
            "POST",
            "/search",
            r#"{"query": "x", "filters": {"source": []}}"#.to_owned(),
        ),
        (
            "POST",
            "/search",
            r#"{"query": "x", "filters": {"source": 7}}"#.to_owned(),
        ),
        (
            "POST",
            "/search",
            r#"{"query": "x", "filters": {"kind": "epic"}}"#.to_owned(),
        ),
        (
            "POST",
            "/search",
            r#"{"query": "x", "filters": {"created_after": "yesterday"}}"#.to_owned(),
        ),
        (
            "POST",
            "/search",
            r#"{"query": "x", "filters": {"created_after": ["2024-01-01", "2024-01-02"]}}"#
                .to_owned(),
        ),
        (
            "POST",
            "/search",
            r#"{"query": "x", "filters": {"author": "\u0000"}}"#.to_owned(),
        ),
        ("POST", "/search", too_long),
        ("POST", "/search", "x".repeat(MAX_BODY_BYTES + 1)),
    ];
    let mut seen = Vec::new();
    for (method, path, body) in cases {
        let shown: String = body.chars().take(80).collect();
        let (status, answer) = call(&app, method, path, LOCAL, body).await;
        assert!((400..500).contains(&status), "{shown}: {status}");
        let error = answer["error"].as_object().unwrap();
        assert_eq!(
            error.keys().collect::<Vec<_>>(),
            ["code", "hint", "message"]
        );
        seen.push(
            json!({ "ask": format!("{method} {path} {shown}"), "status": status, "error": error }),
        );
    }
    insta::assert_json_snapshot!(seen);
}

#[tokio::test]
async fn foreign_hosts_and_origins_are_refused() {
    let app = app().await;
    let ask = r#"{"query": "engine"}"#;
    for (headers, expected) in [
        (vec![("host", "localhost:7777")], 200),
        (
            vec![
                ("host", "localhost:7777"),
                ("origin", "http://localhost:3000"),
            ],
            200,
        ),
        (vec![("host", "evil.example:7777")], 403),
        (
            vec![
                ("host", "localhost:7777"),
                ("origin", "https://evil.example"),
            ],
            403,
        ),
        (vec![("host", "localhost:7777"), ("origin", "null")], 403),
        (vec![("host", "localhost"), ("host", "evil.example")], 403),
        (vec![], 403),
    ] {
        let (status, _) = call(&app, "POST", "/search", &headers, ask).await;
        assert_eq!(status, expected, "{headers:?}");
    }
}

#[tokio::test]
async fn what_changes_the_index_is_handed_on_as_it_came() {
    let app = app().await;
    let host = [("host", "localhost")];
    let (status, body) = call(
        &app,
        "POST",
        "/invalidate",
        &host,
        json!({"source": "github", "ticket_id": "a/b#7", "wait": true}).to_string(),
    )
    .await;
    assert_eq!(
        (status, body),
        (
            200,
            json!({"status": "fetched", "ticket": "a/b#7", "source": "github", "revision": 1,
                "searchable": true})
        )
    );
    let (status, body) = call(
        &app,
        "POST",
        "/local/sync",
        &host,
        json!({"source": "linear", "ticket_id": "MAZ-1", "findings_md": "## A"}).to_string(),
    )
    .await;
    let stored = json!({"status": "stored", "ticket": "MAZ-1", "revision": 4, "searchable": false});
    assert_eq!((status, body), (200, stored));
    let (status, body) = call(
        &app,
        "POST",
        "/local/sync",
        &host,
        json!({"source": "linear", "ticket_id": "MAZ-1", "path": "/etc/passwd"}).to_string(),
    )
    .await;
    assert_eq!(
        (status, body["error"]["code"].as_str()),
        (400, Some("bad_request"))
    );
    let signed = [("host", "localhost"), ("X-Signature", "abc")];
    let (status, body) = call(&app, "POST", "/hooks/github", &signed, "{not json").await;
    assert_eq!(
        (status, body),
        (200, json!({"status": "noted", "tickets": 9}))
    );
}

#[tokio::test]
async fn metrics_count_by_route_and_hold_no_words_of_callers() {
    let app = app().await;
    let ask = r#"{"query": "secretword engine"}"#;
    call(&app, "POST", "/search", LOCAL, ask).await;
    call(&app, "GET", "/tickets/secretword%231", LOCAL, "").await;
    call(&app, "GET", "/tickets?author=secretword", LOCAL, "").await;
    call(&app, "GET", "/secretword", LOCAL, "").await;
    call(&app, "GET", "/count", &[("host", "evil.example")], "").await;
    let request = Request::builder()
        .uri("/metrics")
        .header("host", "localhost");
    let response = app
        .clone()
        .oneshot(request.body(Body::empty()).unwrap())
        .await;
    let response = response.unwrap();
    let kind = response.headers()["content-type"].to_str().unwrap();
    assert_eq!(kind, "text/plain; version=0.0.4; charset=utf-8");
    let bytes = to_bytes(response.into_body(), usize::MAX).await.unwrap();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    for line in [
        r#"whence_http_requests_total{endpoint="/search",status="200"} 1"#,
        r#"whence_http_requests_total{endpoint="/tickets/{id}",status="404"} 1"#,
        r#"whence_http_requests_total{endpoint="/tickets",status="200"} 1"#,
        r#"whence_http_requests_total{endpoint="/count",status="403"} 1"#,
        r#"whence_http_requests_total{endpoint="other",status="404"} 1"#,
        r#"whence_http_request_seconds_count{endpoint="/search"} 1"#,
        r#"whence_search_part_seconds_count{part="lexical"} 1"#,
        r#"whence_pool_connections{state="most"} 4"#,
    ] {
        assert!(text.lines().any(|found| found == line), "{line}\n{text}");
    }
    assert!(!text.contains("secretword"), "{text}");
}

#[tokio::test]
async fn a_token_is_asked_for_everywhere_but_for_liveness() {
    let (_client, pool) = server::ready().await;
    let guard = Guard::new(["search.example".to_owned()]).with_token(Some("right token"));
    assert!(!format!("{guard:?}").contains("right"));
    let app = guarded(&pool, guard);
    let host = ("host", "search.example");
    for (path, given, expected) in [
        ("/healthz", None, 200),
        ("/readyz", None, 401),
        ("/metrics", None, 401),
        ("/openapi.json", None, 401),
        ("/nothing", None, 401),
        ("/count", None, 401),
        ("/count", Some("Bearer wrong"), 401),
        ("/count", Some("Bearer right toke"), 401),
        ("/count", Some("Bearer right token2"), 401),
        ("/count", Some("Basic right token"), 401),
        ("/count", Some("right token"), 401),
        ("/count", Some("Bearer"), 401),
        ("/count", Some("Bearer right token"), 200),
        ("/count", Some("bearer right token"), 200),
        ("/nothing", Some("Bearer right token"), 404),
    ] {
        let mut headers = vec![host];
        headers.extend(given.map(|given| ("authorization", given)));
        let (status, body) = call(&app, "GET", path, &headers, "").await;
        assert_eq!(status, expected, "{path} {given:?}: {body}");
    }
    let twice = [
        host,
        ("authorization", "Bearer x"),
        ("authorization", "Bearer right token"),
    ];
    assert_eq!(call(&app, "GET", "/count", &twice, "").await.0, 401);
    let foreign = [
        ("host", "evil.example"),
        ("authorization", "Bearer right token"),
    ];
    assert_eq!(call(&app, "GET", "/count", &foreign, "").await.0, 403);
}
