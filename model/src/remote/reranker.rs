//! Scores from a server.

use super::{
    Endpoint,
    client::Client,
    retry::{Pace, Patience, TRIES_FOR_SOMEBODY},
    verdict::CallError,
};
use crate::{ModelError, RerankProvider, RerankerSpec, Scores, rerank::logistic};
use futures::future::try_join_all;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};
use tokio::time::timeout_at;

/// What TEI takes in one request by default. Those of Cohere's kind take more than
/// a search has, and some of them compare passages with each other.
const TEI_PASSAGES: usize = 32;
/// Bytes of one score in an answer, at most, and of what stands around them.
const SCORE: usize = 1 << 10;
const AROUND: usize = 64 << 10;
/// A request outlives its deadline by this at most: the deadline is to be what ends it.
const AFTER_DEADLINE: Duration = Duration::from_secs(1);
/// How far a probability may lie outside of 0 to 1 by rounding.
const ROUNDING: f32 = 1e-3;

/// A reranker on a server.
#[derive(Debug)]
pub(crate) struct RemoteReranker {
    client: Client,
    name: String,
    provider: RerankProvider,
    model: Option<String>,
    scores: Scores,
    send: BTreeMap<String, Value>,
    pace: Pace,
}

#[derive(Deserialize)]
struct Cohere {
    results: Vec<Scored>,
}

#[derive(Deserialize)]
struct Scored {
    index: usize,
    #[serde(alias = "relevance_score")]
    score: f32,
}

impl RemoteReranker {
    /// # Errors
    /// When address or key cannot be used. The server is not asked yet.
    pub(crate) fn new(spec: &RerankerSpec, endpoint: &Endpoint) -> Result<Self, ModelError> {
        Ok(Self {
            client: Client::new(endpoint)?,
            name: spec.name.clone(),
            provider: spec.provider,
            model: spec.model.clone(),
            scores: spec.scores,
            send: spec.send.clone(),
            pace: Pace::default(),
        })
    }

    /// As [`crate::Reranker::score`].
    pub(crate) async fn score(
        &self,
        query: &str,
        passages: &[String],
        pairs: usize,
        deadline: Instant,
    ) -> Result<Vec<Option<f32>>, ModelError> {
        let asked = &passages[..pairs.min(passages.len())];
        let size = match self.provider {
            RerankProvider::Tei => TEI_PASSAGES,
            RerankProvider::Cohere | RerankProvider::Onnx => asked.len().max(1),
        };
        let parts = asked.chunks(size).map(|part| async move {
            let answer = timeout_at(deadline.into(), self.ask(query, part, deadline)).await;
            match answer {
                Ok(Ok(scores)) => Ok(scores.into_iter().map(Some).collect()),
                Ok(Err(error)) => Err(self.error(error)),
                Err(_late) => Ok(vec![None; part.len()]),
            }
        });
        let mut scores: Vec<Option<f32>> = try_join_all(parts).await?.concat();
        scores.resize(passages.len(), None);
        Ok(scores)
    }

    async fn ask(
        &self,
        query: &str,
        passages: &[String],
        deadline: Instant,
    ) -> Result<Vec<f32>, CallError> {
        let path = match self.provider {
            RerankProvider::Cohere if self.client.is_bare() => "/v1/rerank",
            RerankProvider::Cohere | RerankProvider::Tei | RerankProvider::Onnx => "/rerank",
        };
        let request = self.request(query, passages);
        // Some send the passages back, which JSON may write six times as long.
        let texts: usize = passages.iter().map(String::len).sum();
        let most = AROUND + passages.len() * SCORE + texts * 6;
        let patience = Patience {
            tries: TRIES_FOR_SOMEBODY,
            until: Some(deadline.into()),
        };
        let call = || async {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = left + AFTER_DEADLINE;
            let body = self.client.post(path, &request, most, timeout).await?;
            self.read(&body, passages.len())
        };
        self.pace.patiently(patience, call).await
    }

    fn request(&self, query: &str, passages: &[String]) -> Value {
        let fixed = match self.provider {
            RerankProvider::Tei => json!({
                "query": query, "texts": passages, "truncate": true,
                "raw_scores": self.scores == Scores::Logit,
            }),
            RerankProvider::Cohere | RerankProvider::Onnx => json!({
                "model": self.model, "query": query, "documents": passages,
                "top_n": passages.len(),
            }),
        };
        let mut fields = Map::new();
        let more = self.send.iter();
        fields.extend(more.map(|(name, value)| (name.clone(), value.clone())));
        // What is sent beside the texts does not replace them.
        if let Value::Object(fixed) = fixed {
            fields.extend(fixed);
        }
        Value::Object(fields)
    }

    /// One probability for each of `passages`, in their order.
    fn read(&self, body: &[u8], passages: usize) -> Result<Vec<f32>, CallError> {
        let unreadable = |e| CallError::Broken(format!("its answer cannot be read: {e}"));
        let scored: Vec<Scored> = match self.provider {
            RerankProvider::Tei => serde_json::from_slice(body).map_err(unreadable)?,
            RerankProvider::Cohere | RerankProvider::Onnx => {
                let answer: Cohere = serde_json::from_slice(body).map_err(unreadable)?;
                answer.results
            }
        };
        if scored.len() != passages {
            let why = format!("it gave {} scores for {passages} passages", scored.len());
            return Err(CallError::Broken(why));
        }
        let mut scores = vec![None; passages];
        for Scored { index, score } in scored {
            match scores.get_mut(index) {
                Some(free @ None) => *free = Some(self.probability(score)?),
                _ => {
                    let why = format!("its answer has no place for index {index}");
                    return Err(CallError::Broken(why));
                }
            }
        }
        // As many places as scores, none taken twice: all are taken.
        Ok(scores.into_iter().flatten().collect())
    }

    fn probability(&self, score: f32) -> Result<f32, CallError> {
        if !score.is_finite() {
            return Err(CallError::Broken("a score is no number".to_owned()));
        }
        match self.scores {
            Scores::Logit => Ok(logistic(score)),
            Scores::Probability if (-ROUNDING..=1.0 + ROUNDING).contains(&score) => {
                Ok(score.clamp(0.0, 1.0))
            }
            Scores::Probability => Err(CallError::Unusable(format!(
                "its score {score} is no probability; set scores = \"logit\" in the entry {:?} of \
                 models.toml",
                self.name
            ))),
        }
    }

    fn error(&self, error: CallError) -> ModelError {
        let server = self.client.server().to_owned();
        match error {
            CallError::Busy { why, .. } | CallError::Broken(why) => {
                ModelError::Unavailable { server, why }
            }
            // No passage is at fault: all are cut to what the model takes.
            CallError::Refused(why) | CallError::Unusable(why) => {
                ModelError::Unusable { server, why }
            }
        }
    }
}
