//! A question with all that answering it needs.

use crate::{
    Mode, Reranker, SearchConfig, SearchError, SearchRequest,
    corpus::Corpus,
    filters::Conditions,
    lease::Lease,
    recall::{
        dense::{Dense, Vectors},
        lexical::{Lexical, Weights},
    },
};
use deadpool_postgres::{Client, Pool};
use std::collections::HashSet;

/// What is looked for.
pub(super) struct Question {
    /// What the encoder and the reranker read.
    pub(super) text: String,
    /// What BM25 looks up, each once.
    pub(super) terms: Vec<String>,
    /// What might be an id or an address.
    pub(super) identifiers: Vec<String>,
    /// What stands in texts as a name: as written, and as BM25 counts it.
    pub(super) names: Vec<(String, String)>,
    pub(super) conditions: Conditions,
    /// Why nothing at all is left, if nothing is.
    pub(super) nothing: String,
}

/// A question under way.
pub(super) struct Ask<'a> {
    pub(super) request: &'a SearchRequest,
    pub(super) config: SearchConfig,
    pub(super) question: Question,
    pub(super) weights: Weights,
    pub(super) corpus: Corpus,
    pub(super) vector: Option<(Vectors, Vec<f32>)>,
    /// Tickets that the question names, in its order.
    pub(super) exact: Vec<i64>,
    /// Tickets that hold a rare name of the question.
    pub(super) holders: HashSet<i64>,
    /// The legs in use.
    pub(super) mode: Mode,
    pub(super) dense_floor: Option<f64>,
    pub(super) reranker: Option<&'a dyn Reranker>,
}

impl Ask<'_> {
    pub(super) fn dense(&self) -> Option<Dense<'_>> {
        self.vector.as_ref().map(|(vectors, vector)| Dense {
            vectors,
            vector,
            conditions: &self.question.conditions,
            exact_below: self.config.exact_below,
            chunks: self.corpus.chunks,
        })
    }

    pub(super) fn lexical(&self) -> Lexical<'_> {
        Lexical {
            weights: &self.weights,
            conditions: &self.question.conditions,
            corpus: self.corpus,
            ticket_bm25: self.config.ticket_bm25,
            chunk_bm25: self.config.chunk_bm25,
        }
    }

    /// Tickets that the question names, and those that hold a name of it.
    pub(super) fn named(&self) -> impl Iterator<Item = i64> {
        let others = self.holders.iter().filter(|id| !self.exact.contains(id));
        self.exact.iter().chain(others).copied()
    }

    /// How many each leg recalls: enough to fill `k`.
    pub(super) fn depth(&self) -> usize {
        self.config.recall.max(self.request.k.saturating_mul(2))
    }
}

/// Connections of one search: one for certain, more where they are free.
pub(super) struct Connections {
    first: Lease,
    more: Vec<Lease>,
}

impl Connections {
    pub(super) async fn of(pool: &Pool) -> Result<Self, SearchError> {
        let first = Lease::of(pool).await?;
        let mut more = Vec::new();
        for _ in 0..2 {
            let Some(lease) = Lease::at_once(pool).await else {
                break;
            };
            more.push(lease);
        }
        Ok(Self { first, more })
    }

    pub(super) fn first(&self) -> &Client {
        &self.first
    }

    pub(super) fn second(&self) -> &Client {
        self.more.first().unwrap_or(&self.first)
    }

    pub(super) fn third(&self) -> &Client {
        match self.more.get(1) {
            Some(lease) => lease,
            None => self.second(),
        }
    }

    /// All answers are in.
    pub(super) fn done(self) {
        self.first.done();
        self.more.into_iter().for_each(Lease::done);
    }
}
