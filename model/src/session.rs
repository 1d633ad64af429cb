//! One ONNX session: the tokens of one text to its unit vector.

use crate::{GraphKind, ModelError, ModelFiles, ModelSpec, Pooling, graph};
use ort::{
    environment::Environment,
    session::{Session as Inner, builder::GraphOptimizationLevel},
    value::Tensor,
};
use std::error::Error;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

/// One per process, as the runtime wants it.
static ENVIRONMENT: OnceLock<Environment> = OnceLock::new();
static LOADING: Mutex<()> = Mutex::new(());

/// A loaded graph, run by one thread and one text at a time. A text then shares
/// nothing with others: activations are quantized by the range of what runs
/// together, and padding would change sums.
///
/// [`crate::Encoder`] keeps several of these busy; alone it is what a benchmark
/// compares with.
#[derive(Debug)]
pub struct Session {
    inner: Inner,
    /// Some graphs know two texts in one run, and ask which one a token is of.
    typed: bool,
    pooling: Pooling,
    dims: usize,
}

impl Session {
    /// Loads the graph of `spec` in the form it names. Blocks.
    ///
    /// # Errors
    /// When the runtime or the graph is missing or is not what it should be.
    pub fn load(spec: &ModelSpec, files: &ModelFiles) -> Result<Self, ModelError> {
        let graph = match spec.graph {
            GraphKind::Published => files.graph.clone(),
            GraphKind::DynamicInt8 => graph::dynamic_int8(&files.graph, &files.cache)?,
        };
        // Threads run side by side, each with a text of its own.
        let inner = open(files, &graph, 1)?;
        let typed = inner
            .inputs()
            .iter()
            .any(|input| input.name() == "token_type_ids");
        Ok(Self {
            inner,
            typed,
            pooling: spec.pooling,
            dims: spec.dims,
        })
    }

    /// The unit vector of one text, given all its tokens.
    ///
    /// # Errors
    /// When the runtime fails or answers with another shape.
    pub fn run(&mut self, ids: Vec<i64>) -> Result<Vec<f32>, ModelError> {
        let length = ids.len();
        let doing = "computing a vector";
        let tensor = |values: Vec<i64>| {
            Tensor::from_array(([1, length], values)).map_err(|e| ModelError::runtime(doing, e))
        };
        let mut inputs = ort::inputs![
            "input_ids" => tensor(ids)?,
            "attention_mask" => tensor(vec![1; length])?,
        ];
        if self.typed {
            inputs.push(("token_type_ids".into(), tensor(vec![0; length])?.into()));
        }
        let outputs = self
            .inner
            .run(inputs)
            .map_err(|e| ModelError::runtime(doing, e))?;
        let (_, values) = outputs[0]
            .try_extract_tensor::<f32>()
            .map_err(|e| ModelError::runtime(doing, e))?;
        if length == 0 || values.len() != length * self.dims {
            return Err(ModelError::runtime(
                doing,
                format!(
                    "{} numbers for {length} tokens of {} dims",
                    values.len(),
                    self.dims
                ),
            ));
        }
        let mut vector = vec![0.0f32; self.dims];
        let rows = match self.pooling {
            // `server` is refused with the entry: nothing here pools that way.
            Pooling::Mean | Pooling::Server => length,
            Pooling::Cls => 1,
        };
        for row in values.chunks_exact(self.dims).take(rows) {
            for (sum, value) in vector.iter_mut().zip(row) {
                *sum += value;
            }
        }
        normalize(&mut vector).map_err(|why| ModelError::runtime(doing, why))?;
        Ok(vector)
    }
}

/// Makes a vector one of unit length.
///
/// # Errors
/// When it has none: all zeros, or something that is no number.
pub(crate) fn normalize(vector: &mut [f32]) -> Result<(), &'static str> {
    let squares = vector.iter().map(|x| f64::from(*x) * f64::from(*x));
    let norm = squares.sum::<f64>().sqrt();
    if !norm.is_finite() || norm == 0.0 {
        return Err("the vector has no direction");
    }
    for value in vector {
        *value = (f64::from(*value) / norm) as f32;
    }
    Ok(())
}

fn environment(files: &ModelFiles) -> Result<&'static Environment, ModelError> {
    if let Some(environment) = ENVIRONMENT.get() {
        return Ok(environment);
    }
    let _one_at_a_time = LOADING.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(environment) = ENVIRONMENT.get() {
        return Ok(environment);
    }
    let unusable = |source: Box<dyn Error + Send + Sync>| ModelError::File {
        path: files.runtime.clone(),
        why: "it is not a loadable ONNX Runtime library".to_owned(),
        source: Some(source),
    };
    // A relative path would be looked for beside the executable first.
    let library = std::path::absolute(&files.runtime).map_err(|e| unusable(e.into()))?;
    let built = ort::init_from(&library)
        .map_err(|e| unusable(e.into()))?
        .with_name("whence")
        .with_telemetry(false)
        .build()
        .map_err(|e| ModelError::runtime("starting", e))?;
    Ok(ENVIRONMENT.get_or_init(|| built))
}

/// A session on `graph` that computes with `threads`.
pub(crate) fn open(files: &ModelFiles, graph: &Path, threads: usize) -> Result<Inner, ModelError> {
    let doing = "loading the graph";
    Inner::builder(environment(files)?)
        .map_err(|e| ModelError::runtime(doing, e))?
        .with_optimization_level(GraphOptimizationLevel::Level3)
        .map_err(|e| ModelError::runtime(doing, e.to_string()))?
        .with_intra_threads(threads)
        .map_err(|e| ModelError::runtime(doing, e.to_string()))?
        // Processors without 8-bit dot products add pairs of products in 16 bits,
        // which overflows: results would differ from one machine to the next.
        .with_precise_qmm()
        .map_err(|e| ModelError::runtime(doing, e.to_string()))?
        // Texts have many lengths; planning memory for each would keep all plans.
        .with_memory_pattern(false)
        .map_err(|e| ModelError::runtime(doing, e.to_string()))?
        .commit_from_file(graph)
        .map_err(|e| ModelError::runtime(doing, e))
}
