//! Jira Server and Data Center, as its REST reference describes it: v2, pages by
//! offset, wiki markup, accounts with names, times of queries in the caller's
//! zone and to the minute, a personal token.

use crate::mirror::Mirror;
use axum::{
    Json, Router,
    body::Bytes,
    extract::{Path, Request, State},
    http::StatusCode,
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use whence_contract::{Timestamp, UnitKind};

const ZONE: &str = "Europe/Berlin";
/// `jira.search.views.default.max` of this server.
const MOST_RESULTS: usize = 30;

#[derive(Clone, Debug)]
struct Issue {
    id: u64,
    key: String,
    updated: Timestamp,
    description: String,
    comments: Vec<Value>,
    level: Option<&'static str>,
}

#[derive(Default)]
struct World {
    issues: Vec<Issue>,
    desk: bool,
    searches: usize,
    /// Ids to be edited just before the search of this number is answered.
    edits: Vec<(usize, u64)>,
    log: Vec<String>,
}

type Shared = Arc<Mutex<World>>;

fn stamp(at: Timestamp) -> String {
    let zoned = at.to_zoned(TimeZone::get(ZONE).unwrap());
    zoned.strftime("%Y-%m-%dT%H:%M:%S%.3f%z").to_string()
}

fn ada() -> Value {
    json!({"self": "x", "name": "ada", "key": "JIRAUSER10100", "displayName": "Ada Lovelace",
        "active": true, "timeZone": ZONE, "avatarUrls": {"48x48": "x"}})
}

fn comment(id: u64, body: &str) -> Value {
    json!({"self": "x", "id": id.to_string(), "author": ada(), "updateAuthor": ada(), "body": body,
        "created": stamp("2024-03-01T10:00:00Z".parse().unwrap()),
        "updated": stamp("2024-03-01T10:00:00Z".parse().unwrap())})
}

/// 100 issues; 60 of them changed in one and the same moment.
fn world() -> World {
    let issues = (1..=100_u64).map(|n| {
        let second = if (20..80).contains(&n) { 20 } else { n };
        let at: Timestamp = "2024-03-31T00:30:00Z".parse().unwrap();
        Issue {
            id: 10_000 + n,
            key: format!("SRV-{n}"),
            updated: at + jiff::SignedDuration::from_secs(i64::try_from(second * 90).unwrap()),
            description: format!("text of {n}"),
            comments: (0..n % 4).map(|c| comment(n * 100 + c, "said")).collect(),
            level: (n == 7).then_some("Staff"),
        }
    });
    World {
        issues: issues.collect(),
        ..World::default()
    }
}

fn shown(issue: &Issue, whole: bool) -> Value {
    let comments = json!({"comments": issue.comments, "maxResults": issue.comments.len(),
        "total": issue.comments.len(), "startAt": 0});
    let level = issue.level.map(|name| json!({ "name": name }));
    let mut fields =
        json!({"updated": stamp(issue.updated), "comment": comments, "security": level});
    if whole {
        fields["project"] = json!({"id": "10000", "key": "SRV"});
        fields["summary"] = json!(format!("summary of {}", issue.key));
        fields["description"] = json!(issue.description);
        fields["reporter"] = ada();
        fields["status"] = json!({"name": "Open"});
        fields["customfield_10000"] = json!("something");
    }
    json!({"expand": "", "id": issue.id.to_string(), "self": "x", "key": issue.key, "fields": fields,
        "changelog": {"startAt": 0, "maxResults": 0, "total": 0, "histories": []}})
}

/// The queries that Whence sends, read as the server reads them.
fn matching(world: &World, jql: &str) -> Vec<Issue> {
    let mut found = world.issues.clone();
    if let Some(ids) = jql.strip_prefix("id in (") {
        let ids: Vec<u64> = ids
            .trim_end_matches(')')
            .split(',')
            .map(|id| id.parse().unwrap())
            .collect();
        found.retain(|issue| ids.contains(&issue.id));
        return found;
    }
    let rest = jql.strip_prefix("project = 10000").unwrap();
    if let Some(bound) = rest.strip_prefix(" AND updated >= \"") {
        let text = bound.split('"').next().unwrap();
        let civil = jiff::civil::DateTime::strptime("%Y/%m/%d %H:%M", text).unwrap();
        let bound = civil.to_zoned(TimeZone::get(ZONE).unwrap()).unwrap();
        found.retain(|issue| issue.updated >= bound.timestamp());
    }
    match rest.contains("ORDER BY updated ASC, key ASC") {
        true => found.sort_by_key(|issue| (issue.updated, issue.id)),
        false => found.sort_by_key(|issue| issue.id),
    }
    found
}

async fn search(State(world): State<Shared>, body: Bytes) -> Json<Value> {
    let body: Value = serde_json::from_slice(&body).unwrap();
    let mut world = world.lock().unwrap();
    world.searches += 1;
    let number = world.searches;
    let due: Vec<u64> = world
        .edits
        .iter()
        .filter(|(at, _)| *at == number)
        .map(|(_, id)| *id)
        .collect();
    for issue in world.issues.iter_mut().filter(|i| due.contains(&i.id)) {
        issue.updated = Timestamp::now();
        issue.description = "edited under way".to_owned();
    }
    let found = matching(&world, body["jql"].as_str().unwrap());
    let start = usize::try_from(body["startAt"].as_u64().unwrap()).unwrap();
    let most = usize::try_from(body["maxResults"].as_u64().unwrap()).unwrap();
    let most = most.min(MOST_RESULTS);
    let whole = body["fields"][0] == "*all";
    let issues = found.iter().skip(start).take(most);
    let issues: Vec<Value> = issues.map(|issue| shown(issue, whole)).collect();
    Json(
        json!({"expand": "names,schema", "startAt": start, "maxResults": most,
        "total": found.len(), "issues": issues}),
    )
}

async fn issue(State(world): State<Shared>, Path(name): Path<String>) -> Response {
    let world = world.lock().unwrap();
    let found = world
        .issues
        .iter()
        .find(|issue| issue.key == name || issue.id.to_string() == name);
    match found {
        Some(issue) => Json(shown(issue, true)).into_response(),
        None => {
            let body = json!({"errorMessages": ["Issue Does Not Exist"], "errors": {}});
            (StatusCode::NOT_FOUND, Json(body)).into_response()
        }
    }
}

/// Only here, and only asked so, a comment says that it is internal.
async fn comments(
    State(world): State<Shared>,
    Path(name): Path<String>,
    request: Request,
) -> Json<Value> {
    let world = world.lock().unwrap();
    let found = world.issues.iter().find(|i| i.id.to_string() == name);
    let mut comments = found.unwrap().comments.clone();
    let query = request.uri().query().unwrap_or_default();
    if query.contains("expand=properties") {
        for comment in comments.iter_mut().filter(|c| c["body"] == "internal") {
            comment["properties"] =
                json!([{"key": "sd.public.comment", "value": {"internal": true}}]);
        }
    }
    Json(
        json!({"startAt": 0, "maxResults": 1_048_576, "total": comments.len(), "comments": comments}),
    )
}

async fn project(State(world): State<Shared>) -> Json<Value> {
    let kind = match world.lock().unwrap().desk {
        true => "service_desk",
        false => "software",
    };
    Json(json!({"id": "10000", "key": "SRV", "name": "Server", "projectTypeKey": kind}))
}

async fn gate(State(world): State<Shared>, request: Request, next: Next) -> Response {
    let line = format!("{} {}", request.method(), request.uri());
    world.lock().unwrap().log.push(line);
    let token = request.headers().get("authorization");
    if token.is_none_or(|token| token != "Bearer a-personal-token") {
        return (StatusCode::UNAUTHORIZED, "login").into_response();
    }
    next.run(request).await
}

async fn serve(world: World) -> (String, Shared) {
    let world = Arc::new(Mutex::new(world));
    let permissions = json!({"permissions": {"BROWSE_PROJECTS": {"havePermission": true}}});
    let router = Router::new()
        .route("/jira/rest/api/2/search", post(search))
        .route("/jira/rest/api/2/issue/{name}", get(issue))
        .route("/jira/rest/api/2/issue/{name}/comment", get(comments))
        .route("/jira/rest/api/2/project/SRV", get(project))
        .route("/jira/rest/api/2/myself", get(|| async { Json(ada()) }))
        .route(
            "/jira/rest/api/2/mypermissions",
            get(|| async move { Json(permissions) }),
        )
        .route(
            "/jira/rest/api/2/field",
            get(|| async { Json(json!([{"id": "customfield_10000", "name": "Thing"}])) }),
        )
        .layer(middleware::from_fn_with_state(world.clone(), gate))
        .with_state(world.clone());
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/jira", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await });
    (base, world)
}

fn settings(base: &str, page_size: u32) -> Value {
    json!({"base_url": base, "flavor": "server", "personal_token": "a-personal-token",
        "requests_per_second": 0.0, "page_size": page_size})
}

async fn is_equal(mirror: &Mirror, world: &Shared) {
    let here = mirror.documents().await;
    let world = world.lock().unwrap();
    let there: Vec<&Issue> = world.issues.iter().filter(|i| i.level.is_none()).collect();
    assert_eq!(here.len(), there.len());
    for issue in there {
        let document = &here[&issue.key];
        assert_eq!(document.units[0].body, issue.description, "{}", issue.key);
        let comments = document.units.iter();
        let comments = comments.filter(|unit| unit.kind == UnitKind::Comment);
        assert_eq!(comments.count(), issue.comments.len(), "{}", issue.key);
        assert_eq!(document.author.as_deref(), Some("Ada Lovelace"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn everything_comes_from_a_server_too() {
    for page_size in [1, 7, 100] {
        let (base, world) = serve(world()).await;
        let mirror = Mirror::new("jira:SRV", settings(&base, page_size)).await;
        mirror.pass().await;
        is_equal(&mirror, &world).await;
        let again = mirror.sweep().await;
        assert_eq!((again.counts.published, again.counts.deleted), (0, 0));
        // One edit, one message; a deletion is found by a sweep.
        {
            let mut world = world.lock().unwrap();
            world.issues[40].updated = Timestamp::now();
            world.issues[40].description = "quokkas".to_owned();
        }
        let pass = mirror.pass().await;
        assert_eq!(pass.counts.published, 1, "{page_size}");
        world.lock().unwrap().issues.remove(3);
        assert_eq!(mirror.sweep().await.counts.deleted, 1);
        is_equal(&mirror, &world).await;
        let log = world.lock().unwrap().log.clone();
        eprintln!("server, page size {page_size}: {} requests", log.len());
        assert!(
            log.iter()
                .all(|l| l.starts_with("GET") || l.ends_with("/search"))
        );
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_that_shift_on_a_server_skip_nothing() {
    let mut made = world();
    // Issues that were read already change, and all behind them move up by one.
    made.edits = vec![(3, 10_002), (5, 10_021), (7, 10_003), (9, 10_025)];
    let (base, world) = serve(made).await;
    let mirror = Mirror::new("jira:SRV", settings(&base, 5)).await;
    mirror.pass().await;
    mirror.pass().await;
    is_equal(&mirror, &world).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_service_desk_keeps_its_internal_notes() {
    let mut made = world();
    made.desk = true;
    made.issues.truncate(5);
    made.issues[2].comments.push(comment(999, "internal"));
    let (base, world) = serve(made).await;
    let mirror = Mirror::new("jira:SRV", settings(&base, 50)).await;
    mirror.sweep().await;
    let here = mirror.documents().await;
    let bodies = here.values().flat_map(|d| &d.units).map(|u| u.body.clone());
    assert!(!bodies.collect::<String>().contains("internal"));
    let again = mirror.sweep().await;
    assert_eq!((again.counts.published, again.counts.deleted), (0, 0));
    assert_eq!(world.lock().unwrap().issues.len(), here.len());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wrong_personal_token_is_denied() {
    let (base, _world) = serve(world()).await;
    let mut settings = settings(&base, 50);
    let mirror = Mirror::new("jira:SRV", settings.clone()).await;
    let source = mirror.source();
    let identity = source.tracker().unwrap().identify().await.unwrap();
    assert_eq!(identity.account, "Ada Lovelace (ada)");
    assert_eq!(identity.may_write, Some(false));
    settings["personal_token"] = json!("another-token");
    let mirror = Mirror::new("jira:SRV", settings).await;
    let error = mirror.source().check().await.unwrap_err().to_string();
    assert!(
        error.contains("token") && !error.contains("another-token"),
        "{error}"
    );
}
