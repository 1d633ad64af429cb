//! The endpoints that need no search.

use crate::corpus::{ticket, write};
use crate::http::{LOCAL, call, over};
use crate::{rockets, server};
use axum::Router;
use serde_json::Value;
use whence_contract::Timestamp;

async fn get(app: &Router, path: &str) -> (u16, Value) {
    call(app, "GET", path, LOCAL, "").await
}

/// A good answer, without the time of writing.
async fn shown(app: &Router, path: &str) -> Value {
    let (status, mut body) = get(app, path).await;
    assert_eq!(status, 200, "{path}: {body}");
    if let Some(at) = body.get_mut("indexed_at") {
        assert!(at.as_str().unwrap().parse::<Timestamp>().is_ok());
        *at = "…".into();
    }
    body
}

fn ids(list: &Value) -> Vec<String> {
    let list = list.as_array().unwrap().iter();
    list.map(|ticket| ticket["id"].as_str().unwrap().to_owned())
        .collect()
}

const TICKETS: &str = "/tickets/acme%2Frockets%231";

#[tokio::test]
async fn answers_look_like_this() {
    let app = over(&rockets::ready().await);
    for (name, path) in [
        ("ticket", TICKETS),
        ("list", "/tickets?limit=2&label=bug"),
        ("count", "/count?by=state"),
        ("file_history", "/files/history?path=src/valve.rs"),
        ("hotspot", "/hotspots?file=src/valve.rs&limit=1"),
        ("hotspots", "/hotspots/top"),
        ("person", "/people/Ada"),
        ("inbox", "/inbox?user=@bo"),
    ] {
        insta::assert_json_snapshot!(name, shown(&app, path).await);
    }
    let mut experts = shown(&app, "/experts?q=cold%20valve").await;
    for person in experts["people"].as_array_mut().unwrap() {
        let score = person["score"].as_f64().unwrap();
        person["score"] = ((score * 100.0).round() / 100.0).into();
    }
    insta::assert_json_snapshot!("experts", experts);
}

#[tokio::test]
async fn a_ticket_is_found_by_all_its_names() {
    let app = over(&rockets::ready().await);
    for name in [
        "acme/boats%237",
        "ACME%2FBoats%237",
        "acme/rafts%2370",
        "https%3A%2F%2Fh%2Facme%2Fboats%237",
        "https://h/acme/boats%237%23c1",
    ] {
        assert_eq!(
            shown(&app, &format!("/tickets/{name}")).await["id"],
            "acme/boats#7",
            "{name}"
        );
    }
    for name in [
        "acme/boats%238",
        "boats",
        "acme/rockets%235",
        "%27%22%5C%25",
    ] {
        let (status, body) = get(&app, &format!("/tickets/{name}")).await;
        assert_eq!(
            (status, &body["error"]["code"]),
            (404, &"not_found".into()),
            "{name}"
        );
        assert!(body["error"]["hint"].as_str().unwrap().contains("search"));
    }
}

#[tokio::test]
async fn what_is_not_public_is_told_by_nothing() {
    let app = over(&rockets::ready().await);
    let everywhere = [
        TICKETS,
        "/tickets",
        "/tickets?path=src/valve.rs",
        "/tickets/acme/boats%237",
        "/count?by=label",
        "/count?by=author",
        "/count?by=project",
        "/files/history?path=src/valve.rs",
        "/hotspots?file=src/valve.rs",
        "/hotspots/top",
        "/people/ada",
        "/people/bo",
        "/experts?q=sabotage%20payload%20valve",
        "/experts?path=src/valve.rs",
        "/inbox?user=bo",
    ];
    for path in everywhere {
        let text = shown(&app, path).await.to_string().to_lowercase();
        for secret in rockets::SECRETS {
            assert!(!text.contains(secret), "{path} tells of {secret}: {text}");
        }
    }
    let nothing = [
        ("/tickets/acme/rockets%235", 404),
        ("/people/mallory", 404),
        ("/people/carol", 404),
    ];
    for (path, status) in nothing {
        assert_eq!(get(&app, path).await.0, status, "{path}");
    }
    // Counts are of what may be seen.
    for (path, public, all) in [
        ("/count", 7, 8),
        ("/count?author=mallory", 0, 1),
        ("/count?kind=comment&author=carol", 0, 1),
        ("/count?label=hush", 0, 1),
        ("/count?path=src/secret.rs", 0, 2),
    ] {
        assert_eq!(shown(&app, path).await["total"], public, "{path}");
        let join = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{join}visibility=confidential");
        assert_eq!(shown(&app, &path).await["total"], all, "{path}");
    }
    let hotspot = shown(&app, "/hotspots?file=src/secret.rs").await;
    assert_eq!(hotspot["tickets"], 0);
    let seen = shown(&app, "/hotspots?file=src/secret.rs&visibility=confidential").await;
    assert_eq!(seen["named"], 2);
}

#[tokio::test]
async fn who_may_see_more_sees_more() {
    let app = over(&rockets::ready().await);
    let internal = shown(&app, &format!("{TICKETS}?visibility=internal")).await;
    let units = internal["units"].as_array().unwrap();
    assert_eq!(
        (units.len(), &units[2]["visibility"]),
        (3, &"internal".into())
    );
    // The text names #5, which itself stays hidden.
    assert_eq!(internal["mentions"]["to"][0]["id"], "acme/rockets#5");
    assert_eq!(internal["mentions"]["to"][0]["title"], Value::Null);
    let all = shown(&app, &format!("{TICKETS}?visibility=confidential")).await;
    assert_eq!(all["mentions"]["to"][0]["title"], "Who did it");
    assert_eq!(
        ids(&all["links"]["from"]),
        ["acme/rockets#5", "acme/rockets#2"]
    );
    let inbox = shown(&app, "/inbox?user=BO&visibility=confidential").await;
    assert_eq!(ids(&inbox["entries"]), ["acme/rockets#5", "acme/rockets#1"]);
    assert_eq!(
        shown(&app, "/people/mallory?visibility=confidential").await["name"],
        "mallory"
    );
}

#[tokio::test]
async fn pages_hold_every_ticket_once_whatever_the_order() {
    let (client, pool) = server::ready().await;
    let mut tickets: Vec<_> = (0..57).map(|n| ticket(n, "engine", &["engine"])).collect();
    for (n, ticket) in tickets.iter_mut().enumerate() {
        // Many equal times.
        ticket.created_at = ["2024-01-01T00:00:00Z", "2024-01-02T00:00:00.000001Z"][n % 2];
    }
    write(&client, &tickets).await;
    let without_times = "UPDATE tickets SET created_at = NULL WHERE ticket_id % 5 = 0";
    client.batch_execute(without_times).await.unwrap();
    let app = over(&pool);
    let mut orders = Vec::new();
    for order in ["desc", "asc"] {
        let mut seen: Vec<String> = Vec::new();
        let mut next = String::new();
        loop {
            let path = format!("/tickets?sort=created&order={order}&limit=7&state=open{next}");
            let page = shown(&app, &path).await;
            seen.extend(ids(&page["tickets"]));
            match page["next"].as_str() {
                Some(cursor) => next = format!("&cursor={cursor}"),
                None => break,
            }
        }
        let mut once = seen.clone();
        once.sort();
        once.dedup();
        assert_eq!((seen.len(), once.len()), (57, 57), "{order}");
        orders.push(seen);
    }
    orders[1].reverse();
    assert_eq!(orders[0], orders[1]);
    // A cursor is good for its own list only.
    let first = shown(&app, "/tickets?limit=7").await;
    let cursor = first["next"].as_str().unwrap();
    for path in ["/tickets?limit=7&order=asc", "/tickets?state=open"] {
        let (status, _) = get(&app, &format!("{path}&cursor={cursor}")).await;
        assert_eq!(status, 400, "{path}");
    }
}

#[tokio::test]
async fn a_swap_of_two_files_ends() {
    let (client, pool) = server::ready().await;
    let mut swap = ticket(1, "Swap", &["swaps"]);
    swap.kind = "merge-request";
    swap.files = vec!["a.rs", "b.rs"];
    write(&client, &[swap]).await;
    let sql =
        "UPDATE ticket_files SET old_path = CASE new_path WHEN 'a.rs' THEN 'b.rs' ELSE 'a.rs' END";
    client.batch_execute(sql).await.unwrap();
    let app = over(&pool);
    let history = shown(&app, "/files/history?path=a.rs").await;
    let names = history["names"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| &name["path"]);
    assert_eq!(names.collect::<Vec<_>>(), ["a.rs", "b.rs", "b.rs"]);
    assert_eq!(history["entries"].as_array().unwrap().len(), 1);
}

#[tokio::test]
async fn what_is_wrong_is_the_callers_fault() {
    let app = over(&rockets::ready().await);
    let wrong = [
        "/tickets?color=red",
        "/tickets?limit=201",
        "/tickets?cursor=abc",
        "/tickets?created_after=-9999-01-01",
        "/tickets?created_after=-009998-02-01",
        "/tickets?created_after=9999-12-31T23:59:59Z&created_after=2024-01-01",
        "/tickets?author=a%00b",
        "/tickets?author=%E2%80%AEa",
        "/tickets?label=",
        "/tickets/a%00b",
        "/tickets/%FF",
        "/tickets/%20",
        "/tickets/acme/rockets%231?limit=3",
        "/count?by=color",
        "/files/history",
        "/files/history?path=",
        "/hotspots",
        "/hotspots/top?file=x",
        "/people/%00",
        "/experts",
        "/experts?q=a&path=b",
        "/inbox",
        "/inbox?user=a&user=b",
    ];
    let mut said = Vec::new();
    for path in wrong {
        let (status, body) = get(&app, path).await;
        assert_eq!(status, 400, "{path}: {body}");
        said.push(serde_json::json!({ "ask": path, "error": body["error"] }));
    }
    insta::assert_json_snapshot!(said);
    // What nothing is known of is no error.
    for path in [
        "/files/history?path=no.rs",
        "/hotspots?file=no.rs",
        "/inbox?user=nobody",
        "/inbox?user=%5B%28%2A",
    ] {
        shown(&app, path).await;
    }
}

#[tokio::test]
async fn a_caller_that_goes_away_frees_its_work() {
    let (client, pool) = server::ready().await;
    write(&client, &[ticket(1, "engine", &["engine"])]).await;
    let app = over(&pool);
    // One caller after another, each stuck behind a lock.
    let lock = "BEGIN; LOCK TABLE tickets IN ACCESS EXCLUSIVE MODE";
    client.batch_execute(lock).await.unwrap();
    let stuck = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
                 AND application_name = 'whence query' AND wait_event_type = 'Lock'";
    let count = async || -> i64 {
        // A transaction sees the first state it looked at, otherwise.
        let fresh = "SELECT pg_stat_clear_snapshot()";
        client.batch_execute(fresh).await.unwrap();
        client.query_one(stuck, &[]).await.unwrap().get(0)
    };
    for asked in ["/count", "/tickets", "/people/ada", "/inbox?user=ada"] {
        let (app, path) = (app.clone(), asked.to_owned());
        let caller = tokio::spawn(async move { get(&app, &path).await });
        while count().await == 0 {
            tokio::task::yield_now().await;
        }
        caller.abort();
        assert!(caller.await.unwrap_err().is_cancelled());
        // Nobody is given the connection, which is still at work for a moment.
        assert_eq!(pool.status().size, 0, "{asked}");
        while count().await > 0 {
            tokio::task::yield_now().await;
        }
    }
    client.batch_execute("COMMIT").await.unwrap();
    assert_eq!(shown(&app, "/count").await["total"], 1);
}
