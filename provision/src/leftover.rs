//! Finds and ends servers that a killed parent left behind on our data folder.
//!
//! They are known by their arguments: a server of ours names a path below the data
//! folder. The caller holds the folder's lock, so whoever runs there is an orphan.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::error::{Error, Result};

/// How long an orphan may take to end by itself.
const PATIENCE: Duration = Duration::from_secs(20);

/// Ends every `program` (by file name) that has `argument` among its arguments.
/// Returns how many there were.
pub(crate) fn stop(
    name: &'static str,
    program: &str,
    argument: &Path,
    gently: Signal,
) -> Result<usize> {
    let mut found = 0;
    for pid in running(program, argument) {
        found += 1;
        tracing::warn!(
            server = name,
            pid = pid.as_raw_nonzero().get(),
            "stopping a leftover of a killed run"
        );
        let alive = || running(program, argument).contains(&pid);
        for (signal, patience) in [(gently, PATIENCE), (Signal::KILL, PATIENCE)] {
            let _ = kill_process(pid, signal);
            let until = Instant::now() + patience;
            while alive() && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        if alive() {
            return Err(Error::Child {
                name,
                cause: format!(
                    "of an earlier run still works on this data folder (process {}) and cannot be \
                     stopped: stop it and start again",
                    pid.as_raw_nonzero()
                ),
                log_tail: Vec::new(),
            });
        }
    }
    Ok(found)
}

fn running(program: &str, argument: &Path) -> Vec<Pid> {
    let Ok(processes) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    processes
        .flatten()
        .filter_map(|entry| {
            let pid = Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)?;
            let line = fs::read(entry.path().join("cmdline")).ok()?;
            let mut arguments = line.split(|b| *b == 0);
            let first = Path::new(OsStr::from_bytes(arguments.next()?));
            let is_ours = first.file_name() == Some(OsStr::new(program))
                && arguments.any(|a| a == argument.as_os_str().as_bytes());
            is_ours.then_some(pid)
        })
        .collect()
}
