//! One ONNX session that gives each pair of a batch its logit.

use super::pair::Pair;
use crate::{ModelError, ModelFiles, pool::Runner, session};
use ort::{session::Session, value::Tensor};

const DOING: &str = "scoring pairs";

/// A loaded cross-encoder.
#[derive(Debug)]
pub(crate) struct PairSession {
    inner: Session,
    /// Some graphs ask which of the two texts a token is of.
    typed: bool,
    pad: i64,
}

impl PairSession {
    /// Loads the graph. Blocks.
    pub(crate) fn load(files: &ModelFiles, threads: usize, pad: i64) -> Result<Self, ModelError> {
        let inner = session::open(files, &files.graph, threads)?;
        let typed = inner
            .inputs()
            .iter()
            .any(|input| input.name() == "token_type_ids");
        Ok(Self { inner, typed, pad })
    }
}

impl Runner for PairSession {
    type Input = Vec<Pair>;
    type Output = Vec<f32>;

    fn run(&mut self, pairs: Vec<Pair>) -> Result<Vec<f32>, ModelError> {
        let longest = pairs.iter().map(|pair| pair.ids.len()).max().unwrap_or(0);
        let shape = [pairs.len(), longest];
        let filled = |of: fn(&Pair) -> Vec<i64>, fill: i64| {
            let mut rows = Vec::with_capacity(shape[0] * shape[1]);
            for pair in &pairs {
                let row = of(pair);
                let missing = longest - row.len();
                rows.extend(row);
                rows.extend(std::iter::repeat_n(fill, missing));
            }
            Tensor::from_array((shape, rows)).map_err(|e| ModelError::runtime(DOING, e))
        };
        let mut inputs = ort::inputs![
            "input_ids" => filled(|pair| pair.ids.clone(), self.pad)?,
            "attention_mask" => filled(|pair| vec![1; pair.ids.len()], 0)?,
        ];
        if self.typed {
            let types = filled(|pair| pair.types.clone(), 0)?;
            inputs.push(("token_type_ids".into(), types.into()));
        }
        let outputs = self
            .inner
            .run(inputs)
            .map_err(|e| ModelError::runtime(DOING, e))?;
        let (_, logits) = outputs[0]
            .try_extract_tensor::<f32>()
            .map_err(|e| ModelError::runtime(DOING, e))?;
        if logits.len() != pairs.len() {
            let why = format!(
                "{} numbers for {} pairs: a reranker gives one for each",
                logits.len(),
                pairs.len()
            );
            return Err(ModelError::runtime(DOING, why));
        }
        if logits.iter().any(|logit| !logit.is_finite()) {
            return Err(ModelError::runtime(DOING, "a score is no number"));
        }
        Ok(logits.to_vec())
    }
}
