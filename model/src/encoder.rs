//! Text to vector, by an ONNX graph in this process.

use crate::{
    ModelError, ModelFiles, ModelSpec, Session, Tokenizer,
    pool::{Job, Pool, Priority},
};
use std::sync::Arc;
use tokio::sync::oneshot;
use whence_contract::ModelId;

/// What a text is to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EmbedKind {
    /// A question: answered before any passage that waits.
    Query,
    /// Something to be found.
    Passage,
}

/// How an encoder runs.
#[derive(Clone, Copy, Debug, Default)]
pub struct EncoderOptions {
    /// Sessions, each with one thread; 0 takes one for each core.
    pub threads: usize,
}

/// A model at work. Shared by cloning an `Arc`; stops when the last one goes.
#[derive(Debug)]
pub struct Encoder {
    id: ModelId,
    dims: usize,
    max_tokens: usize,
    query_prompt: String,
    passage_prompt: String,
    tokenizer: Arc<Tokenizer>,
    pool: Pool,
}

impl Encoder {
    /// Loads the model of `spec`, once for each thread.
    ///
    /// # Errors
    /// When a file is missing or is not what it should be.
    pub fn load(
        spec: &ModelSpec,
        files: &ModelFiles,
        options: EncoderOptions,
    ) -> Result<Self, ModelError> {
        let tokenizer = Arc::new(Tokenizer::load(&files.tokenizer)?);
        let threads = match options.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let sessions = (0..threads)
            .map(|_| Session::load(spec, files))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            id: spec.id(),
            dims: spec.dims,
            max_tokens: spec.max_tokens,
            query_prompt: spec.query_prompt.clone(),
            passage_prompt: spec.passage_prompt.clone(),
            tokenizer,
            pool: Pool::start(sessions),
        })
    }

    /// The model's whole identity.
    pub fn id(&self) -> &ModelId {
        &self.id
    }

    /// Numbers in a vector.
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// The model's own tokenizer.
    pub fn tokenizer(&self) -> Arc<Tokenizer> {
        self.tokenizer.clone()
    }

    /// Unit vectors of `texts`, in their order. Each is a function of its text
    /// alone, bit by bit: no text shares a run with another.
    ///
    /// Dropping the future gives up what has not begun.
    ///
    /// # Errors
    /// A passage that does not fit the model, by [`ModelError::TooLong`]; a
    /// question that does not fit is cut at the model's window.
    pub async fn embed(
        &self,
        texts: Vec<String>,
        kind: EmbedKind,
    ) -> Result<Vec<Vec<f32>>, ModelError> {
        let prompt = match kind {
            EmbedKind::Query => &self.query_prompt,
            EmbedKind::Passage => &self.passage_prompt,
        };
        let mut jobs = Vec::with_capacity(texts.len());
        for (place, text) in texts.into_iter().enumerate() {
            let mut ids = self.tokenizer.encode(&format!("{prompt}{text}"));
            if ids.len() > self.max_tokens {
                if kind == EmbedKind::Passage {
                    let (tokens, limit) = (ids.len(), self.max_tokens);
                    return Err(ModelError::TooLong {
                        index: place,
                        tokens,
                        limit,
                    });
                }
                // The last token closes the text.
                let last = ids.len() - 1;
                ids.swap(self.max_tokens - 1, last);
                ids.truncate(self.max_tokens);
            }
            jobs.push((place, ids));
            // A large ticket takes a while: let others on this thread go on.
            tokio::task::yield_now().await;
        }
        // Longest first, so that no long text is left alone at the end while
        // the other threads idle.
        jobs.sort_by_key(|(place, ids)| (std::cmp::Reverse(ids.len()), *place));
        let priority = match kind {
            EmbedKind::Query => Priority::High,
            EmbedKind::Passage => Priority::Low,
        };
        let mut waiting = Vec::with_capacity(jobs.len());
        for (place, ids) in jobs {
            let (reply, answer) = oneshot::channel();
            self.pool.push(Job { ids, reply }, priority).await?;
            waiting.push((place, answer));
        }
        let mut vectors = vec![Vec::new(); waiting.len()];
        for (place, answer) in waiting {
            vectors[place] = answer.await.map_err(|_| ModelError::Stopped)??;
        }
        Ok(vectors)
    }
}
