//! What a question says beside its words, likeness, and honest misses.

use crate::corpus::{service, text, ticket, write};
use crate::server;
use whence_query::{
    Filters, Floor, GroupBy, Hit, Mode, SearchConfig, SearchRequest, SimilarRequest,
};

fn ids(hits: &[Hit]) -> Vec<&str> {
    let mut ids: Vec<&str> = hits.iter().map(|hit| hit.id.as_str()).collect();
    ids.sort_unstable();
    ids
}

#[tokio::test]
async fn filters_and_phrases_in_the_question_hold_in_every_leg() {
    let (client, pool) = server::ready().await;
    let mut labelled = ticket(1, "lift off", &["the engine fails"]);
    labelled.labels = vec!["needs work"];
    let mut hidden = ticket(4, "plan", &["words"]);
    hidden.texts.push(text("a  lift\noff nobody may see"));
    hidden.texts[1].visibility = 1;
    write(
        &client,
        &[
            labelled,
            ticket(2, "pump", &["lift the lid, then off it goes"]),
            ticket(3, "valve", &["before Lift\n\toff, close it"]),
            hidden,
        ],
    )
    .await;
    let service = service(&pool, SearchConfig::default());
    for mode in [Mode::Dense, Mode::Lexical, Mode::Hybrid] {
        let mut request = SearchRequest::new("engine \"lift off\"");
        request.mode = mode;
        let response = service.search(&request).await.unwrap();
        let expected = ["acme/rockets#1", "acme/rockets#3"];
        assert_eq!(ids(&response.hits), expected, "{mode:?}");
        let understood = response.understood.unwrap();
        assert_eq!(understood.text, "engine lift off");
        assert_eq!(understood.phrases, ["lift off"]);

        request.query = "engine label:\"needs work\"".to_owned();
        let response = service.search(&request).await.unwrap();
        assert_eq!(ids(&response.hits), ["acme/rockets#1"], "{mode:?}");
        request.query = "engine \"lift off\" visibility:internal".to_owned();
        let response = service.search(&request).await.unwrap();
        assert_eq!(response.hits.len(), 3, "{mode:?}");
    }
    let response = service.search(&SearchRequest::new("engine")).await.unwrap();
    assert_eq!(response.understood, None);
    let error = service
        .search(&SearchRequest::new("label:bug"))
        .await
        .unwrap_err();
    assert_eq!(error.status, 400);
    // Everything that a regular expression means something by.
    for odd in ["a|b*", "(?i)", "x{2}", "\\", "[[:alpha:]]", "é.$^"] {
        let request = SearchRequest::new(format!("engine \"{odd}\""));
        let response = service.search(&request).await.unwrap();
        assert_eq!(response.hits.len(), 0, "{odd}");
        let miss = response.miss.unwrap();
        assert!(miss.reason.contains(odd), "{miss:?}");
        assert_eq!((miss.dense, miss.lexical), (None, None), "{miss:?}");
    }
}

#[tokio::test]
async fn excluded_tickets_take_no_part() {
    let (client, pool) = server::ready().await;
    let mut moved = ticket(2, "engine", &["engine"]);
    moved.aliases = vec!["OLD-2".to_owned()];
    write(&client, &[ticket(1, "engine", &["engine"]), moved]).await;
    let service = service(&pool, SearchConfig::default());
    let mut request = SearchRequest::new("engine OLD-2");
    for excluded in ["acme/rockets#2", "OLD-2"] {
        request.exclude = vec![excluded.to_owned()];
        for group_by in [GroupBy::Ticket, GroupBy::Chunk] {
            request.group_by = group_by;
            let hits = service.search(&request).await.unwrap().hits;
            assert_eq!(ids(&hits), ["acme/rockets#1"], "{excluded}");
        }
    }
    request.exclude = vec!["a\0b".to_owned()];
    assert_eq!(service.search(&request).await.unwrap_err().status, 400);
}

#[tokio::test]
async fn a_ticket_gives_its_place_to_others() {
    let (client, pool) = server::ready().await;
    let comments: Vec<String> = (0..300).map(|n| format!("engine engine {n}")).collect();
    let comments: Vec<&str> = comments.iter().map(String::as_str).collect();
    let mut tickets = vec![ticket(1, "engine", &comments)];
    tickets.extend((2..12).map(|n| {
        let text = format!("engine and some words that make it long {n}");
        ticket(n, "other", &[&text])
    }));
    write(&client, &tickets).await;
    let config = SearchConfig {
        recall: 10,
        ..SearchConfig::default()
    };
    let service = service(&pool, config);
    let mut request = SearchRequest::new("engine engine");
    (request.group_by, request.mode, request.k) = (GroupBy::Chunk, Mode::Lexical, 8);
    let crowded = service.search(&request).await.unwrap().hits;
    assert!(crowded.iter().all(|hit| hit.id == "acme/rockets#1"));
    request.per_ticket = Some(2);
    let hits = service.search(&request).await.unwrap().hits;
    assert_eq!(hits.len(), 8);
    let of_first = hits.iter().filter(|hit| hit.id == "acme/rockets#1");
    assert_eq!(of_first.count(), 2);
    request.per_ticket = Some(0);
    assert_eq!(service.search(&request).await.unwrap_err().status, 400);
}

#[tokio::test]
async fn what_is_not_relevant_is_a_miss() {
    let (client, pool) = server::ready().await;
    let words: Vec<_> = (0..30)
        .map(|n| ticket(n, "pump", &[&format!("pump valve nozzle {n}")]))
        .collect();
    write(&client, &words).await;
    let config = SearchConfig {
        floor: Floor {
            dense: Some(0.999),
            lexical: 0.25,
        },
        ..SearchConfig::default()
    };
    let service = service(&pool, config);
    let mut request = SearchRequest::new("sourdough bread with a valve and much rye");
    let response = service.search(&request).await.unwrap();
    assert_eq!(response.hits.len(), 0);
    let miss = response.miss.unwrap();
    assert!(miss.reason.contains("relevant"), "{miss:?}");
    assert!(miss.dense.unwrap() < 0.999 && miss.dense_floor == Some(0.999));
    assert!(miss.lexical.unwrap() < 0.25 && miss.lexical_floor == Some(0.25));

    request.include_weak = true;
    assert_eq!(service.search(&request).await.unwrap().hits.len(), 10);
    request.include_weak = false;
    // A leg above its floor is enough.
    request.query = "pump valve nozzle 7".to_owned();
    let response = service.search(&request).await.unwrap();
    assert_eq!((response.miss, response.hits.len()), (None, 10));
    // What is named is found, however near it is; so is the little behind a filter.
    request.query = "sourdough acme/rockets#3".to_owned();
    assert!(service.search(&request).await.unwrap().hits[0].exact);
    request.query = "sourdough".to_owned();
    request.filters = Filters::default().with("ticket", "acme/rockets#3").unwrap();
    assert_eq!(service.search(&request).await.unwrap().hits.len(), 1);
    // Nothing at all is a miss too, and says so.
    request.filters = Filters::default()
        .with("ticket", "acme/rockets#99")
        .unwrap();
    let miss = service.search(&request).await.unwrap().miss.unwrap();
    assert!(miss.reason.contains("filters"), "{miss:?}");
}

#[tokio::test]
async fn alike_are_those_that_say_the_same() {
    let (client, pool) = server::ready().await;
    let mut old = ticket(1, "Fuel pump leaks", &["the seal of the fuel pump is worn"]);
    old.aliases = vec!["OLD-1".to_owned()];
    write(
        &client,
        &[
            old,
            ticket(
                2,
                "Pump loses fuel",
                &["see acme/rockets#3: a worn seal at the pump"],
            ),
            ticket(3, "Paint the tower", &["white, with a stripe"]),
        ],
    )
    .await;
    let service = service(&pool, SearchConfig::default());
    for id in ["acme/rockets#1", "OLD-1"] {
        let by_id = SimilarRequest {
            id: Some(id.to_owned()),
            k: 2,
            ..SimilarRequest::default()
        };
        let hits = service.similar(&by_id).await.unwrap().hits;
        assert_eq!(hits[0].id, "acme/rockets#2");
        assert!(
            hits.iter()
                .all(|hit| hit.id != "acme/rockets#1" && !hit.exact)
        );
    }
    // What a draft names is not like it for that.
    let draft = SimilarRequest {
        text: Some("Worn pump seal\n\nkind:epic, see acme/rockets#3".to_owned()),
        k: 3,
        ..SimilarRequest::default()
    };
    let hits = service.similar(&draft).await.unwrap().hits;
    assert_ne!(hits[0].id, "acme/rockets#3");

    let ask = |id: Option<&str>, text: Option<&str>| SimilarRequest {
        id: id.map(str::to_owned),
        text: text.map(str::to_owned),
        k: 3,
        ..SimilarRequest::default()
    };
    for (request, status) in [
        (ask(None, None), 400),
        (ask(Some("acme/rockets#1"), Some("x")), 400),
        (ask(Some("acme/rockets#77"), None), 404),
        (ask(Some(" "), None), 400),
        (ask(None, Some("#7 acme/rockets#3")), 400),
        (ask(None, Some("  ")), 400),
    ] {
        let error = service.similar(&request).await.unwrap_err();
        assert_eq!(error.status, status, "{request:?}: {error}");
    }
}
