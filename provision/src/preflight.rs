//! What can be checked before anything is started: the data folder can be made and
//! written, nobody else works in it, and there is room.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io::Write as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// A fresh database and its log take about 100 MB; with less than this, writes would
/// soon fail in the middle of work.
pub(crate) const NEEDED_BYTES: u64 = 300 << 20;

/// The data folder, locked by this process for as long as this lives.
#[derive(Debug)]
pub(crate) struct DataFolder {
    pub(crate) path: PathBuf,
    _lock: File,
}

impl DataFolder {
    /// Creates the folder if needed, takes its lock, and checks for room.
    pub(crate) fn claim(path: &Path) -> Result<Self> {
        // Others may pass (Postgres may run as another user) but not list.
        create(path, 0o711)?;
        let path = path.canonicalize().map_err(Error::io("find", path))?;
        create(&path.join("run"), 0o700)?;
        create(&path.join("logs"), 0o700)?;
        let lock = lock(&path)?;
        // A kernel answers "no space" to writes, not to the creation of an empty file.
        let probe = path.join("run").join("probe");
        fs::write(&probe, [0; 4096]).map_err(Error::io("write", &probe))?;
        let _ = fs::remove_file(&probe);
        let free = free_bytes(&path)?;
        if free < NEEDED_BYTES {
            return Err(Error::DiskShort {
                path,
                free_mb: free >> 20,
                needed_mb: NEEDED_BYTES >> 20,
            });
        }
        Ok(Self { path, _lock: lock })
    }
}

fn create(path: &Path, mode: u32) -> Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    DirBuilder::new()
        .recursive(true)
        .mode(mode)
        .create(path)
        .map_err(Error::io("create the folder", path))
}

fn lock(data: &Path) -> Result<File> {
    let path = data.join("run").join("lock");
    let mut file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(Error::io("write", &path))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(Error::DataInUse {
                path: data.to_owned(),
                holder: holder(&path),
            });
        }
        Err(TryLockError::Error(e)) => return Err(Error::io("lock", &path)(e)),
    }
    file.set_len(0)
        .and_then(|()| write!(file, "{}", std::process::id()))
        .map_err(Error::io("write", &path))?;
    Ok(file)
}

fn holder(lock: &Path) -> String {
    let pid = fs::read_to_string(lock).unwrap_or_default();
    if pid.is_empty() {
        return "another process".to_owned();
    }
    match fs::read(format!("/proc/{pid}/cmdline")) {
        Ok(line) if !line.is_empty() => {
            let words: Vec<String> = line
                .split(|b| *b == 0)
                .filter(|w| !w.is_empty())
                .map(|w| String::from_utf8_lossy(w).into_owned())
                .collect();
            format!("process {pid} ({})", words.join(" "))
        }
        _ => format!("process {pid}"),
    }
}

/// Free bytes for this user on the file system of `path`.
pub(crate) fn free_bytes(path: &Path) -> Result<u64> {
    let stat = rustix::fs::statvfs(path)
        .map_err(|e| Error::io("measure the free space of", path)(e.into()))?;
    Ok(stat.f_bavail.saturating_mul(stat.f_frsize))
}
