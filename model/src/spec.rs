//! One entry of `models.toml`: what an encoder is.

use serde::Deserialize;
use serde_json::Value;
use std::{collections::BTreeMap, fmt, path::PathBuf};

/// An encoder.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSpec {
    /// The entry's name.
    #[serde(skip)]
    pub name: String,
    /// Who runs it.
    pub provider: Provider,
    /// The model as its authors name it, with its version.
    pub revision: String,
    /// The model as its server calls it. TEI serves one model and asks for no name.
    #[serde(default)]
    pub model: Option<String>,
    /// Numbers in a vector.
    pub dims: usize,
    /// Tokens it reads, special ones included.
    pub max_tokens: usize,
    /// How token vectors become one.
    pub pooling: Pooling,
    /// What stands before a question.
    pub query_prompt: String,
    /// What stands before a passage.
    pub passage_prompt: String,
    /// Which form of the graph runs.
    #[serde(default)]
    pub graph: GraphKind,
    /// `model` and `tokenizer`.
    #[serde(default)]
    pub files: BTreeMap<String, File>,
    /// The entry whose tokenizer counts this model's tokens, where it has none of
    /// its own.
    #[serde(default)]
    pub tokenizer: Option<String>,
    /// Fields that a server is sent beside the texts.
    #[serde(default)]
    pub send: BTreeMap<String, Value>,
    /// The same, with questions only.
    #[serde(default)]
    pub send_query: BTreeMap<String, Value>,
    /// The same, with passages only.
    #[serde(default)]
    pub send_passage: BTreeMap<String, Value>,
    /// The cosine similarity below which two of its vectors have nothing in common,
    /// where somebody measured it. Tells how an answer is judged, not what a vector
    /// is: no part of the identity.
    #[serde(default)]
    pub floor: Option<f64>,
    /// Where the tokenizer lies; known after the table was read as a whole.
    #[serde(skip)]
    pub counter: Option<Counter>,
}

/// A tokenizer's file, and the entry in whose folder it lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    /// The entry's name.
    pub entry: String,
    /// Its `tokenizer`.
    pub file: File,
}

/// Who runs an encoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Provider {
    /// This process.
    Onnx,
    /// Ollama, by `POST /api/embed`.
    Ollama,
    /// Whatever answers `POST /v1/embeddings` as OpenAI does.
    OpenAi,
    /// Text Embeddings Inference, by `POST /embed`.
    Tei,
}

impl Provider {
    /// Whether the model runs in this process.
    pub fn is_local(self) -> bool {
        self == Self::Onnx
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Onnx => "onnx",
            Self::Ollama => "ollama",
            Self::OpenAi => "openai",
            Self::Tei => "tei",
        })
    }
}

/// How token vectors become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pooling {
    /// The mean of all.
    Mean,
    /// The first one.
    Cls,
    /// As the server does it; its authors do not say.
    Server,
}

/// Which form of the graph runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GraphKind {
    /// As it was published.
    #[default]
    Published,
    /// Rewritten to compute with its 8-bit weights; see `graph.rs`.
    DynamicInt8,
}

/// Where a file comes from.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, untagged)]
pub enum File {
    /// From a pinned package.
    Package {
        /// Its name in provision's table.
        package: String,
        /// Path in the package.
        inside: String,
        /// Path in the archive that `inside` is, where it is one.
        #[serde(default)]
        nested: Option<String>,
        /// Of the file itself.
        sha256: String,
    },
    /// From the folder of local models.
    Local {
        /// File name in the model's folder.
        local: String,
    },
}

/// A model's files, at hand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelFiles {
    /// The ONNX graph as published.
    pub graph: PathBuf,
    /// `tokenizer.json`.
    pub tokenizer: PathBuf,
    /// `libonnxruntime.so`.
    pub runtime: PathBuf,
    /// Where a rewritten graph is kept.
    pub cache: PathBuf,
}

impl ModelSpec {
    /// What is wrong with the entry, as the end of a sentence.
    pub(crate) fn check(&self) -> Result<(), String> {
        let needs = |role: &str| match self.files.contains_key(role) {
            true => Ok(()),
            false => Err(format!("provider \"onnx\" needs files.{role}")),
        };
        if self.dims == 0 || self.max_tokens < 16 {
            return Err("dims must be 1 or more, and max_tokens 16 or more".to_owned());
        }
        if self.provider.is_local() {
            needs("model")?;
            needs("tokenizer")?;
            let sends = [&self.send, &self.send_query, &self.send_passage];
            if self.model.is_some() || sends.iter().any(|fields| !fields.is_empty()) {
                return Err("model and send… are for models on a server".to_owned());
            }
            if self.pooling == Pooling::Server {
                return Err("pooling \"server\" is for models on a server".to_owned());
            }
            return Ok(());
        }
        if self.files.contains_key("model") || self.graph != GraphKind::Published {
            return Err("files.model and graph are for provider \"onnx\"".to_owned());
        }
        if self.model.is_none() && self.provider != Provider::Tei {
            return Err("model must say how the server calls it".to_owned());
        }
        if self.files.contains_key("tokenizer") == self.tokenizer.is_some() {
            return Err(
                "either files.tokenizer or tokenizer (another entry) must say who counts tokens"
                    .to_owned(),
            );
        }
        Ok(())
    }
}
