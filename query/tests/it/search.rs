//! Whole searches.

use crate::corpus::{service, text, ticket, vector, write};
use crate::server;
use std::sync::Arc;
use whence_contract::ModelId;
use whence_query::{
    Filters, Fusion, GroupBy, MAX_QUERY_BYTES, Mode, SearchConfig, SearchRequest, SearchService,
};

fn ids(hits: &[whence_query::Hit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.id.as_str()).collect()
}

#[tokio::test]
async fn an_id_or_an_address_finds_its_ticket_first_without_a_model() {
    let (client, pool) = server::ready().await;
    let mut note = ticket(1, "guide", &["unrelated words"]);
    note.id = "docs/my Guide.md".to_owned();
    let mut moved = ticket(2, "pump", &["leak", "more leak"]);
    moved.aliases = vec!["OLD-2".to_owned()];
    write(
        &client,
        &[
            note,
            moved,
            ticket(3, "engine engine", &["engine", "lift-off"]),
        ],
    )
    .await;
    let service = SearchService::new(pool, None, SearchConfig::default());
    for (query, expected) in [
        ("acme/rockets#2", "acme/rockets#2"),
        ("ACME/Rockets#2", "acme/rockets#2"),
        ("engine, as in (OLD-2)?", "acme/rockets#2"),
        ("docs/my guide.md", "docs/my Guide.md"),
        (
            "engine of https://h/acme/rockets#2#c1 stops",
            "acme/rockets#2",
        ),
        ("engine acme/rockets#3 and acme/rockets#2", "acme/rockets#3"),
    ] {
        for group_by in [GroupBy::Ticket, GroupBy::Chunk] {
            let mut request = SearchRequest::new(query);
            (request.mode, request.group_by) = (Mode::Lexical, group_by);
            let response = service.search(&request).await.unwrap();
            let first = &response.hits[0];
            assert_eq!(
                (first.id.as_str(), first.exact),
                (expected, true),
                "{query} {group_by:?}"
            );
            assert!(first.score >= 1.0 && !first.chunks.is_empty());
        }
    }
    let mut request = SearchRequest::new("what of #2");
    assert!(
        service
            .search(&request)
            .await
            .unwrap()
            .hits
            .iter()
            .all(|hit| !hit.exact)
    );
    request.filters = Filters::default().with("project", "acme/rockets").unwrap();
    assert!(service.search(&request).await.unwrap().hits[0].exact);
    // What the filters refuse is not found by its name either.
    request.filters = Filters::default().with("state", "closed").unwrap();
    request.query = "acme/rockets#2".to_owned();
    assert!(service.search(&request).await.unwrap().hits.is_empty());
}

#[tokio::test]
async fn a_name_finds_what_holds_it_first_without_a_model() {
    let (client, pool) = server::ready().await;
    let mut changed = ticket(4, "tidy", &["unrelated"]);
    changed.files = vec!["src/runq.rs"];
    let mut hidden = ticket(5, "other", &["words"]);
    hidden.texts.push(text("E0425 hidden"));
    hidden.texts[1].visibility = 1;
    let mut tickets = vec![
        ticket(1, "engine", &["it calls runqGet twice"]),
        ticket(2, "build", &["fails with E0425 again"]),
        ticket(3, "index", &["set node_index first"]),
        changed,
        hidden,
    ];
    tickets.extend((10..40).map(|n| ticket(n, "runq get error node index src main", &["E0426"])));
    write(&client, &tickets).await;
    for service in [
        SearchService::new(pool.clone(), None, SearchConfig::default()),
        service(&pool, SearchConfig::default()),
    ] {
        for (query, expected) in [
            ("runqGet", 1),
            ("why runqGet?", 1),
            ("e0425", 2),
            ("`node_index`", 3),
            ("src/runq.rs", 4),
        ] {
            for group_by in [GroupBy::Ticket, GroupBy::Chunk] {
                let mut request = SearchRequest::new(query);
                request.group_by = group_by;
                let hits = service.search(&request).await.unwrap().hits;
                assert_eq!(hits[0].id, format!("acme/rockets#{expected}"), "{query}");
                assert!(hits[0].exact && hits.iter().filter(|hit| hit.exact).count() == 1);
            }
        }
        // What everybody says tells nobody apart.
        let hits = service
            .search(&SearchRequest::new("E0426"))
            .await
            .unwrap()
            .hits;
        assert!(!hits.is_empty() && hits.iter().all(|hit| !hit.exact));
    }
}

#[tokio::test]
async fn hidden_text_is_neither_found_nor_shown() {
    let (client, pool) = server::ready().await;
    let mut half = ticket(1, "pump", &["public words"]);
    half.texts.push(text("zeppelin plan"));
    half.texts[1].visibility = 1;
    write(&client, &[half, ticket(2, "other", &["other words"])]).await;
    let service = service(&pool, SearchConfig::default());
    let mut request = SearchRequest::new("zeppelin plan");
    (request.mode, request.explain) = (Mode::Lexical, true);
    assert!(service.search(&request).await.unwrap().hits.is_empty());
    request.mode = Mode::Hybrid;
    let hits = service.search(&request).await.unwrap().hits;
    assert!(
        hits.iter()
            .flat_map(|hit| &hit.chunks)
            .all(|chunk| !chunk.snippet.contains("zeppelin"))
    );
    assert!(hits.iter().all(|hit| hit.legs.unwrap().lexical.is_none()));
    request.filters = Filters::default().with("visibility", "internal").unwrap();
    let hits = service.search(&request).await.unwrap().hits;
    assert_eq!(hits[0].chunks[0].snippet, "zeppelin plan");
    let dense = hits[0].legs.unwrap().dense.unwrap();
    assert!((dense.score - 1.0).abs() < 1e-6);
}

#[tokio::test]
async fn what_is_missing_is_left_out_and_said() {
    let (client, pool) = server::ready().await;
    write(&client, &[ticket(1, "engine", &["engine runs"])]).await;
    let request = SearchRequest::new("engine runs");
    let config = SearchConfig::default();

    let whole = service(&pool, config).search(&request).await.unwrap();
    assert_eq!(
        (whole.mode, whole.degraded.len(), whole.hits.len()),
        (Mode::Hybrid, 0, 1)
    );

    let without = SearchService::new(pool.clone(), None, config)
        .search(&request)
        .await
        .unwrap();
    assert_eq!(
        (without.mode, without.degraded[0].code),
        (Mode::Lexical, "no_encoder")
    );
    assert_eq!(without.hits.len(), 1);

    let stranger = crate::corpus::Echo(ModelId("other".to_owned()));
    let stranger = SearchService::new(pool.clone(), Some(Arc::new(stranger)), config);
    let mut dense = request.clone();
    dense.mode = Mode::Dense;
    let none = stranger.search(&dense).await.unwrap();
    assert_eq!(
        (none.mode, none.degraded[0].code),
        (Mode::Lexical, "no_vectors")
    );

    let mut broken = request;
    broken.query = "engine of the broken model".to_owned();
    let failed = service(&pool, config).search(&broken).await.unwrap();
    assert_eq!(
        (failed.mode, failed.degraded[0].code),
        (Mode::Lexical, "encoder_failed")
    );
    assert_eq!(failed.hits.len(), 1);
}

#[tokio::test]
async fn hits_say_all_there_is_to_say() {
    let (client, pool) = server::ready().await;
    let mut full = ticket(
        1,
        "Engine stops",
        &["The engine stops at lift-off.", "A valve leaks."],
    );
    full.labels = vec!["urgent", "bug"];
    write(&client, &[full, ticket(2, "Other", &["nothing here"])]).await;
    let service = service(&pool, SearchConfig::default());
    let mut request = SearchRequest::new("valve leaks");
    request.explain = true;
    let response = service.search(&request).await.unwrap();
    let mut value = serde_json::to_value(&response).unwrap();
    for hit in value["hits"].as_array_mut().unwrap() {
        hit["indexed_at"] = "…".into();
        // The last digits of a distance are the processor's.
        for score in [
            "/score",
            "/legs/dense/score",
            "/legs/lexical/score",
            "/legs/lexical_chunk/score",
        ] {
            if let Some(score) = hit.pointer_mut(score) {
                *score = score.as_f64().map(|x| (x * 1000.0).round() / 1000.0).into();
            }
        }
    }
    value["took_ms"] = "…".into();
    insta::assert_json_snapshot!(value);
}

#[tokio::test]
async fn a_long_ticket_does_not_crowd_out_the_others() {
    let (client, pool) = server::ready().await;
    let comments: Vec<String> = (0..500).map(|n| format!("engine comment {n}")).collect();
    let comments: Vec<&str> = comments.iter().map(String::as_str).collect();
    let mut tickets = vec![ticket(1, "engine", &comments)];
    tickets.extend((2..30).map(|n| ticket(n, "engine", &[&format!("engine text {n}")])));
    write(&client, &tickets).await;
    let service = service(
        &pool,
        SearchConfig {
            recall: 10,
            ..SearchConfig::default()
        },
    );
    for mode in [Mode::Dense, Mode::Lexical, Mode::Hybrid] {
        let mut request = SearchRequest::new("engine comment 7");
        (request.mode, request.k) = (mode, 25);
        let hits = service.search(&request).await.unwrap().hits;
        assert_eq!(hits.len(), 25, "{mode:?}");
        let mut distinct = ids(&hits);
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 25, "{mode:?}");
        if mode != Mode::Lexical {
            assert_eq!(hits[0].chunks[0].snippet, "engine comment 7", "{mode:?}");
        }
        assert!(hits.windows(2).all(|pair| pair[0].score >= pair[1].score));
    }
}

#[tokio::test]
async fn whatever_is_asked_is_answered() {
    let (client, pool) = server::ready().await;
    let tickets: Vec<_> = (0..20)
        .map(|n| ticket(n, "x", &[&format!("text {n}")]))
        .collect();
    write(&client, &tickets).await;
    let service = service(&pool, SearchConfig::default());
    let long = "ab ".repeat(MAX_QUERY_BYTES / 3);
    let hostile = [
        "'; DROP TABLE tickets; --",
        "100% of _ \\ $1 {}",
        "🚀🚀",
        "\u{202e}\u{0}text\u{7f}",
        "((((",
        "\"",
        ":*&|!",
        "日本語のテキスト",
        "#",
        "a/b#",
        "://",
        &long,
    ];
    for query in hostile {
        for fusion in [None, Some(Fusion::Rrf { k: 60.0 })] {
            for group_by in [GroupBy::Ticket, GroupBy::Chunk] {
                let mut request = SearchRequest::new(query);
                (request.fusion, request.group_by) = (fusion, group_by);
                let response = service
                    .search(&request)
                    .await
                    .unwrap_or_else(|error| panic!("{query:?}: {error} {:?}", error.source));
                assert_eq!(response.hits.len(), 10, "{query:?}");
            }
        }
    }
    for (name, value) in [
        ("author", "'%"),
        ("label", "\"}{"),
        ("path", "../../etc"),
        ("ticket", "🚀"),
    ] {
        let mut request = SearchRequest::new("text");
        request.filters = Filters::default().with(name, value).unwrap();
        service.search(&request).await.unwrap();
    }
    let mut request = SearchRequest::new("x".repeat(MAX_QUERY_BYTES + 1));
    assert_eq!(
        service.search(&request).await.unwrap_err().code,
        "query_too_long"
    );
    for (query, k) in [("  ", 10), ("text", 0), ("text", 201)] {
        (request.query, request.k) = (query.to_owned(), k);
        assert_eq!(service.search(&request).await.unwrap_err().status, 400);
    }
}

#[tokio::test]
async fn what_nobody_says_does_not_hide_what_somebody_does() {
    let (client, pool) = server::ready().await;
    write(
        &client,
        &[ticket(1, "engine", &["runs"]), ticket(2, "x", &["y"])],
    )
    .await;
    let config = SearchConfig {
        terms: 2,
        ..SearchConfig::default()
    };
    let mut request = SearchRequest::new("alpha beta gamma delta engine epsilon");
    request.mode = Mode::Lexical;
    let hits = service(&pool, config).search(&request).await.unwrap().hits;
    assert_eq!(ids(&hits), ["acme/rockets#1"]);
}

#[tokio::test]
async fn many_at_once_with_few_connections() {
    let (client, pool) = server::ready().await;
    write(&client, &[ticket(1, "engine", &["engine runs"])]).await;
    let service = Arc::new(service(&pool, SearchConfig::default()));
    let tasks: Vec<_> = (0..32)
        .map(|_| {
            let service = service.clone();
            tokio::spawn(
                async move { service.search(&SearchRequest::new("engine")).await.unwrap() },
            )
        })
        .collect();
    for task in tasks {
        assert_eq!(task.await.unwrap().hits.len(), 1);
    }
    assert_eq!(vector("a").len(), crate::corpus::DIMS);
}

#[tokio::test]
async fn a_server_that_is_away_is_said() {
    let pool = whence_query::pool(
        "postgres://nobody@127.0.0.1:1/none",
        1,
        std::time::Duration::from_secs(5),
    )
    .unwrap();
    let service = SearchService::new(pool, None, SearchConfig::default());
    let error = service
        .search(&SearchRequest::new("engine"))
        .await
        .unwrap_err();
    assert_eq!((error.code, error.status), ("unavailable", 503));
    assert!(service.ready().await.is_err());
}

#[tokio::test]
async fn an_asker_that_goes_away_frees_its_work() {
    let (client, pool) = server::ready().await;
    write(&client, &[ticket(1, "engine", &["engine runs"])]).await;
    let service = Arc::new(service(&pool, SearchConfig::default()));
    let request = SearchRequest::new("engine");
    service.search(&request).await.unwrap();
    // Nothing can be read while this stands, so a search hangs in its statements.
    client
        .batch_execute("BEGIN; LOCK TABLE postings, chunks IN ACCESS EXCLUSIVE MODE")
        .await
        .unwrap();
    let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND database = \
                   (SELECT oid FROM pg_database WHERE datname = current_database())";
    let count = async || {
        client
            .query_one(waiting, &[])
            .await
            .unwrap()
            .get::<_, i64>(0)
    };
    let asking = tokio::spawn({
        let (service, request) = (service.clone(), request.clone());
        async move { service.search(&request).await }
    });
    while count().await == 0 {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    asking.abort();
    while count().await > 0 {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    client.batch_execute("COMMIT").await.unwrap();
    assert_eq!(service.search(&request).await.unwrap().hits.len(), 1);
}
