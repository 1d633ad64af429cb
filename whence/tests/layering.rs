//! The arrow between crates: `whence → stages → {log, model} → {contract, provision}`.
//! No stage sees another. Walks the manifests and fails on any other arrow.
#![allow(clippy::unwrap_used)]

use std::{collections::BTreeMap, fs, path::Path};

const STAGES: [&str; 6] = ["harvest", "normalize", "chunk", "embed", "index", "query"];

/// What a crate may depend on, beyond crates that are not ours.
fn allowed(name: &str) -> Vec<&'static str> {
    match name {
        "contract" | "provision" => vec![],
        "log" => vec!["contract"],
        "model" => vec!["contract", "provision"],
        "whence" => [&STAGES[..], &["contract", "provision", "log", "model"]].concat(),
        stage if STAGES.contains(&stage) => vec!["contract", "log", "model"],
        other => panic!("{other} has no place in the layering: give it one here"),
    }
}

/// Tests start real servers and load real models, so they may also name these.
const ALLOWED_IN_TESTS: [&str; 2] = ["provision", "model"];

fn manifests() -> BTreeMap<String, toml::Table> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let read = |path: &Path| -> toml::Table { fs::read_to_string(path).unwrap().parse().unwrap() };
    let workspace = read(&root.join("Cargo.toml"));
    let members = workspace["workspace"]["members"].as_array().unwrap();
    members
        .iter()
        .map(|member| {
            let member = member.as_str().unwrap();
            (
                member.to_owned(),
                read(&root.join(member).join("Cargo.toml")),
            )
        })
        .collect()
}

fn ours(manifest: &toml::Table, section: &str) -> Vec<String> {
    let Some(table) = manifest.get(section).and_then(|s| s.as_table()) else {
        return vec![];
    };
    table
        .keys()
        .filter_map(|name| name.strip_prefix("whence-"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn data_flows_one_way() {
    let manifests = manifests();
    assert!(manifests.len() >= 11, "the walk lost members");
    for (name, manifest) in &manifests {
        for section in ["dependencies", "build-dependencies"] {
            for dependency in ours(manifest, section) {
                assert!(
                    allowed(name).contains(&dependency.as_str()),
                    "{name} must not depend on {dependency} ({section})"
                );
            }
        }
        for dependency in ours(manifest, "dev-dependencies") {
            assert!(
                allowed(name).contains(&dependency.as_str())
                    || ALLOWED_IN_TESTS.contains(&dependency.as_str()),
                "{name} must not depend on {dependency} in tests"
            );
        }
    }
}

#[test]
fn only_the_log_names_the_nats_client() {
    for (name, manifest) in manifests() {
        for section in ["dependencies", "dev-dependencies"] {
            let table = manifest.get(section).and_then(|s| s.as_table());
            let names = table.is_some_and(|t| t.contains_key("async-nats"));
            // The servers' keeper has to look at its server from outside.
            let allowed = name == "log" || (name == "provision" && section == "dev-dependencies");
            assert!(!names || allowed, "{name} names async-nats in {section}");
        }
    }
}
