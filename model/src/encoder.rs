//! Text to vector, by an ONNX graph in this process or by a server.

use crate::{
    Endpoint, ModelError, ModelFiles, ModelSpec, RemoteOptions, Session, Tokenizer,
    pool::{Job, Pool, Priority},
    remote::{Measured, RemoteEncoder},
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

/// How an encoder runs in this process.
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
    runs: Runs,
}

/// Where the model is.
#[derive(Debug)]
enum Runs {
    Here(Pool<Session>),
    There(Box<RemoteEncoder>),
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
        Ok(Self::new(
            spec,
            tokenizer,
            Runs::Here(Pool::start(sessions)),
        ))
    }

    /// A model on the server at `endpoint`, which is not asked yet. `tokenizer`
    /// counts its tokens; see [`crate::fetch_tokenizer`].
    ///
    /// # Errors
    /// When address or key cannot be used.
    pub fn connect(
        spec: &ModelSpec,
        tokenizer: Tokenizer,
        endpoint: &Endpoint,
        options: RemoteOptions,
    ) -> Result<Self, ModelError> {
        let remote = RemoteEncoder::new(spec, endpoint, options)?;
        Ok(Self::new(
            spec,
            Arc::new(tokenizer),
            Runs::There(Box::new(remote)),
        ))
    }

    fn new(spec: &ModelSpec, tokenizer: Arc<Tokenizer>, runs: Runs) -> Self {
        Self {
            id: spec.id(),
            dims: spec.dims,
            max_tokens: spec.max_tokens,
            query_prompt: spec.query_prompt.clone(),
            passage_prompt: spec.passage_prompt.clone(),
            tokenizer,
            runs,
        }
    }

    /// The model's whole identity.
    pub fn id(&self) -> &ModelId {
        &self.id
    }

    /// The address of its server, for people; `None` for one in this process.
    pub fn server(&self) -> Option<&str> {
        match &self.runs {
            Runs::Here(_) => None,
            Runs::There(remote) => Some(remote.server()),
        }
    }

    /// Numbers in a vector.
    pub fn dims(&self) -> usize {
        self.dims
    }

    /// The model's own tokenizer.
    pub fn tokenizer(&self) -> Arc<Tokenizer> {
        self.tokenizer.clone()
    }

    /// Unit vectors of `texts`, in their order. In this process each is a function
    /// of its text alone, bit by bit: no text shares a run with another. A server
    /// may compute otherwise.
    ///
    /// Dropping the future gives up what has not begun.
    ///
    /// # Errors
    /// A passage that does not fit the model, by [`ModelError::TooLong`]; a
    /// question that does not fit is cut at the model's window. From a server:
    /// [`ModelError::Unavailable`] when it is away, [`ModelError::Refused`] for a
    /// text that it does not take, [`ModelError::Unusable`] when it takes none.
    pub async fn embed(
        &self,
        texts: Vec<String>,
        kind: EmbedKind,
    ) -> Result<Vec<Vec<f32>>, ModelError> {
        match &self.runs {
            Runs::Here(pool) => self.embed_here(pool, texts, kind).await,
            Runs::There(remote) => self.embed_there(remote, texts, kind).await,
        }
    }

    async fn embed_here(
        &self,
        pool: &Pool<Session>,
        texts: Vec<String>,
        kind: EmbedKind,
    ) -> Result<Vec<Vec<f32>>, ModelError> {
        let mut jobs = Vec::with_capacity(texts.len());
        for (place, text) in texts.into_iter().enumerate() {
            let mut ids = self.tokenizer.encode(&self.prompted(&text, kind));
            if ids.len() > self.max_tokens {
                if kind == EmbedKind::Passage {
                    return Err(self.too_long(place, ids.len()));
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
        for (place, input) in jobs {
            let (reply, answer) = oneshot::channel();
            pool.push(Job { input, reply }, priority).await?;
            waiting.push((place, answer));
        }
        let mut vectors = vec![Vec::new(); waiting.len()];
        for (place, answer) in waiting {
            vectors[place] = answer.await.map_err(|_| ModelError::Stopped)??;
        }
        Ok(vectors)
    }

    async fn embed_there(
        &self,
        remote: &RemoteEncoder,
        texts: Vec<String>,
        kind: EmbedKind,
    ) -> Result<Vec<Vec<f32>>, ModelError> {
        if kind == EmbedKind::Query {
            let mut vectors = Vec::with_capacity(texts.len());
            for text in texts {
                let text = self.prompted(&text, kind);
                let fitting = self.tokenizer.fit(&text, self.max_tokens);
                vectors.push(remote.question(fitting).await?);
            }
            return Ok(vectors);
        }
        let mut measured = Vec::with_capacity(texts.len());
        for (place, text) in texts.into_iter().enumerate() {
            let text = self.prompted(&text, kind);
            let tokens = self.tokenizer.count(&text);
            if tokens > self.max_tokens {
                return Err(self.too_long(place, tokens));
            }
            measured.push(Measured { text, tokens });
            tokio::task::yield_now().await;
        }
        remote.passages(&measured).await
    }

    /// The text with what its authors put before it.
    fn prompted(&self, text: &str, kind: EmbedKind) -> String {
        let prompt = match kind {
            EmbedKind::Query => &self.query_prompt,
            EmbedKind::Passage => &self.passage_prompt,
        };
        format!("{prompt}{text}")
    }

    fn too_long(&self, index: usize, tokens: usize) -> ModelError {
        ModelError::TooLong {
            index,
            tokens,
            limit: self.max_tokens,
        }
    }
}
