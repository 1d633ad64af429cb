//! The edges of the pipeline as a table: stream, subjects, reader.

use whence_contract::TicketKey;

/// One stream: what it is called, and who reads it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Edge {
    /// Upstream payloads; harvest writes, normalize reads.
    Raw,
    /// Documents; normalize writes, chunk reads.
    Docs,
    /// Chunks; chunk writes, embed reads.
    Chunks,
    /// Vectors of one model, by its slug; embed writes, index reads.
    Vectors(String),
    /// What is searchable, by the model's slug; index writes.
    Indexed(String),
    /// Dead letters of every stage.
    Dead,
}

impl Edge {
    /// All edges of a pipeline with these models, in the order the data runs.
    pub fn all(models: &[String]) -> Vec<Edge> {
        let mut edges = vec![Edge::Raw, Edge::Docs, Edge::Chunks];
        edges.extend(models.iter().cloned().map(Edge::Vectors));
        edges.extend(models.iter().cloned().map(Edge::Indexed));
        edges.push(Edge::Dead);
        edges
    }

    /// The stream's name.
    pub fn stream(&self) -> String {
        match self {
            Edge::Raw => "RAW".to_owned(),
            Edge::Docs => "DOCS".to_owned(),
            Edge::Chunks => "CHUNKS".to_owned(),
            Edge::Vectors(model) => format!("VECTORS_{model}"),
            Edge::Indexed(model) => format!("INDEXED_{model}"),
            Edge::Dead => "DEAD".to_owned(),
        }
    }

    /// What every subject of the stream begins with, without the last dot.
    pub fn prefix(&self) -> String {
        match self {
            Edge::Raw => "raw".to_owned(),
            Edge::Docs => "docs".to_owned(),
            Edge::Chunks => "chunks".to_owned(),
            Edge::Vectors(model) => format!("vectors.{model}"),
            Edge::Indexed(model) => format!("indexed.{model}"),
            Edge::Dead => "dead".to_owned(),
        }
    }

    /// The subject of the one message of `key`.
    pub fn subject(&self, key: &TicketKey) -> String {
        format!("{}.{}", self.prefix(), key.tokens())
    }

    /// The stage that reads the stream, which is also its durable consumer's name.
    pub fn reader(&self) -> Option<String> {
        match self {
            Edge::Raw => Some("normalize".to_owned()),
            Edge::Docs => Some("chunk".to_owned()),
            Edge::Chunks => None,
            Edge::Vectors(_) => Some("index".to_owned()),
            Edge::Indexed(_) | Edge::Dead => None,
        }
    }

    /// The durable consumers of the stream. CHUNKS has one for each model.
    pub fn consumers(&self, models: &[String]) -> Vec<String> {
        match self {
            Edge::Chunks => models
                .iter()
                .map(|model| format!("embed_{model}"))
                .collect(),
            other => other.reader().into_iter().collect(),
        }
    }
}
