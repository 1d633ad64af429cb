//! One search, from the question to the hits: take it apart, look up ids, recall
//! by each leg, fuse, rerank, judge, fetch what is shown.

mod ask;
mod chunks;
mod floor;
mod leg;
mod rerank;
mod shown;
mod similar;
mod tickets;

use crate::{
    Degraded, GroupBy, Hit, Mode, QueryEncoder, Reranker, SearchConfig, SearchError, SearchRequest,
    SearchResponse, Took, Understood,
    corpus::CorpusCache,
    exact,
    filters::Conditions,
    recall::{dense::Vectors, lexical::Weights},
    syntax::{self, Parsed},
};
use ask::{Ask, Connections, Question};
use deadpool_postgres::{Client, Pool};
use floor::Nearest;
use std::{sync::Arc, time::Instant};
use whence_model::lexical::query_terms;

pub use similar::SimilarRequest;

/// Answers questions from the tables. Cheap to share; holds no state but the
/// count of the corpus.
pub struct SearchService {
    pool: Pool,
    encoder: Option<Arc<dyn QueryEncoder>>,
    reranker: Option<Arc<dyn Reranker>>,
    config: SearchConfig,
    corpus: CorpusCache,
}

impl SearchService {
    /// A service over `pool`; without an encoder it searches by words alone.
    pub fn new(pool: Pool, encoder: Option<Arc<dyn QueryEncoder>>, config: SearchConfig) -> Self {
        Self {
            pool,
            encoder,
            reranker: None,
            config,
            corpus: CorpusCache::default(),
        }
    }

    /// With a reranker, which is asked unless a request says no.
    pub fn with_reranker(mut self, reranker: Arc<dyn Reranker>) -> Self {
        self.reranker = Some(reranker);
        self
    }

    /// The settings in use.
    pub fn config(&self) -> &SearchConfig {
        &self.config
    }

    /// The connections in use.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Answers `request` within the configured deadline. Dropping the future
    /// gives the search up.
    ///
    /// # Errors
    /// For a request that passes a bound, a server that does not answer, and a
    /// deadline that passed. A model that does not answer is no error: the
    /// response says that it was left out.
    pub async fn search(&self, request: &SearchRequest) -> Result<SearchResponse, SearchError> {
        request.check()?;
        let parsed = syntax::parse(&request.query, &request.filters)?;
        if parsed.text.trim().is_empty() {
            return Err(SearchError::bad_request(
                "the query holds filters and nothing to search for",
                "add a word; to list what the filters leave, see GET /tickets",
            ));
        }
        let understood =
            (parsed.filters != request.filters || !parsed.phrases.is_empty()).then(|| Understood {
                text: parsed.text.clone(),
                phrases: parsed.phrases.clone(),
                filters: parsed.filters.clone(),
            });
        let conditions = Conditions::of(&parsed.filters)
            .holding(&parsed.phrases)
            .excluding(&request.exclude);
        let question = Question {
            nothing: nothing(&parsed),
            identifiers: exact::candidates(&parsed.text, &parsed.filters),
            names: exact::names(&parsed.text),
            terms: query_terms(&parsed.text),
            text: parsed.text,
            conditions,
        };
        let mut response = self.within_deadline(request, question).await?;
        response.understood = understood;
        Ok(response)
    }

    async fn within_deadline(
        &self,
        request: &SearchRequest,
        question: Question,
    ) -> Result<SearchResponse, SearchError> {
        tokio::time::timeout(self.config.deadline, self.run(request, question))
            .await
            .unwrap_or_else(|_| Err(SearchError::timeout()))
    }

    /// Whether the tables answer; the number of tickets that can be found.
    ///
    /// # Errors
    /// When they do not.
    pub async fn ready(&self) -> Result<u64, SearchError> {
        let client = self.client().await?;
        let corpus = tokio::time::timeout(self.config.deadline, self.corpus.get(&client))
            .await
            .unwrap_or_else(|_| Err(SearchError::timeout()))?;
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a count of rows"
        )]
        Ok(corpus.tickets[2] as u64)
    }

    async fn client(&self) -> Result<Client, SearchError> {
        self.pool.get().await.map_err(SearchError::pool)
    }

    async fn run(
        &self,
        request: &SearchRequest,
        question: Question,
    ) -> Result<SearchResponse, SearchError> {
        let begin = Instant::now();
        let mut took = Took::default();
        let mut degraded = Vec::new();

        let connections = Connections::of(&self.pool).await?;
        let client = connections.first();
        let corpus = self.corpus.get(client).await?;
        // The encoder computes while the server looks up words and ids.
        let encoded = async {
            let at = Instant::now();
            let vector = self.vector(request.mode, client, &question.text).await?;
            Ok::<_, SearchError>((vector, millis(at)))
        };
        let known = async {
            let at = Instant::now();
            let conditions = &question.conditions;
            let exact = exact::tickets(client, &question.identifiers, conditions);
            let holders = exact::holders(client, &question.names, conditions);
            let (exact, holders) = tokio::try_join!(exact, holders)?;
            Ok::<_, SearchError>((exact, holders, millis(at)))
        };
        let (visibility, most) = (question.conditions.visibility, self.config.terms);
        let weighed = Weights::of(client, &question.terms, &corpus, visibility, most);
        let ((vector, encode_took), (exact, holders, exact_took), weights) =
            tokio::try_join!(encoded, known, weighed)?;
        (took.encode, took.exact) = (encode_took, exact_took);
        let vector = match vector {
            Some(Ok(found)) => Some(found),
            Some(Err(without)) => {
                degraded.push(without);
                None
            }
            None => None,
        };
        let mode = match (vector.is_some(), request.mode.lexical()) {
            (true, true) => Mode::Hybrid,
            (true, false) => Mode::Dense,
            (false, _) => Mode::Lexical,
        };
        let ask = Ask {
            request,
            config: self.config,
            question,
            weights,
            corpus,
            vector,
            exact,
            holders: holders.into_iter().collect(),
            mode,
            dense_floor: self
                .config
                .floor
                .dense
                .or_else(|| self.encoder.as_ref().and_then(|encoder| encoder.floor())),
            reranker: self.reranker.as_deref().filter(|_| request.rerank),
        };
        let mut work = Work {
            connections: &connections,
            took: &mut took,
            degraded: &mut degraded,
        };
        let (hits, nearest) = match request.group_by {
            GroupBy::Ticket => ask.tickets(&mut work).await?,
            GroupBy::Chunk => ask.chunks(&mut work).await?,
        };
        let miss = ask.miss(&hits, nearest);
        connections.done();
        took.total = millis(begin);
        Ok(SearchResponse {
            hits: if miss.is_some() { Vec::new() } else { hits },
            mode,
            degraded,
            understood: None,
            miss,
            took_ms: took,
        })
    }

    /// The question's vector and the table to compare it in, or the reason why
    /// there is none; `None` where none was asked for.
    async fn vector(
        &self,
        mode: Mode,
        client: &Client,
        query: &str,
    ) -> Result<Option<Result<(Vectors, Vec<f32>), Degraded>>, SearchError> {
        if !mode.dense() {
            return Ok(None);
        }
        let without = |code, reason: String| Ok(Some(Err(Degraded { code, reason })));
        let Some(encoder) = &self.encoder else {
            return without("no_encoder", "no embedding model is configured".to_owned());
        };
        let Some(vectors) = Vectors::of(client, encoder.model()).await? else {
            let reason = format!("there are no vectors of the model {} yet", encoder.model());
            return without("no_vectors", reason);
        };
        match encoder.encode(query).await {
            Ok(vector) if vectors.takes(&vector) => Ok(Some(Ok((vectors, vector)))),
            Ok(vector) => {
                let reason = format!("the model gave {} dimensions", vector.len());
                without("encoder_failed", reason)
            }
            Err(error) => without("encoder_failed", error.to_string()),
        }
    }
}

/// Why a question finds nothing at all.
fn nothing(parsed: &Parsed) -> String {
    match (parsed.phrases.as_slice(), parsed.filters.is_empty()) {
        ([], true) => "nothing holds a word of the question".to_owned(),
        ([], false) => "nothing that the filters leave matches".to_owned(),
        (phrases, _) => {
            let left = if parsed.filters.is_empty() {
                ""
            } else {
                " that the filters leave"
            };
            format!(
                "no ticket{left} holds \"{}\" word by word; without the quotes its words are searched for",
                phrases.join("\" and \"")
            )
        }
    }
}

/// What a search works on and with.
struct Work<'a> {
    connections: &'a Connections,
    took: &'a mut Took,
    degraded: &'a mut Vec<Degraded>,
}

/// Hits with what the best of each leg was worth.
type Found = (Vec<Hit>, Nearest);

fn millis(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}
