//! The reranker's turn, its lateness and its failures.

use crate::corpus::{service, ticket, write};
use crate::server;
use async_trait::async_trait;
use std::{sync::Arc, time::Instant};
use whence_query::{
    GroupBy, Hit, RerankError, Reranker, SearchConfig, SearchRequest, SearchService,
};

/// Prefers passages with many exclamation marks; what it does besides depends on
/// the question.
struct Marks;

#[async_trait]
impl Reranker for Marks {
    fn name(&self) -> &str {
        "marks"
    }

    async fn score(
        &self,
        query: &str,
        passages: &[String],
        deadline: Instant,
    ) -> Result<Vec<Option<f32>>, RerankError> {
        if query.contains("broken") {
            return Err(RerankError("the model is away".to_owned()));
        }
        if query.contains("slow") {
            tokio::time::sleep_until(deadline.into()).await;
            return Ok(vec![None; passages.len()]);
        }
        let marks = |text: &String| text.matches('!').count() as f32 / 10.0;
        let late = if query.contains("tired") {
            2
        } else {
            usize::MAX
        };
        let scores = passages.iter().enumerate();
        Ok(scores
            .map(|(place, text)| (place < late).then(|| marks(text)))
            .collect())
    }
}

fn ids(hits: &[Hit]) -> Vec<&str> {
    hits.iter().map(|hit| hit.id.as_str()).collect()
}

async fn marked() -> SearchService {
    let (client, pool) = server::ready().await;
    let tickets: Vec<_> = (1..6)
        .map(|n| ticket(n, "pump", &[&format!("pump {}", "!".repeat(n))]))
        .collect();
    write(&client, &tickets).await;
    service(&pool, SearchConfig::default()).with_reranker(Arc::new(Marks))
}

#[tokio::test]
async fn its_order_wins_and_scores_fall() {
    let service = marked().await;
    for group_by in [GroupBy::Ticket, GroupBy::Chunk] {
        let mut request = SearchRequest::new("pump");
        (request.k, request.group_by, request.explain) = (3, group_by, true);
        let response = service.search(&request).await.unwrap();
        assert_eq!(
            ids(&response.hits),
            ["acme/rockets#5", "acme/rockets#4", "acme/rockets#3"],
            "{group_by:?}"
        );
        assert!(
            response
                .hits
                .windows(2)
                .all(|pair| pair[0].score > pair[1].score)
        );
        let first = response.hits[0].legs.unwrap().rerank.unwrap();
        assert!(first.rank == 1 && (first.score - 0.5).abs() < 1e-6);
        assert!(response.took_ms.rerank > 0.0 && response.degraded.is_empty());
        // What the question names stays first.
        request.query = "pump acme/rockets#2".to_owned();
        let named = service.search(&request).await.unwrap().hits;
        assert_eq!(named[0].id, "acme/rockets#2");
        assert!(named[0].exact && named[0].score > named[1].score);
        assert_eq!(named[1].id, "acme/rockets#5");
        // Not where it is not wanted.
        (request.query, request.rerank) = ("pump".to_owned(), false);
        let plain = service.search(&request).await.unwrap();
        assert_eq!(plain.took_ms.rerank, 0.0);
        assert!(
            plain
                .hits
                .iter()
                .all(|hit| hit.legs.unwrap().rerank.is_none())
        );
    }
}

#[tokio::test]
async fn late_or_broken_it_leaves_the_order_and_says_so() {
    let service = marked().await;
    for (query, code) in [
        ("pump slow", "rerank_timeout"),
        ("pump broken", "rerank_failed"),
        ("pump tired", "rerank_timeout"),
    ] {
        let mut request = SearchRequest::new(query);
        request.explain = true;
        let response = service.search(&request).await.unwrap();
        assert_eq!(response.degraded[0].code, code);
        request.rerank = false;
        let plain = service.search(&request).await.unwrap().hits;
        let scored = response
            .hits
            .iter()
            .filter(|hit| hit.legs.unwrap().rerank.is_some());
        if query.contains("tired") {
            assert_eq!(scored.count(), 2);
            // The two that were read come first, the others follow as they were.
            assert_eq!(ids(&response.hits)[2..], ids(&plain)[2..]);
            assert!(
                response
                    .hits
                    .windows(2)
                    .all(|pair| pair[0].score >= pair[1].score)
            );
        } else {
            assert_eq!((scored.count(), ids(&response.hits)), (0, ids(&plain)));
        }
    }
}
