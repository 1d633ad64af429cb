//! What a reranker is: an entry of `models.toml` with `kind = "reranker"`.

use crate::File;
use serde::Deserialize;
use serde_json::Value;
use std::{collections::BTreeMap, fmt};

/// A reranker.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RerankerSpec {
    /// The entry's name.
    #[serde(skip)]
    pub name: String,
    /// Who runs it.
    pub provider: RerankProvider,
    /// The model as its authors name it, with its version.
    pub revision: String,
    /// The model as its server calls it. TEI serves one model and asks for no name.
    #[serde(default)]
    pub model: Option<String>,
    /// Tokens of question and passage together, special ones included. For `onnx`
    /// only: a server cuts by itself.
    #[serde(default)]
    pub max_tokens: usize,
    /// What a server's scores are.
    #[serde(default)]
    pub scores: Scores,
    /// Fields that a server is sent beside question and passages.
    #[serde(default)]
    pub send: BTreeMap<String, Value>,
    /// `model` and `tokenizer`.
    #[serde(default)]
    pub files: BTreeMap<String, File>,
}

/// Who runs a reranker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RerankProvider {
    /// This process.
    Onnx,
    /// Text Embeddings Inference, by `POST /rerank`.
    Tei,
    /// Whatever answers `/rerank` as Cohere does: Jina, vLLM, llama.cpp, LiteLLM.
    Cohere,
}

impl fmt::Display for RerankProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Onnx => "onnx",
            Self::Tei => "tei",
            Self::Cohere => "cohere",
        })
    }
}

/// What a server's scores are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scores {
    /// 0 to 1.
    #[default]
    Probability,
    /// Any number; the logistic function makes a probability of it.
    Logit,
}

impl RerankerSpec {
    /// What is wrong with the entry, as the end of a sentence.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.provider != RerankProvider::Onnx {
            if !self.files.is_empty() || self.max_tokens != 0 {
                return Err("files and max_tokens are for provider \"onnx\"".to_owned());
            }
            if self.model.is_none() && self.provider == RerankProvider::Cohere {
                return Err("model must say how the server calls it".to_owned());
            }
            return Ok(());
        }
        for role in ["model", "tokenizer"] {
            if !self.files.contains_key(role) {
                return Err(format!("provider \"onnx\" needs files.{role}"));
            }
        }
        if self.max_tokens < 16 {
            return Err("max_tokens must be 16 or more".to_owned());
        }
        let sends = !self.send.is_empty();
        if self.model.is_some() || sends || self.scores != Scores::default() {
            return Err("model, send and scores are for rerankers on a server".to_owned());
        }
        Ok(())
    }
}
