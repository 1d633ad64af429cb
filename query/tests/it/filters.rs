//! Filters inside both recalls: a filtered search still fills its k.

use crate::corpus::{Ticket, service, text, ticket, write};
use crate::server;
use whence_query::{Filters, GroupBy, Mode, SearchConfig, SearchRequest};

/// Some thousand tickets that differ little; three of them are rare.
fn many() -> Vec<Ticket> {
    (0..3000_usize)
        .map(|n| {
            let mut ticket = ticket(
                n,
                "engine report",
                &[&format!("engine report number {n} of the pad")],
            );
            if n % 1000 == 500 {
                ticket.labels = vec!["rare", "bug"];
                ticket.project = "acme/rare".to_owned();
                ticket.texts[0].author = "grace";
            } else if n % 10 == 0 {
                ticket.labels = vec!["bug"];
            }
            ticket
        })
        .collect()
}

#[tokio::test]
async fn a_filter_that_leaves_three_returns_three_whatever_the_path() {
    let (client, pool) = server::ready().await;
    write(&client, &many()).await;
    // All compared one by one; index for broad filters; index always, even where
    // its walk ends without a row.
    for exact_below in [10_000, 100, 0] {
        let config = SearchConfig {
            exact_below,
            recall: 20,
            ..SearchConfig::default()
        };
        let service = service(&pool, config);
        for mode in [Mode::Dense, Mode::Lexical, Mode::Hybrid] {
            for group_by in [GroupBy::Ticket, GroupBy::Chunk] {
                for (name, value, expected) in [
                    ("label", "rare", 3),
                    ("project", "acme/rare", 3),
                    ("author", "Grace", 3),
                    ("label", "bug", 10),
                    ("label", "none", 0),
                ] {
                    let mut request = SearchRequest::new("engine report number");
                    (request.mode, request.group_by) = (mode, group_by);
                    request.filters = Filters::default().with(name, value).unwrap();
                    let response = service.search(&request).await.unwrap();
                    let what = format!("{exact_below} {mode:?} {group_by:?} {name} {value}");
                    assert_eq!(response.hits.len(), expected, "{what}");
                    assert_eq!(response.mode, mode, "{what}");
                }
            }
        }
    }
}

#[tokio::test]
async fn the_index_finds_what_comparing_one_by_one_finds() {
    let (client, pool) = server::ready().await;
    write(&client, &many()).await;
    let by_index = service(
        &pool,
        SearchConfig {
            exact_below: 0,
            recall: 100,
            ..Default::default()
        },
    );
    let exactly = service(
        &pool,
        SearchConfig {
            recall: 100,
            ..Default::default()
        },
    );
    let (mut same, mut all) = (0, 0);
    for n in 0..10 {
        for filter in [None, Some(("label", "bug"))] {
            let mut request = SearchRequest::new(format!("question {n}"));
            (request.mode, request.k) = (Mode::Dense, 100);
            if let Some((name, value)) = filter {
                request.filters = Filters::default().with(name, value).unwrap();
            }
            let a = by_index.search(&request).await.unwrap().hits;
            let b = exactly.search(&request).await.unwrap().hits;
            assert_eq!((a.len(), b.len()), (100, 100));
            all += 100;
            same += a
                .iter()
                .filter(|hit| b.iter().any(|other| other.id == hit.id))
                .count();
        }
    }
    assert!(same * 100 >= all * 98, "{same} of {all}");
}

#[tokio::test]
async fn each_filter_alone() {
    let (client, pool) = server::ready().await;
    let mut other = ticket(2, "engine", &["engine stops", "engine comment"]);
    other.kind = "merge-request";
    other.project = "acme/boats".to_owned();
    other.state = Some("merged");
    other.labels = vec!["bug", "urgent"];
    other.aliases = vec!["OLD-2".to_owned()];
    other.created_at = "2023-06-01T00:00:00Z";
    other.files = vec!["src/changed.rs"];
    other.texts[1].author = "Grace";
    let mut hidden = ticket(3, "engine", &["engine public"]);
    hidden.texts.push(text("engine hidden"));
    hidden.texts[1].visibility = 2;
    write(
        &client,
        &[ticket(1, "engine", &["engine runs"]), other, hidden],
    )
    .await;
    let service = service(&pool, SearchConfig::default());
    // Filter, value, tickets, chunks.
    let cases: &[(&str, &[&str], &[u32], usize)] = &[
        ("source", &["GitHub", "jira"], &[1, 2, 3], 4),
        ("source", &["jira"], &[], 0),
        ("project", &["acme/boats"], &[2], 2),
        ("kind", &["mr"], &[2], 2),
        ("kind", &["comment"], &[2], 1),
        ("kind", &["comment", "issue"], &[1, 2, 3], 3),
        ("provenance", &["upstream"], &[1, 2, 3], 4),
        ("provenance", &["local"], &[], 0),
        ("ticket", &["OLD-2", "acme/rockets#1"], &[1, 2], 3),
        ("author", &["@grace"], &[2], 1),
        ("assignee", &["bo"], &[1, 2, 3], 4),
        ("label", &["bug"], &[2], 2),
        ("label", &["bug", "urgent", "bug"], &[2], 2),
        ("label", &["bug", "none"], &[], 0),
        ("label_any", &["urgent", "none"], &[2], 2),
        ("label_any", &["none"], &[], 0),
        ("state", &["MERGED"], &[2], 2),
        ("priority", &["high"], &[1, 2, 3], 4),
        ("created_after", &["2024-01-01"], &[1, 3], 2),
        ("created_before", &["2024-01-31T12:00:00Z"], &[2], 2),
        ("updated-after", &["2024-01-31T12:00:00Z"], &[1, 3], 2),
        ("updated_before", &["2024-01-01"], &[2], 2),
        ("path", &["src/changed.rs"], &[2], 2),
        ("path", &["old/src/changed.rs"], &[2], 2),
        ("path", &["src/named.rs"], &[1, 2, 3], 4),
        ("visibility", &["confidential"], &[1, 2, 3], 5),
    ];
    for (name, values, tickets, chunks) in cases {
        for mode in [Mode::Dense, Mode::Lexical, Mode::Hybrid] {
            let mut request = SearchRequest::new("engine");
            request.mode = mode;
            for value in *values {
                request.filters.add(name, value).unwrap();
            }
            let hits = service.search(&request).await.unwrap().hits;
            let mut found: Vec<String> = hits.iter().map(|hit| hit.id.clone()).collect();
            found.sort();
            let expected: Vec<String> = tickets
                .iter()
                .map(|n| format!("acme/rockets#{n}"))
                .collect();
            assert_eq!(found, expected, "{name} {values:?} {mode:?}");
            request.group_by = GroupBy::Chunk;
            let hits = service.search(&request).await.unwrap().hits;
            assert_eq!(hits.len(), *chunks, "{name} {values:?} {mode:?} chunks");
        }
    }
}
