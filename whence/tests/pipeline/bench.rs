//! A data folder, a made-up archive and the binary on them.

use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};
use tempfile::TempDir;
use whence_provision::{Cache, Options, Supervisor};

/// Generous: it only guards against a hang.
const PATIENCE: Duration = Duration::from_secs(300);

/// A made-up archive with `tickets` issues of three comments each.
pub(crate) fn archive(tickets: usize) -> Value {
    let words = [
        "kiln", "glaze", "clay", "fires", "twice", "cracks", "cone", "oxide", "shelf", "ash",
    ];
    let prose = |seed: usize| -> String {
        (0..40)
            .map(|i| words[(seed * 7 + i * i + i) % words.len()])
            .collect::<Vec<_>>()
            .join(" ")
    };
    let issue = |number: usize| {
        let comments: Vec<Value> = (0..3)
            .map(|n| {
                json!({"author": "grace", "createdAt": format!("2024-01-02T00:00:0{n}Z"),
                    "body": format!("Comment {n} on {number}: {}", prose(number * 3 + n))})
            })
            .collect();
        json!({"number": number, "title": format!("Question {number} about the kiln"),
            "url": format!("https://github.com/acme/kiln/issues/{number}"), "state": "OPEN",
            "author": "ada", "labels": ["design"], "createdAt": "2024-01-01T00:00:00Z",
            "updatedAt": "2024-01-02T00:00:00Z", "comments": comments,
            "body": format!("See #{} and `fire()` in src/kiln.rs. {}", number % 5 + 1, prose(number))})
    };
    json!({"magic": "E!vIA5L86J2I", "timestamp": "2024-01-03T00:00:00+00:00",
        "repo": "acme/kiln", "labels": [], "pulls": [],
        "issues": (1..=tickets).map(issue).collect::<Vec<_>>()})
}

pub(crate) struct Bench {
    pub(crate) folder: TempDir,
}

impl Bench {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("archive.json")
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub(crate) fn write(&self, archive: &Value) {
        fs::write(self.file(), archive.to_string()).unwrap();
    }

    pub(crate) fn whence(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_whence"));
        command
            .args(arguments)
            .arg("--data")
            .arg(self.data())
            .current_dir(self.folder.path());
        command.stdin(Stdio::null());
        command
    }

    pub(crate) fn up_once(&self) -> (i32, Value) {
        let source = format!("archive:{}", self.file().display());
        let output = self
            .whence(&["up", "--once", "--json", "--source", &source])
            .output()
            .unwrap();
        read(&output)
    }

    /// All rows, without what differs between two harvests of the same.
    pub(crate) async fn fingerprint(&self) -> String {
        let options = Options::new(self.data(), Cache::open(None).unwrap());
        let supervisor = Supervisor::start(options).await.unwrap();
        let pool = whence_index::pool(&supervisor.endpoints().postgres_url, 1).unwrap();
        let text = whence_index::fingerprint(&pool.get().await.unwrap())
            .await
            .unwrap();
        supervisor.stop().await;
        without_revisions(&text)
    }
}

pub(crate) fn read(output: &Output) -> (i32, Value) {
    let errors = String::from_utf8_lossy(&output.stderr);
    let summary = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}\n{errors}", String::from_utf8_lossy(&output.stdout)));
    (output.status.code().unwrap(), summary)
}

pub(crate) fn without_revisions(text: &str) -> String {
    let mut kept = String::new();
    for line in text.lines() {
        let mut parts = line.split("\"revision\": ");
        kept.push_str(parts.next().unwrap());
        for part in parts {
            kept.push_str("\"revision\": …");
            kept.push_str(part.trim_start_matches(|c: char| c.is_ascii_digit()));
        }
        kept.push('\n');
    }
    kept
}

pub(crate) fn sum(summary: &Value, column: &str) -> i64 {
    let rows = summary["stats"]["tickets"].as_array().unwrap();
    rows.iter().map(|row| row[column].as_i64().unwrap()).sum()
}

pub(crate) fn wait_for<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{what} never happened");
        std::thread::sleep(Duration::from_millis(30));
    }
}

/// A child that never outlives the test.
pub(crate) struct Guarded(pub(crate) Child);

impl Guarded {
    pub(crate) fn kill(&mut self) {
        let _gone_already = self.0.kill();
        self.0.wait().unwrap();
    }

    /// As Ctrl-C does, then waits.
    pub(crate) fn interrupt(&mut self) {
        signal("INT", self.0.id());
        wait_for("the end after Ctrl-C", || self.0.try_wait().unwrap());
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        let _gone_already = self.0.kill();
        let _reaped = self.0.wait();
    }
}

pub(crate) fn signal(name: &str, pid: u32) {
    Command::new("kill")
        .args([format!("-{name}"), pid.to_string()])
        .status()
        .unwrap();
}

/// SIGKILLs the server whose command line names this data folder.
pub(crate) fn kill_server(data: &Path, name: &str) {
    let data = data.to_string_lossy().into_owned();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else {
            continue;
        };
        let Ok(line) = fs::read(entry.path().join("cmdline")) else {
            continue;
        };
        let line = String::from_utf8_lossy(&line).into_owned();
        let program = line.split('\0').next().unwrap_or_default();
        if program.ends_with(name) && line.contains(&data) {
            signal("KILL", pid);
        }
    }
}
