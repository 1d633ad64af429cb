//! The scores of a straightforward BM25, written the long way.

use crate::corpus::{Ticket, service, text, ticket, write};
use crate::server;
use whence_model::lexical::{query_terms, terms};
use whence_query::{
    Bm25, Filters, Fusion, GroupBy, Mode, SearchConfig, SearchRequest, SearchResponse,
};

const TICKET: Bm25 = Bm25 { k1: 1.7, b: 0.6 };
const CHUNK: Bm25 = Bm25 { k1: 1.1, b: 0.9 };

fn corpus() -> Vec<Ticket> {
    let words = [
        "engine", "lift", "off", "valve", "fuel", "pump", "leak", "nozzle", "ice", "pad",
    ];
    let mut tickets: Vec<Ticket> = (0..40_usize)
        .map(|n| {
            let word = |i: usize| words[(n * 7 + i * i + n * i) % words.len()];
            let body: Vec<&str> = (0..5 + n % 9).map(word).collect();
            let comments: Vec<String> = (0..n % 4)
                .map(|c| {
                    (0..3 + c)
                        .map(|i| word(i + c))
                        .collect::<Vec<_>>()
                        .join(" ")
                })
                .collect();
            let mut ticket = ticket(n, &format!("{} {}", word(1), word(2)), &[&body.join(" ")]);
            ticket.texts.extend(comments.into_iter().map(text));
            ticket
        })
        .collect();
    for hidden in tickets.iter_mut().step_by(5) {
        let mut note = text("secret valve valve");
        note.visibility = 1;
        hidden.texts.push(note);
    }
    tickets.push(ticket(99, "", &["rare"]));
    tickets
}

/// Documents as (key, term frequencies, length).
type Documents = Vec<(String, Vec<(String, f64)>, f64)>;

fn bm25(
    of: &Documents,
    df: impl Fn(&str) -> f64,
    n: f64,
    average: f64,
    bm25: Bm25,
    query: &str,
) -> Vec<(String, f64)> {
    let mut scores = Vec::new();
    for (key, counts, len) in of {
        let mut score = 0.0;
        for term in query_terms(query) {
            let tf: f64 = counts
                .iter()
                .filter(|(t, _)| *t == term)
                .map(|(_, tf)| tf)
                .sum();
            let idf = (1.0 + (n - df(&term) + 0.5) / (df(&term) + 0.5)).ln();
            score += idf * tf * (bm25.k1 + 1.0)
                / (tf + bm25.k1 * (1.0 - bm25.b + bm25.b * len / average));
        }
        if score > 0.0 {
            scores.push((key.clone(), score));
        }
    }
    scores.sort_by(|a, b| b.1.total_cmp(&a.1));
    scores
}

fn whole(tickets: &[Ticket], level: i16) -> Documents {
    tickets
        .iter()
        .map(|ticket| {
            let counts = ticket
                .counts()
                .into_iter()
                .filter(|((_, seen), _)| *seen <= level);
            let counts = counts
                .map(|((term, _), tf)| (term, f64::from(tf)))
                .collect();
            (ticket.id.clone(), counts, f64::from(ticket.len(level)))
        })
        .collect()
}

fn found(response: &SearchResponse, with_seq: bool) -> Vec<(String, f64)> {
    let key = |hit: &whence_query::Hit| {
        if with_seq {
            format!("{} {}", hit.id, hit.chunks[0].seq)
        } else {
            hit.id.clone()
        }
    };
    let score = |hit: &whence_query::Hit| {
        let legs = hit.legs.unwrap();
        let leg = if with_seq {
            legs.lexical_chunk
        } else {
            legs.lexical
        };
        leg.unwrap().score
    };
    response
        .hits
        .iter()
        .map(|hit| (key(hit), score(hit)))
        .collect()
}

fn assert_same(mut expected: Vec<(String, f64)>, mut found: Vec<(String, f64)>, what: &str) {
    assert!(
        found.windows(2).all(|pair| pair[0].1 >= pair[1].1),
        "{what}: {found:?}"
    );
    expected.sort_by(|a, b| a.0.cmp(&b.0));
    found.sort_by(|a, b| a.0.cmp(&b.0));
    assert_eq!(
        expected.len(),
        found.len(),
        "{what}: {expected:?} {found:?}"
    );
    for (expected, found) in expected.iter().zip(&found) {
        assert_eq!(expected.0, found.0, "{what}");
        assert!(
            (expected.1 - found.1).abs() < 1e-4,
            "{what}: {expected:?} {found:?}"
        );
    }
}

#[tokio::test]
async fn scores_equal_those_of_the_reference() {
    let (client, pool) = server::ready().await;
    let tickets = corpus();
    write(&client, &tickets).await;
    let config = SearchConfig {
        ticket_bm25: TICKET,
        chunk_bm25: CHUNK,
        ..SearchConfig::default()
    };
    let service = service(&pool, config);
    let queries = [
        "engine",
        "valve leak",
        "the ice ice pad",
        "rare",
        "secret valve",
        "nozzle fuel pump lift off",
    ];

    let chunk_lens: Vec<f64> = tickets
        .iter()
        .flat_map(|ticket| {
            ticket
                .texts
                .iter()
                .map(|text| terms(&text.text).len() as f64)
        })
        .collect();
    let chunk_average = chunk_lens.iter().sum::<f64>() / chunk_lens.len() as f64;
    for level in [0_i16, 1] {
        let documents = whole(&tickets, level);
        let n = documents.len() as f64;
        let average = documents.iter().map(|document| document.2).sum::<f64>() / n;
        let df = |term: &str| {
            documents
                .iter()
                .filter(|document| document.1.iter().any(|(t, _)| t == term))
                .count() as f64
        };
        let chunks: Documents = tickets
            .iter()
            .flat_map(|ticket| {
                ticket
                    .texts
                    .iter()
                    .enumerate()
                    .filter(move |(_, text)| text.visibility <= level)
                    .map(move |(at, text)| {
                        let terms = terms(&text.text);
                        let len = terms.len() as f64;
                        let key = format!("{} {}", ticket.id, Ticket::seq(at));
                        (
                            key,
                            terms.into_iter().map(|term| (term, 1.0)).collect(),
                            len,
                        )
                    })
            })
            .collect();
        for query in queries {
            let mut request = SearchRequest::new(query);
            (request.mode, request.k, request.explain) = (Mode::Lexical, 200, true);
            request.fusion = Some(Fusion::Score {
                dense: 0.0,
                lexical: 1.0,
                lexical_chunk: 0.0,
            });
            request.filters = Filters::default()
                .with("visibility", ["public", "internal"][level as usize])
                .unwrap();
            let what = format!("{query} at {level}");
            let response = service.search(&request).await.unwrap();
            let expected = bm25(&documents, df, n, average, TICKET, query);
            assert_same(expected, found(&response, false), &what);

            request.group_by = GroupBy::Chunk;
            let response = service.search(&request).await.unwrap();
            let expected = bm25(&chunks, df, n, chunk_average, CHUNK, query);
            assert_same(expected, found(&response, true), &format!("{what}, chunks"));
        }
    }
}

#[tokio::test]
async fn a_filter_takes_hits_away_and_moves_none() {
    let (client, pool) = server::ready().await;
    let mut tickets = corpus();
    tickets
        .iter_mut()
        .step_by(3)
        .for_each(|ticket| ticket.state = Some("closed"));
    write(&client, &tickets).await;
    let service = service(&pool, SearchConfig::default());
    let mut request = SearchRequest::new("valve leak engine");
    (request.mode, request.k) = (Mode::Lexical, 200);
    let all = service.search(&request).await.unwrap();
    request.filters = Filters::default().with("state", "closed").unwrap();
    let closed = service.search(&request).await.unwrap();
    let ids = |response: &SearchResponse| -> Vec<String> {
        response.hits.iter().map(|hit| hit.id.clone()).collect()
    };
    let expected: Vec<String> = all
        .hits
        .iter()
        .filter(|hit| hit.state.as_deref() == Some("closed"))
        .map(|hit| hit.id.clone())
        .collect();
    assert!(expected.len() > 5);
    assert_eq!(ids(&closed), expected);
}
