//! A graph that computes with its 8-bit weights instead of widening them first.
//!
//! The published graph holds each weight as 8-bit integers and a scale per
//! column, and at every run casts, scales, and then multiplies in 32-bit floats:
//!
//! ```text
//! weight ─ Cast ─ Mul(scale) ─┐
//! activation ──────────── MatMul ─►
//! ```
//!
//! The rewritten one quantizes the activation instead and multiplies integers:
//!
//! ```text
//! activation ─ DynamicQuantizeLinear ─ MatMulInteger(weight) ─ Cast ─ Mul(scales) ─►
//! ```
//!
//! The weights stay bit by bit as they were published. An embedding table is
//! looked up before it is widened, not after. The activation's scale is taken
//! over the whole batch, which is why the encoder runs one text at a time.

use crate::{
    ModelError,
    onnx::{FLOAT, Graph, INT8, Model, Node, int},
};
use prost::Message;
use std::{
    collections::{HashMap, HashSet},
    fs,
    path::{Path, PathBuf},
};
use whence_contract::ContentHash;

/// The rewritten form of the graph at `published`, kept in `cache` under the
/// hash of the original.
///
/// # Errors
/// When the graph cannot be read, has no 8-bit weights, or cannot be written.
pub(crate) fn dynamic_int8(published: &Path, cache: &Path) -> Result<PathBuf, ModelError> {
    let failed = |path: &Path, doing: &str, e: std::io::Error| ModelError::File {
        path: path.to_owned(),
        why: format!("cannot {doing} it"),
        source: Some(e.into()),
    };
    let bytes = fs::read(published).map_err(|e| failed(published, "read", e))?;
    let hash = ContentHash::of(&bytes);
    // The rewrite's own revision is part of the name: a changed rewrite must not
    // run an old graph under a new identity.
    let target = cache.join(format!(
        "dynamic-int8-{}-{}.onnx",
        crate::identity::GRAPH_REVISION,
        &hash.as_str()[..16]
    ));
    if target.is_file() {
        return Ok(target);
    }
    let mut model = Model::decode(bytes.as_slice()).map_err(|e| ModelError::File {
        path: published.to_owned(),
        why: "it is not a readable ONNX graph".to_owned(),
        source: Some(e.into()),
    })?;
    let graph = model
        .graph
        .as_mut()
        .ok_or_else(|| ModelError::file(published, "it holds no graph"))?;
    if rewrite(graph) == 0 {
        return Err(ModelError::file(
            published,
            "it has no 8-bit weights to compute with; use graph = \"published\"",
        ));
    }
    fs::create_dir_all(cache).map_err(|e| failed(cache, "create", e))?;
    // Beside the target, then in one step: another process may do the same.
    let staged = cache.join(format!(".{}.{}", hash.as_str(), std::process::id()));
    fs::write(&staged, model.encode_to_vec()).map_err(|e| failed(&staged, "write", e))?;
    fs::rename(&staged, &target).map_err(|e| failed(&target, "write", e))?;
    Ok(target)
}

/// One weight: its widened name, its 8-bit initializer and its scale.
struct Weight {
    quantized: String,
    scale: String,
}

/// Rewrites every use of an 8-bit weight; returns how many.
fn rewrite(graph: &mut Graph) -> usize {
    let weights = find_weights(graph);
    let mut nodes = Vec::with_capacity(graph.node.len());
    let mut quantized: HashSet<String> = HashSet::new();
    let mut rewritten = HashSet::new();
    let mut flat_scales = HashSet::new();
    for node in std::mem::take(&mut graph.node) {
        let weight_input = match node.op_type.as_str() {
            "MatMul" => node.input.get(1),
            "Gather" => node.input.first(),
            _ => None,
        };
        let Some(weight) = weight_input.and_then(|name| weights.get(name)) else {
            nodes.push(node);
            continue;
        };
        if node.op_type == "Gather" {
            rewritten.insert(node.input[0].clone());
            nodes.extend(gather(&node, weight));
        } else {
            rewritten.insert(node.input[1].clone());
            flat_scales.insert(weight.scale.clone());
            let first_use = quantized.insert(node.input[0].clone());
            nodes.extend(mat_mul(&node, weight, first_use));
        }
    }
    // Widening that nothing reads any more. Each weight has exactly one reader.
    nodes.retain(|node| {
        let widened = match node.op_type.as_str() {
            "Mul" => node.output.first().cloned(),
            "Cast" => node
                .output
                .first()
                .map(|name| name.trim_end_matches("_f").to_owned()),
            _ => None,
        };
        !widened.is_some_and(|name| rewritten.contains(&name))
    });
    for tensor in &mut graph.initializer {
        // [1, n] to [n]: the form that the runtime's fused kernel takes.
        if flat_scales.contains(&tensor.name) {
            tensor.dims.retain(|dim| *dim != 1);
        }
    }
    graph.node = nodes;
    rewritten.len()
}

/// The pattern `Cast(weight) → Mul(scale)`, by the name of its result.
fn find_weights(graph: &Graph) -> HashMap<String, Weight> {
    let tensors: HashMap<&str, (i32, &[i64])> = graph
        .initializer
        .iter()
        .map(|t| (t.name.as_str(), (t.data_type, t.dims.as_slice())))
        .collect();
    let is = |name: &str, data_type: i32| tensors.get(name).is_some_and(|t| t.0 == data_type);
    let casts: HashMap<&str, &str> = graph
        .node
        .iter()
        .filter(|node| node.op_type == "Cast" && is(&node.input[0], INT8))
        .map(|node| (node.output[0].as_str(), node.input[0].as_str()))
        .collect();
    graph
        .node
        .iter()
        .filter(|node| node.op_type == "Mul" && node.input.len() == 2)
        .filter_map(|node| {
            let quantized = casts.get(node.input[0].as_str())?;
            is(&node.input[1], FLOAT).then(|| {
                let weight = Weight {
                    quantized: (*quantized).to_owned(),
                    scale: node.input[1].clone(),
                };
                (node.output[0].clone(), weight)
            })
        })
        .collect()
}

fn mat_mul(node: &Node, weight: &Weight, first_use: bool) -> Vec<Node> {
    let activation = &node.input[0];
    let named = |suffix: &str| format!("{activation}_{suffix}");
    let (values, scale, zero) = (named("u8"), named("scale"), named("zero"));
    let output = &node.output[0];
    let (sum, wide, scales) = (
        format!("{output}_i32"),
        format!("{output}_f32"),
        format!("{output}_scales"),
    );
    let mut nodes = Vec::new();
    if first_use {
        nodes.push(make(
            "DynamicQuantizeLinear",
            &[activation],
            &[&values, &scale, &zero],
            vec![],
        ));
    }
    nodes.push(make(
        "MatMulInteger",
        &[&values, &weight.quantized, &zero],
        &[&sum],
        vec![],
    ));
    nodes.push(make(
        "Cast",
        &[&sum],
        &[&wide],
        vec![int("to", i64::from(FLOAT))],
    ));
    nodes.push(make("Mul", &[&scale, &weight.scale], &[&scales], vec![]));
    nodes.push(make("Mul", &[&wide, &scales], &[output], vec![]));
    nodes
}

fn gather(node: &Node, weight: &Weight) -> Vec<Node> {
    let (ids, output) = (&node.input[1], &node.output[0]);
    let (rows, scales, wide) = (
        format!("{output}_i8"),
        format!("{output}_scales"),
        format!("{output}_f32"),
    );
    vec![
        make(
            "Gather",
            &[&weight.quantized, ids],
            &[&rows],
            node.attribute.clone(),
        ),
        make(
            "Gather",
            &[&weight.scale, ids],
            &[&scales],
            node.attribute.clone(),
        ),
        make(
            "Cast",
            &[&rows],
            &[&wide],
            vec![int("to", i64::from(FLOAT))],
        ),
        make("Mul", &[&wide, &scales], &[output], vec![]),
    ]
}

fn make(
    op_type: &str,
    input: &[&String],
    output: &[&String],
    attribute: Vec<crate::onnx::Attribute>,
) -> Node {
    let owned = |names: &[&String]| names.iter().map(|name| (*name).clone()).collect();
    Node {
        op_type: op_type.to_owned(),
        name: format!("{op_type}_{}", output[0]),
        input: owned(input),
        output: owned(output),
        attribute,
        domain: String::new(),
    }
}
