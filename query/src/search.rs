//! One search, from the question to the hits.

use crate::{
    Degraded, GroupBy, Hit, Legs, Mode, QueryEncoder, SearchConfig, SearchError, SearchRequest,
    SearchResponse, Took,
    corpus::{Corpus, CorpusCache},
    exact,
    fetch::{Cut, Wanted, fetch, first_chunks},
    filters::Conditions,
    fuse::{Fused, fuse},
    recall::{
        ChunkScore, TicketScore,
        dense::{Dense, Vectors},
        lexical::Lexical,
        sort_tickets,
    },
    snippet::words,
};
use deadpool_postgres::{Client, Pool, Timeouts};
use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::{Duration, Instant},
};
use whence_model::lexical::query_terms;

/// Answers questions from the tables. Cheap to share; holds no state but the
/// count of the corpus.
pub struct SearchService {
    pool: Pool,
    encoder: Option<Arc<dyn QueryEncoder>>,
    config: SearchConfig,
    corpus: CorpusCache,
}

/// What a search works with.
struct Ask<'a> {
    request: &'a SearchRequest,
    config: SearchConfig,
    conditions: Conditions,
    terms: Vec<String>,
    corpus: Corpus,
    vector: Option<(Vectors, Vec<f32>)>,
    exact: Vec<i64>,
}

impl SearchService {
    /// A service over `pool`; without an encoder it searches by words alone.
    pub fn new(pool: Pool, encoder: Option<Arc<dyn QueryEncoder>>, config: SearchConfig) -> Self {
        Self {
            pool,
            encoder,
            config,
            corpus: CorpusCache::default(),
        }
    }

    /// The settings in use.
    pub fn config(&self) -> &SearchConfig {
        &self.config
    }

    /// Answers `request` within the configured deadline.
    ///
    /// # Errors
    /// For a request that passes a bound, a server that does not answer, and a
    /// deadline that passed. A model that does not answer is no error: the
    /// response says that it was left out.
    pub async fn search(&self, request: &SearchRequest) -> Result<SearchResponse, SearchError> {
        request.check()?;
        tokio::time::timeout(self.config.deadline, self.run(request))
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

    async fn run(&self, request: &SearchRequest) -> Result<SearchResponse, SearchError> {
        let begin = Instant::now();
        let mut took = Took::default();
        let mut degraded = Vec::new();

        let client = self.client().await?;
        let at = Instant::now();
        let vector = self
            .vector(request.mode, &client, &request.query, &mut degraded)
            .await?;
        took.encode = millis(at);
        let lexical = request.mode.lexical() || vector.is_none();
        let mode = match (vector.is_some(), lexical) {
            (true, true) => Mode::Hybrid,
            (true, false) => Mode::Dense,
            (false, _) => Mode::Lexical,
        };
        let conditions = Conditions::of(&request.filters);
        let at = Instant::now();
        let candidates = exact::candidates(&request.query, &request.filters);
        let exact = exact::tickets(&client, &candidates, &conditions).await?;
        took.exact = millis(at);
        let ask = Ask {
            request,
            config: self.config,
            conditions,
            terms: if lexical {
                query_terms(&request.query)
            } else {
                Vec::new()
            },
            corpus: self.corpus.get(&client).await?,
            vector,
            exact,
        };
        // The legs run beside each other where a second connection is free. To
        // wait for one while holding the first could wait for ever.
        let at_once = Timeouts {
            wait: Some(Duration::ZERO),
            ..self.pool.timeouts()
        };
        let second = self.pool.timeout_get(&at_once).await.ok();
        let other = second.as_ref().unwrap_or(&client);
        let hits = match request.group_by {
            GroupBy::Ticket => ask.tickets(mode, &client, other, &mut took).await?,
            GroupBy::Chunk => ask.chunks(mode, &client, other, &mut took).await?,
        };
        took.total = millis(begin);
        Ok(SearchResponse {
            hits,
            mode,
            degraded,
            took_ms: took,
        })
    }

    /// The question's vector and the table to compare it in, or the reason why
    /// there is none.
    async fn vector(
        &self,
        mode: Mode,
        client: &Client,
        query: &str,
        degraded: &mut Vec<Degraded>,
    ) -> Result<Option<(Vectors, Vec<f32>)>, SearchError> {
        if !mode.dense() {
            return Ok(None);
        }
        let mut without = |code, reason: String| {
            degraded.push(Degraded { code, reason });
            Ok(None)
        };
        let Some(encoder) = &self.encoder else {
            return without("no_encoder", "no embedding model is configured".to_owned());
        };
        let Some(vectors) = Vectors::of(client, encoder.model()).await? else {
            let reason = format!("there are no vectors of the model {} yet", encoder.model());
            return without("no_vectors", reason);
        };
        match encoder.encode(query).await {
            Ok(vector) if vectors.takes(&vector) => Ok(Some((vectors, vector))),
            Ok(vector) => {
                let reason = format!("the model gave {} dimensions", vector.len());
                without("encoder_failed", reason)
            }
            Err(error) => without("encoder_failed", error.to_string()),
        }
    }
}

impl Ask<'_> {
    fn dense(&self) -> Option<Dense<'_>> {
        self.vector.as_ref().map(|(vectors, vector)| Dense {
            vectors,
            vector,
            conditions: &self.conditions,
            exact_below: self.config.exact_below,
            chunks: self.corpus.chunks,
        })
    }

    fn lexical(&self) -> Lexical<'_> {
        Lexical {
            terms: &self.terms,
            conditions: &self.conditions,
            corpus: self.corpus,
            ticket_bm25: self.config.ticket_bm25,
            chunk_bm25: self.config.chunk_bm25,
        }
    }

    /// How many each leg recalls: enough to fill `k`.
    fn depth(&self) -> usize {
        self.config.recall.max(self.request.k.saturating_mul(2))
    }

    async fn tickets(
        &self,
        mode: Mode,
        client: &Client,
        other: &Client,
        took: &mut Took,
    ) -> Result<Vec<Hit>, SearchError> {
        let (dense, lexical) = (self.dense(), self.lexical());
        let depth = self.depth();
        let by_vectors = async {
            let at = Instant::now();
            let found = match &dense {
                Some(dense) => dense.chunks_of_tickets(client, depth).await?,
                None => Vec::new(),
            };
            Ok::<_, SearchError>((found, millis(at)))
        };
        let by_words = async {
            let at = Instant::now();
            Ok::<_, SearchError>((lexical.tickets(other, depth, None).await?, millis(at)))
        };
        let ((near, dense_took), (mut worded, lexical_took)) =
            tokio::try_join!(by_vectors, by_words)?;
        (took.dense, took.lexical) = (dense_took, lexical_took);

        // Each leg scores what only the other found, and what the question names:
        // a ticket just below a leg's depth is not one without any likeness.
        let at = Instant::now();
        let mut near = best_of_tickets(&near);
        let known: HashSet<i64> = near.iter().map(|ticket| ticket.ticket_id).collect();
        let worded_known: HashSet<i64> = worded.iter().map(|ticket| ticket.ticket_id).collect();
        let all: HashSet<i64> = known
            .iter()
            .chain(&worded_known)
            .chain(&self.exact)
            .copied()
            .collect();
        if let Some(dense) = &dense {
            let missing: Vec<i64> = all.difference(&known).copied().collect();
            near.extend(best_of_tickets(
                &dense.of_tickets(client, &missing, 1).await?,
            ));
            sort_tickets(&mut near);
        }
        if mode.lexical() {
            let missing: Vec<i64> = all.difference(&worded_known).copied().collect();
            worded.extend(
                lexical
                    .tickets(client, missing.len(), Some(&missing))
                    .await?,
            );
            sort_tickets(&mut worded);
        }
        let pairs = |tickets: &[TicketScore]| -> Vec<(i64, f64)> {
            tickets
                .iter()
                .map(|ticket| (ticket.ticket_id, ticket.score))
                .collect()
        };
        let (near, worded) = (pairs(&near), pairs(&worded));
        let mut fused = fuse(
            self.request.fusion.unwrap_or(self.config.fusion),
            mode.dense().then_some(near.as_slice()),
            mode.lexical().then_some(worded.as_slice()),
        );
        for id in self
            .exact
            .iter()
            .filter(|id| !near.iter().chain(&worded).any(|x| x.0 == **id))
        {
            fused.push(Fused {
                key: *id,
                score: 0.0,
                legs: Legs::default(),
            });
        }
        self.exact_first(&mut fused, |key| key);
        fused.truncate(self.request.k);
        took.fuse = millis(at);

        let at = Instant::now();
        let ids: Vec<i64> = fused.iter().map(|fused| fused.key).collect();
        let mut shown = self.shown(&dense, &lexical, client, &ids).await?;
        let wanted: Vec<Wanted> = ids
            .iter()
            .map(|id| Wanted {
                ticket_id: *id,
                seqs: shown.remove(id).unwrap_or_default(),
            })
            .collect();
        let hits = self.fetch(client, &wanted, &fused, |key| key).await?;
        took.fetch = millis(at);
        Ok(hits)
    }

    async fn chunks(
        &self,
        mode: Mode,
        client: &Client,
        other: &Client,
        took: &mut Took,
    ) -> Result<Vec<Hit>, SearchError> {
        let (dense, lexical) = (self.dense(), self.lexical());
        let depth = self.depth();
        let by_vectors = async {
            let at = Instant::now();
            let found = match &dense {
                Some(dense) => dense.chunks(client, depth).await?,
                None => Vec::new(),
            };
            Ok::<_, SearchError>((found, millis(at)))
        };
        let by_words = async {
            let at = Instant::now();
            Ok::<_, SearchError>((lexical.chunks(other, depth).await?, millis(at)))
        };
        let ((near, dense_took), (worded, lexical_took)) = tokio::try_join!(by_vectors, by_words)?;
        (took.dense, took.lexical) = (dense_took, lexical_took);

        let at = Instant::now();
        let pairs = |chunks: &[ChunkScore]| -> Vec<((i64, i32), f64)> {
            chunks
                .iter()
                .map(|chunk| ((chunk.ticket_id, chunk.seq), chunk.score))
                .collect()
        };
        let (near, worded) = (pairs(&near), pairs(&worded));
        let mut fused = fuse(
            self.request.fusion.unwrap_or(self.config.fusion),
            mode.dense().then_some(near.as_slice()),
            mode.lexical().then_some(worded.as_slice()),
        );
        let known: HashSet<i64> = fused.iter().map(|fused| fused.key.0).collect();
        let named: Vec<i64> = self
            .exact
            .iter()
            .filter(|id| !known.contains(id))
            .copied()
            .collect();
        for (ticket_id, seqs) in self.shown(&dense, &lexical, client, &named).await? {
            let keys = seqs.iter().map(|seq| (ticket_id, *seq));
            fused.extend(keys.map(|key| Fused {
                key,
                score: 0.0,
                legs: Legs::default(),
            }));
        }
        self.exact_first(&mut fused, |(ticket_id, _)| ticket_id);
        fused.truncate(self.request.k);
        took.fuse = millis(at);

        let at = Instant::now();
        let wanted: Vec<Wanted> = fused
            .iter()
            .map(|fused| Wanted {
                ticket_id: fused.key.0,
                seqs: vec![fused.key.1],
            })
            .collect();
        let hits = self
            .fetch(client, &wanted, &fused, |(ticket_id, _)| ticket_id)
            .await?;
        took.fetch = millis(at);
        Ok(hits)
    }

    /// Puts what the question names first, in its order; their score says so.
    fn exact_first<K: Copy>(&self, fused: &mut [Fused<K>], ticket: fn(K) -> i64) {
        if self.exact.is_empty() {
            return;
        }
        let place = |key: K| self.exact.iter().position(|id| *id == ticket(key));
        for fused in fused.iter_mut() {
            if place(fused.key).is_some() {
                fused.score += 1.0;
            }
        }
        // Stable: the rest keeps its order.
        fused.sort_by_key(|fused| place(fused.key).unwrap_or(usize::MAX));
    }

    /// The chunks to show of each ticket: the best by both legs together.
    async fn shown(
        &self,
        dense: &Option<Dense<'_>>,
        lexical: &Lexical<'_>,
        client: &Client,
        tickets: &[i64],
    ) -> Result<HashMap<i64, Vec<i32>>, SearchError> {
        // A few of each leg: the best of both is hardly ever below that.
        let each = self.config.chunks_per_ticket + 2;
        let near = match dense {
            Some(dense) => dense.of_tickets(client, tickets, each).await?,
            None => Vec::new(),
        };
        let worded = lexical.of_tickets(client, tickets, each).await?;
        let mut of: HashMap<i64, [Vec<(i32, f64)>; 2]> = HashMap::new();
        for (leg, chunks) in [near, worded].into_iter().enumerate() {
            for chunk in chunks {
                if let Some(list) = of.entry(chunk.ticket_id).or_default().get_mut(leg) {
                    list.push((chunk.seq, chunk.score));
                }
            }
        }
        let choose = |[near, worded]: &[Vec<(i32, f64)>; 2]| {
            let fused = fuse(
                self.config.fusion,
                Some(near.as_slice()),
                Some(worded.as_slice()),
            );
            fused
                .iter()
                .take(self.config.chunks_per_ticket)
                .map(|fused| fused.key)
                .collect()
        };
        let mut shown: HashMap<i64, Vec<i32>> = of
            .iter()
            .map(|(ticket, legs)| (*ticket, choose(legs)))
            .collect();
        // Found by its title or its id alone: its beginning.
        let rest: Vec<i64> = tickets
            .iter()
            .filter(|id| !shown.contains_key(id))
            .copied()
            .collect();
        shown.extend(first_chunks(client, &rest, &self.conditions).await?);
        Ok(shown)
    }

    async fn fetch<K: Copy>(
        &self,
        client: &Client,
        wanted: &[Wanted],
        fused: &[Fused<K>],
        ticket: fn(K) -> i64,
    ) -> Result<Vec<Hit>, SearchError> {
        let words = words(&self.request.query);
        let cut = Cut {
            words: &words,
            chars: self.config.snippet_chars,
        };
        let found = fetch(client, wanted, &cut).await?;
        let mut hits: Vec<Hit> = Vec::with_capacity(found.len());
        for (hit, fused) in found.into_iter().zip(fused) {
            let Some(mut hit) = hit else { continue };
            hit.rank = hits.len() + 1;
            hit.score = fused.score;
            hit.exact = self.exact.contains(&ticket(fused.key));
            hit.legs = self.request.explain.then_some::<Legs>(fused.legs);
            hits.push(hit);
        }
        Ok(hits)
    }
}

/// A ticket is as near as its nearest chunk.
fn best_of_tickets(chunks: &[ChunkScore]) -> Vec<TicketScore> {
    let mut seen = HashSet::new();
    let best = chunks.iter().filter(|chunk| seen.insert(chunk.ticket_id));
    best.map(|chunk| TicketScore {
        ticket_id: chunk.ticket_id,
        score: chunk.score,
    })
    .collect()
}

fn millis(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1000.0
}
