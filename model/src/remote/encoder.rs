//! Vectors from a server: batches, and whose fault it is when one fails.

use super::{
    Endpoint, RemoteOptions,
    client::Client,
    dialect::Dialect,
    retry::{Pace, Patience, TRIES_FOR_SOMEBODY},
    verdict::CallError,
};
use crate::{EmbedKind, ModelError, ModelSpec, batch::batches, session::normalize};
use futures::future::try_join_all;
use std::time::Duration;
use tokio::{sync::Semaphore, time::Instant};

/// Tokens of a request: what a server without a graphics card does in seconds.
const BATCH_TOKENS: usize = 8192;
/// Texts of a request; the least that servers allow by default.
const BATCH_TEXTS: usize = 32;
const PASSAGES_TIMEOUT: Duration = Duration::from_secs(120);
/// Questions on their way at a time. They have no queue but this.
const QUESTIONS: usize = 16;
/// Bytes of one vector in an answer, at most: more numbers than any model has, so
/// that one of the wrong length is told as such. And of what stands around them.
const LARGEST_VECTOR: usize = 16_384 * 32;
const AROUND: usize = 64 << 10;

/// A passage is worth some tries here; then whoever holds the ticket tries on.
const PASSAGE_TRIES: u32 = 4;
/// A text that any encoder takes.
const HARMLESS: &str = "why";

/// A passage as it is sent, and how many tokens it has.
pub(crate) struct Measured {
    pub(crate) text: String,
    pub(crate) tokens: usize,
}

/// A model on a server.
#[derive(Debug)]
pub(crate) struct RemoteEncoder {
    client: Client,
    dialect: Dialect,
    name: String,
    dims: usize,
    pace: Pace,
    passages: Semaphore,
    questions: Semaphore,
    question_timeout: Duration,
}

impl RemoteEncoder {
    /// # Errors
    /// When address or key cannot be used. The server is not asked yet.
    pub(crate) fn new(
        spec: &ModelSpec,
        endpoint: &Endpoint,
        options: RemoteOptions,
    ) -> Result<Self, ModelError> {
        Ok(Self {
            client: Client::new(endpoint)?,
            dialect: Dialect::of(spec),
            name: spec.name.clone(),
            dims: spec.dims,
            pace: Pace::default(),
            passages: Semaphore::new(options.concurrency.max(1)),
            questions: Semaphore::new(QUESTIONS),
            question_timeout: options.question_timeout,
        })
    }

    /// The server's address, for people.
    pub(crate) fn server(&self) -> &str {
        self.client.server()
    }

    /// The vector of a question, within the time it has.
    pub(crate) async fn question(&self, text: &str) -> Result<Vec<f32>, ModelError> {
        let until = Instant::now() + self.question_timeout;
        let patience = Patience {
            tries: TRIES_FOR_SOMEBODY,
            until: Some(until),
        };
        let texts = [text];
        let work = async {
            let _permit = self.questions.acquire().await;
            self.ask(&texts, EmbedKind::Query, patience).await
        };
        let answer = tokio::time::timeout_at(until, work).await;
        let answer = answer.unwrap_or_else(|_| {
            Err(CallError::Busy {
                why: format!("no answer within {} ms", self.question_timeout.as_millis()),
                wait: None,
            })
        });
        match answer {
            // `ask` gives as many vectors as texts.
            Ok(mut vectors) => vectors.pop().ok_or(ModelError::Stopped),
            Err(CallError::Refused(why)) => Err(self.refused(0, why)),
            Err(CallError::Unusable(why)) => Err(self.unusable(why)),
            Err(CallError::Busy { why, .. } | CallError::Broken(why)) => Err(self.unavailable(why)),
        }
    }

    /// The vectors of passages, in their order.
    pub(crate) async fn passages(&self, texts: &[Measured]) -> Result<Vec<Vec<f32>>, ModelError> {
        let tokens: Vec<usize> = texts.iter().map(|text| text.tokens).collect();
        let batches = batches(&tokens, BATCH_TOKENS, BATCH_TEXTS);
        let done = try_join_all(batches.into_iter().map(|batch| self.batch(texts, batch))).await?;
        let mut vectors = vec![Vec::new(); texts.len()];
        for (place, vector) in done.into_iter().flatten() {
            vectors[place] = vector;
        }
        Ok(vectors)
    }

    /// The vectors of one batch with their places. A batch that the server does not
    /// get through is halved until the text that it fails on stands alone.
    async fn batch(
        &self,
        texts: &[Measured],
        batch: Vec<usize>,
    ) -> Result<Vec<(usize, Vec<f32>)>, ModelError> {
        let patience = Patience {
            tries: PASSAGE_TRIES,
            until: None,
        };
        let mut done = Vec::with_capacity(batch.len());
        let mut waiting = vec![batch];
        while let Some(batch) = waiting.pop() {
            let sent: Vec<&str> = batch.iter().map(|at| texts[*at].text.as_str()).collect();
            let permit = self.passages.acquire().await;
            let answer = self.ask(&sent, EmbedKind::Passage, patience).await;
            drop(permit);
            let why = match answer {
                Ok(vectors) => {
                    done.extend(batch.into_iter().zip(vectors));
                    continue;
                }
                Err(CallError::Busy { why, .. }) => return Err(self.unavailable(why)),
                Err(CallError::Unusable(why)) => return Err(self.unusable(why)),
                // A server that fails on anything is not asked for each half.
                Err(CallError::Broken(why)) => {
                    self.takes_others(&why).await?;
                    why
                }
                Err(CallError::Refused(why)) if batch.len() > 1 => why,
                Err(CallError::Refused(why)) => {
                    self.takes_others(&why).await?;
                    why
                }
            };
            match batch.as_slice() {
                [place] => return Err(self.refused(*place, why)),
                batch => {
                    let (first, second) = batch.split_at(batch.len() / 2);
                    waiting.extend([second.to_vec(), first.to_vec()]);
                }
            }
        }
        Ok(done)
    }

    /// Whether the text or the server is at fault: one that takes no other text
    /// either is not to cost tickets.
    async fn takes_others(&self, why: &str) -> Result<(), ModelError> {
        let once = Patience {
            tries: 1,
            until: None,
        };
        match self.ask(&[HARMLESS], EmbedKind::Passage, once).await {
            Ok(_) => Ok(()),
            Err(CallError::Busy { why, .. }) => Err(self.unavailable(why)),
            Err(CallError::Broken(_)) => Err(self.unavailable(why.to_owned())),
            Err(CallError::Unusable(why)) => Err(self.unusable(why)),
            Err(CallError::Refused(why)) => Err(self.unusable(format!(
                "it takes no text at all: {why}; see the entry {:?} of models.toml",
                self.name
            ))),
        }
    }

    /// As many unit vectors as texts.
    async fn ask(
        &self,
        texts: &[&str],
        kind: EmbedKind,
        patience: Patience,
    ) -> Result<Vec<Vec<f32>>, CallError> {
        let path = self.dialect.path(self.client.is_bare());
        let request = self.dialect.request(texts, kind);
        let most = AROUND + texts.len() * LARGEST_VECTOR;
        let timeout = match kind {
            EmbedKind::Query => self.question_timeout,
            EmbedKind::Passage => PASSAGES_TIMEOUT,
        };
        let call = || async {
            let body = self.client.post(path, &request, most, timeout).await?;
            let mut vectors = self.dialect.read(&body).map_err(CallError::Broken)?;
            self.check(&mut vectors, texts.len())?;
            Ok(vectors)
        };
        self.pace.patiently(patience, call).await
    }

    fn check(&self, vectors: &mut [Vec<f32>], texts: usize) -> Result<(), CallError> {
        if vectors.len() != texts {
            let why = format!("it gave {} vectors for {texts} texts", vectors.len());
            return Err(CallError::Broken(why));
        }
        for vector in vectors {
            if vector.len() != self.dims {
                return Err(CallError::Unusable(format!(
                    "its vectors have {} numbers, and {:?} has dims = {} in models.toml; let the \
                     server run that model, or choose the entry of the model it runs",
                    vector.len(),
                    self.name,
                    self.dims
                )));
            }
            normalize(vector).map_err(|why| CallError::Broken(why.to_owned()))?;
        }
        Ok(())
    }

    fn unavailable(&self, why: String) -> ModelError {
        ModelError::Unavailable {
            server: self.client.server().to_owned(),
            why,
        }
    }

    fn unusable(&self, why: String) -> ModelError {
        ModelError::Unusable {
            server: self.client.server().to_owned(),
            why,
        }
    }

    fn refused(&self, index: usize, why: String) -> ModelError {
        ModelError::Refused {
            index,
            server: self.client.server().to_owned(),
            why,
        }
    }
}
