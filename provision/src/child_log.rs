//! The log file of a child: appended by the child, kept small by the parent, and
//! read at its end when the child dies.

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::preflight;

/// Beyond this size the log is moved aside; one old one is kept.
const MOST_BYTES: u64 = 16 << 20;

/// How many lines a report about a dead child carries.
const TAIL_LINES: usize = 8;

/// With less than this no server can work.
const FULL_BYTES: u64 = 4 << 20;

const DISK_FULL: &str = "the disk is full: free some space and start again";

/// A child's log.
#[derive(Debug, Clone)]
pub(crate) struct ChildLog {
    pub(crate) path: PathBuf,
    /// Where the current run's lines begin.
    start: u64,
}

impl ChildLog {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { path, start: 0 }
    }

    /// Opens it for a new run; what was written before belongs to earlier runs.
    pub(crate) fn open(&mut self) -> Result<File> {
        self.rotate();
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&self.path)
            .map_err(Error::io("write", &self.path))?;
        self.start = file.metadata().map_or(0, |m| m.len());
        Ok(file)
    }

    /// Copies an overlong log aside and empties it. The child appends, so it goes on
    /// at the new end; lines written between copy and cut are lost.
    pub(crate) fn rotate(&mut self) {
        if fs::metadata(&self.path).is_ok_and(|m| m.len() > MOST_BYTES) {
            let old = self.path.with_extension("log.1");
            let _ = fs::copy(&self.path, old);
            if let Ok(file) = OpenOptions::new().write(true).open(&self.path) {
                let _ = file.set_len(0);
            }
            self.start = 0;
        }
    }

    /// The last lines of the current run, oldest first.
    pub(crate) fn tail(&self) -> Vec<String> {
        read_tail(&self.path, self.start).unwrap_or_default()
    }
}

fn read_tail(path: &Path, start: u64) -> std::io::Result<Vec<String>> {
    let mut file = File::open(path)?;
    let end = file.metadata()?.len();
    file.seek(SeekFrom::Start(
        start.max(end.saturating_sub(8 << 10)).min(end),
    ))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<String> = text
        .lines()
        .map(str::trim_end)
        .filter(|l| !l.is_empty())
        .map(str::to_owned)
        .collect();
    Ok(lines[lines.len().saturating_sub(TAIL_LINES)..].to_vec())
}

impl ChildLog {
    /// What ended the current run, where that is known. On a full disk the log itself
    /// has no room for the last words, so the disk is asked too.
    pub(crate) fn diagnosis(&self) -> Option<String> {
        if preflight::free_bytes(&self.path).is_ok_and(|free| free < FULL_BYTES) {
            return Some(DISK_FULL.to_owned());
        }
        diagnose(&self.tail())
    }
}

/// What a child's last words mean for the operator, where that is known.
pub(crate) fn diagnose(tail: &[String]) -> Option<String> {
    let find = |needle: &str| {
        tail.iter()
            .rev()
            .find(|l| l.to_lowercase().contains(needle))
    };
    if find("no space left on device").is_some() {
        return Some(DISK_FULL.to_owned());
    }
    if find("address already in use").is_some() {
        return Some(
            "its port is in use by another program: stop it, or configure another port".to_owned(),
        );
    }
    if let Some(line) = find("error while loading shared libraries") {
        let library = line
            .split("libraries:")
            .nth(1)
            .unwrap_or(line)
            .split(':')
            .next();
        let library = library.unwrap_or_default().trim();
        return Some(format!(
            "the system library {library} is missing: install it (on Debian, what Postgres needs: \
             apt-get install libgssapi-krb5-2 libssl3 libxml2 liblz4-1 libzstd1 libstdc++6), or \
             point at an installed one with [provision] postgres_bin"
        ));
    }
    if find("version `glibc").is_some() {
        return Some(
            "this system's C library is too old for the pinned package (glibc 2.35 is needed): \
             point at an installed one with [provision]"
                .to_owned(),
        );
    }
    if find("read-only file system").is_some() {
        return Some(
            "its folder is on a read-only file system: choose another one with --data".to_owned(),
        );
    }
    if find("permission denied").is_some() {
        return Some("it may not read or write its files: check their owner and mode".to_owned());
    }
    None
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn only_the_current_runs_last_lines_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let mut log = ChildLog::new(folder.path().join("x.log"));
        assert!(log.tail().is_empty());
        writeln!(log.open().unwrap(), "of an earlier run").unwrap();
        let mut file = log.open().unwrap();
        for n in 0..20 {
            writeln!(file, "line {n}").unwrap();
        }
        let tail = log.tail();
        assert_eq!(tail.len(), TAIL_LINES);
        assert_eq!(tail.last().unwrap(), "line 19");
        log.open().unwrap();
        assert!(log.tail().is_empty());
    }

    #[test]
    fn a_missing_library_is_named() {
        let line =
            "postgres: error while loading shared libraries: libgssapi_krb5.so.2: cannot open";
        let told = diagnose(&[line.to_owned()]).unwrap();
        assert!(
            told.contains("library libgssapi_krb5.so.2 is missing"),
            "{told}"
        );
    }
}
