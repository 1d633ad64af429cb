//! Hashes of files on disk, and the record that lies beside an unpacked one, so
//! that damage or a change is noticed at the next start.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::error::{Error, Result};

/// The name of the record in an unpacked tree.
const TREE_RECORD: &str = "SHA256SUMS";

/// The sha256 of a file's bytes, in hex.
pub(crate) fn of_file(path: &Path) -> Result<String> {
    let mut file = File::open(path).map_err(Error::io("read", path))?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 17];
    loop {
        let n = file.read(&mut buffer).map_err(Error::io("read", path))?;
        if n == 0 {
            return Ok(hex::encode(hash.finalize()));
        }
        hash.update(&buffer[..n]);
    }
}

/// Fails unless the file's hash is `expected`; `delete` is what the operator should remove.
pub(crate) fn verify(path: &Path, expected: &str, delete: &Path) -> Result<()> {
    let found = match of_file(path) {
        Ok(found) => found,
        Err(Error::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {
            "missing".to_owned()
        }
        Err(e) => return Err(e),
    };
    if found == expected {
        return Ok(());
    }
    Err(Error::Tampered {
        path: path.to_owned(),
        expected: expected.to_owned(),
        found,
        delete: delete.to_owned(),
    })
}

/// Where the record of a single unpacked file lies.
pub(crate) fn record_of(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".sha256");
    PathBuf::from(name)
}

/// Checks an unpacked file against its record. `false`: there is nothing to check yet.
pub(crate) fn verify_recorded(path: &Path) -> Result<bool> {
    let record = record_of(path);
    if !path.exists() || !record.exists() {
        return Ok(false);
    }
    let expected = fs::read_to_string(&record).map_err(Error::io("read", &record))?;
    verify(path, expected.trim(), path)?;
    Ok(true)
}

/// Writes the record of every regular file below `root`.
pub(crate) fn record_tree(root: &Path) -> Result<()> {
    let mut lines = Vec::new();
    for path in files_below(root)? {
        let relative = path.strip_prefix(root).unwrap_or(&path);
        lines.push(format!("{}  {}\n", of_file(&path)?, relative.display()));
    }
    lines.sort();
    let record = root.join(TREE_RECORD);
    fs::write(&record, lines.concat()).map_err(Error::io("write", &record))
}

/// Checks a tree against its record. `false`: there is no tree yet.
pub(crate) fn verify_tree(root: &Path) -> Result<bool> {
    let record = root.join(TREE_RECORD);
    if !record.exists() {
        return Ok(false);
    }
    let lines = fs::read_to_string(&record).map_err(Error::io("read", &record))?;
    for line in lines.lines() {
        if let Some((expected, relative)) = line.split_once("  ") {
            verify(&root.join(relative), expected, root)?;
        }
    }
    Ok(true)
}

fn files_below(root: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(Error::io("list", &folder))? {
            let entry = entry.map_err(Error::io("list", &folder))?;
            let kind = entry.file_type().map_err(Error::io("inspect", &folder))?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() {
                files.push(entry.path());
            }
        }
    }
    Ok(files)
}
