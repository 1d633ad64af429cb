//! Small cross-encoders made for tests: real graphs for the real runtime, with a
//! real tokenizer, whose scores can be foreseen.
#![allow(clippy::unwrap_used)]

use super::spec::{RerankProvider, RerankerSpec, Scores};
use crate::{
    ModelFiles, fetch_tokenizer, find,
    onnx::{Attribute, FLOAT, Graph, Model, Node, OperatorSet, Tensor, ValueInfo, int},
};
use prost::Message;
use std::collections::BTreeMap;
use tempfile::TempDir;
use whence_provision::Cache;

const INT64: i32 = 7;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Graphs {
    /// How many pairs of tokens, one of the question and one of the passage, are
    /// equal; less one, for the special token that closes both.
    Overlap,
    /// How many tokens there are, divided by 512. Asks for no types.
    Length,
    /// Two numbers for each pair.
    TwoClasses,
}

pub(crate) fn spec() -> RerankerSpec {
    RerankerSpec {
        name: "test".to_owned(),
        provider: RerankProvider::Onnx,
        revision: "test".to_owned(),
        model: None,
        max_tokens: 512,
        scores: Scores::Probability,
        send: BTreeMap::new(),
        files: BTreeMap::new(),
    }
}

/// The graph on disk, beside the tokenizer of the default encoder.
pub(crate) fn files(graph: Graphs) -> (TempDir, ModelFiles) {
    let cache = Cache::open(None).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.onnx");
    std::fs::write(&path, model(graph).encode_to_vec()).unwrap();
    let files = ModelFiles {
        graph: path,
        tokenizer: fetch_tokenizer(&find("minilm").unwrap(), &cache).unwrap(),
        runtime: cache.onnxruntime().unwrap(),
        cache: folder.path().to_owned(),
    };
    (folder, files)
}

fn model(graph: Graphs) -> Model {
    let columns = if graph == Graphs::TwoClasses { 2 } else { 1 };
    let nodes = match graph {
        Graphs::Overlap => overlap(),
        Graphs::Length | Graphs::TwoClasses => length(),
    };
    let inputs: &[&str] = match graph {
        Graphs::Overlap => &["input_ids", "attention_mask", "token_type_ids"],
        Graphs::Length | Graphs::TwoClasses => &["input_ids", "attention_mask"],
    };
    Model {
        ir_version: 8,
        producer_name: "whence".to_owned(),
        graph: Some(Graph {
            node: nodes,
            name: "test".to_owned(),
            initializer: vec![
                integers("first", &[1]),
                integers("second", &[2]),
                integers("both", &[1, 2]),
                integers("columns", &[1, columns]),
                float("one", 1.0),
                float("window", 512.0),
            ],
            input: inputs.iter().map(|name| value(name, INT64)).collect(),
            output: vec![value("logits", FLOAT)],
        }),
        opset_import: vec![OperatorSet {
            domain: String::new(),
            version: 13,
        }],
    }
}

fn overlap() -> Vec<Node> {
    vec![
        cast("attention_mask", "mask"),
        cast("token_type_ids", "second_text"),
        node("Mul", &["second_text", "mask"], "passage"),
        node("Sub", &["one", "second_text"], "first_text"),
        node("Mul", &["first_text", "mask"], "question"),
        node("Unsqueeze", &["input_ids", "second"], "rows"),
        node("Unsqueeze", &["input_ids", "first"], "lines"),
        node("Equal", &["rows", "lines"], "equal"),
        cast("equal", "same"),
        node("Unsqueeze", &["question", "second"], "of_question"),
        node("Unsqueeze", &["passage", "first"], "of_passage"),
        node("Mul", &["same", "of_question"], "from_question"),
        node("Mul", &["from_question", "of_passage"], "matches"),
        sum("matches", "both", "sum"),
        node("Sub", &["sum", "one"], "without_end"),
        node("Unsqueeze", &["without_end", "first"], "logits"),
    ]
}

fn length() -> Vec<Node> {
    vec![
        cast("attention_mask", "mask"),
        sum("mask", "first", "sum"),
        node("Div", &["sum", "window"], "share"),
        node("Unsqueeze", &["share", "first"], "column"),
        node("Tile", &["column", "columns"], "logits"),
    ]
}

fn node(op_type: &str, input: &[&str], output: &str) -> Node {
    Node {
        input: input.iter().map(|name| (*name).to_owned()).collect(),
        output: vec![output.to_owned()],
        name: output.to_owned(),
        op_type: op_type.to_owned(),
        ..Node::default()
    }
}

fn with(mut node: Node, attribute: Attribute) -> Node {
    node.attribute.push(attribute);
    node
}

fn cast(input: &str, output: &str) -> Node {
    with(node("Cast", &[input], output), int("to", i64::from(FLOAT)))
}

fn sum(input: &str, axes: &str, output: &str) -> Node {
    with(
        node("ReduceSum", &[input, axes], output),
        int("keepdims", 0),
    )
}

fn integers(name: &str, values: &[i64]) -> Tensor {
    Tensor {
        dims: vec![i64::try_from(values.len()).unwrap()],
        data_type: INT64,
        name: name.to_owned(),
        raw_data: values.iter().flat_map(|n| n.to_le_bytes()).collect(),
    }
}

fn float(name: &str, value: f32) -> Tensor {
    Tensor {
        dims: Vec::new(),
        data_type: FLOAT,
        name: name.to_owned(),
        raw_data: value.to_le_bytes().to_vec(),
    }
}

/// ONNX's description of a tensor of two dimensions, both free.
#[derive(Clone, PartialEq, Message)]
struct Type {
    #[prost(message, optional, tag = "1")]
    tensor: Option<TensorType>,
}

#[derive(Clone, PartialEq, Message)]
struct TensorType {
    #[prost(int32, tag = "1")]
    element: i32,
    #[prost(message, optional, tag = "2")]
    shape: Option<Shape>,
}

#[derive(Clone, PartialEq, Message)]
struct Shape {
    #[prost(message, repeated, tag = "1")]
    dim: Vec<Dim>,
}

#[derive(Clone, PartialEq, Message)]
struct Dim {
    #[prost(string, tag = "2")]
    name: String,
}

fn value(name: &str, element: i32) -> ValueInfo {
    let dim = |side: &str| Dim {
        name: format!("{name}_{side}"),
    };
    let shape = Shape {
        dim: vec![dim("rows"), dim("columns")],
    };
    let tensor = TensorType {
        element,
        shape: Some(shape),
    };
    let described = Type {
        tensor: Some(tensor),
    };
    ValueInfo {
        name: name.to_owned(),
        r#type: described.encode_to_vec(),
    }
}
