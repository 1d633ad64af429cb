//! Text to vector, by an ONNX graph in this process.

use crate::{
    GraphKind, ModelError, ModelFiles, ModelSpec, Pooling, Tokenizer, graph,
    pool::{Job, Pool, Priority},
};
use ort::{
    environment::Environment,
    session::{Session, builder::GraphOptimizationLevel},
    value::Tensor,
};
use std::sync::{Arc, OnceLock};
use tokio::sync::oneshot;
use whence_contract::ModelId;

/// One per process, as the runtime wants it.
static ENVIRONMENT: OnceLock<Environment> = OnceLock::new();

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
        let graph = match spec.graph {
            GraphKind::Published => files.graph.clone(),
            GraphKind::DynamicInt8 => graph::dynamic_int8(&files.graph, &files.cache)?,
        };
        let tokenizer = Arc::new(Tokenizer::load(&files.tokenizer)?);
        let environment = environment(files)?;
        let threads = match options.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        let mut models = Vec::with_capacity(threads);
        for _ in 0..threads {
            models.push(Model {
                session: session(environment, &graph)?,
                pooling: spec.pooling,
                dims: spec.dims,
            });
        }
        Ok(Self {
            id: spec.id(),
            dims: spec.dims,
            max_tokens: spec.max_tokens,
            query_prompt: spec.query_prompt.clone(),
            passage_prompt: spec.passage_prompt.clone(),
            tokenizer,
            pool: Pool::start(models),
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
                    return Err(ModelError::TooLong { index: place, tokens, limit });
                }
                // The last token closes the text.
                let last = ids.len() - 1;
                ids.swap(self.max_tokens - 1, last);
                ids.truncate(self.max_tokens);
            }
            jobs.push((place, ids));
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

fn environment(files: &ModelFiles) -> Result<&'static Environment, ModelError> {
    if let Some(environment) = ENVIRONMENT.get() {
        return Ok(environment);
    }
    static LOADING: std::sync::Mutex<()> = std::sync::Mutex::new(());
    let _one_at_a_time = LOADING.lock().unwrap_or_else(|e| e.into_inner());
    if let Some(environment) = ENVIRONMENT.get() {
        return Ok(environment);
    }
    let built = ort::init_from(&files.runtime)
        .map_err(|e| ModelError::File {
            path: files.runtime.clone(),
            why: "it is not a loadable ONNX Runtime library".to_owned(),
            source: Some(e.into()),
        })?
        .with_name("whence")
        .build()
        .map_err(|e| ModelError::runtime("starting", e))?;
    Ok(ENVIRONMENT.get_or_init(|| built))
}

fn session(environment: &Environment, graph: &std::path::Path) -> Result<Session, ModelError> {
    let doing = "loading the graph";
    Session::builder(environment)
        .map_err(|e| ModelError::runtime(doing, e))?
        .with_optimization_level(GraphOptimizationLevel::Level3)
        .map_err(|e| ModelError::runtime(doing, e.to_string()))?
        .with_intra_threads(1)
        .map_err(|e| ModelError::runtime(doing, e.to_string()))?
        // Texts have many lengths; planning memory for each would keep all plans.
        .with_memory_pattern(false)
        .map_err(|e| ModelError::runtime(doing, e.to_string()))?
        .commit_from_file(graph)
        .map_err(|e| ModelError::runtime(doing, e))
}

/// One session and how its output becomes a vector.
pub(crate) struct Model {
    session: Session,
    pooling: Pooling,
    dims: usize,
}

impl Model {
    /// The unit vector of one text.
    pub(crate) fn run(&mut self, ids: Vec<i64>) -> Result<Vec<f32>, ModelError> {
        let length = ids.len();
        let doing = "computing a vector";
        let tensor = |values: Vec<i64>| {
            Tensor::from_array(([1, length], values)).map_err(|e| ModelError::runtime(doing, e))
        };
        let inputs = ort::inputs![
            "input_ids" => tensor(ids)?,
            "attention_mask" => tensor(vec![1; length])?,
            "token_type_ids" => tensor(vec![0; length])?,
        ];
        let outputs = self.session.run(inputs).map_err(|e| ModelError::runtime(doing, e))?;
        let (_, values) =
            outputs[0].try_extract_tensor::<f32>().map_err(|e| ModelError::runtime(doing, e))?;
        if length == 0 || values.len() != length * self.dims {
            return Err(ModelError::runtime(
                doing,
                format!("{} numbers for {length} tokens of {} dims", values.len(), self.dims),
            ));
        }
        let mut vector = vec![0.0f32; self.dims];
        let rows = match self.pooling {
            Pooling::Mean => length,
            Pooling::Cls => 1,
        };
        for row in values.chunks_exact(self.dims).take(rows) {
            for (sum, value) in vector.iter_mut().zip(row) {
                *sum += value;
            }
        }
        let norm = vector.iter().map(|x| f64::from(*x) * f64::from(*x)).sum::<f64>().sqrt();
        if !norm.is_finite() || norm == 0.0 {
            return Err(ModelError::runtime(doing, "the vector has no direction"));
        }
        for value in &mut vector {
            *value = (f64::from(*value) / norm) as f32;
        }
        Ok(vector)
    }
}
