//! The binary, end to end: real servers, the real model, processes killed.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};
use tempfile::TempDir;
use whence_provision::{Cache, Endpoints, Options, Supervisor};

/// Generous: it only guards against a hang.
const PATIENCE: Duration = Duration::from_secs(300);

/// A made-up archive with `tickets` issues of three comments each.
fn archive(tickets: usize) -> Value {
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

struct Bench {
    folder: TempDir,
}

impl Bench {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn file(&self) -> PathBuf {
        self.folder.path().join("archive.json")
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    fn write(&self, archive: &Value) {
        fs::write(self.file(), archive.to_string()).unwrap();
    }

    fn whence(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_whence"));
        command
            .args(arguments)
            .arg("--data")
            .arg(self.data())
            .current_dir(self.folder.path());
        command.stdin(Stdio::null());
        command
    }

    fn up_once(&self) -> (i32, Value) {
        let source = format!("archive:{}", self.file().display());
        let output = self
            .whence(&["up", "--once", "--json", "--source", &source])
            .output()
            .unwrap();
        read(&output)
    }

    /// All rows, without what differs between two harvests of the same.
    async fn fingerprint(&self) -> String {
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

fn read(output: &Output) -> (i32, Value) {
    let errors = String::from_utf8_lossy(&output.stderr);
    let summary = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}\n{errors}", String::from_utf8_lossy(&output.stdout)));
    (output.status.code().unwrap(), summary)
}

fn without_revisions(text: &str) -> String {
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

fn sum(summary: &Value, column: &str) -> i64 {
    let rows = summary["stats"]["tickets"].as_array().unwrap();
    rows.iter().map(|row| row[column].as_i64().unwrap()).sum()
}

fn wait_for<T>(what: &str, mut found: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = found() {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{what} never happened");
        std::thread::sleep(Duration::from_millis(30));
    }
}

#[test]
fn an_edit_embeds_what_changed_a_deletion_leaves_nothing_and_a_second_run_nothing_new() {
    let bench = Bench::new();
    let mut tickets = archive(30);
    bench.write(&tickets);
    let (code, first) = bench.up_once();
    assert_eq!(code, 0, "{first:#}");
    assert_eq!(sum(&first, "tickets"), 30);
    let units: i64 = first["stats"]["units"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| row["units"].as_i64().unwrap())
        .sum();
    assert_eq!(units, 30 * 4, "every description and comment is a unit");
    assert_eq!(first["embedded"].as_i64().unwrap(), sum(&first, "chunks"));

    let (code, second) = bench.up_once();
    assert_eq!(
        (code, second["embedded"].as_i64()),
        (0, Some(0)),
        "{second:#}"
    );
    assert_eq!(second["sources"][0]["counts"]["published"], 0);

    tickets["issues"][6]["comments"][1]["body"] = json!("The wadding was damp, that is all.");
    bench.write(&tickets);
    let (_, edited) = bench.up_once();
    assert_eq!(edited["sources"][0]["counts"]["published"], 1);
    assert_eq!(edited["embedded"], 1, "one comment is one text");
    assert_eq!(edited["reused"], 3);

    let gone = tickets["issues"].as_array_mut().unwrap().remove(6);
    bench.write(&tickets);
    let (code, deleted) = bench.up_once();
    assert_eq!(code, 0);
    assert_eq!(deleted["sources"][0]["counts"]["deleted"], 1);
    assert_eq!(sum(&deleted, "tickets"), 29);
    let rows = tokio::runtime::Runtime::new()
        .unwrap()
        .block_on(bench.fingerprint());
    assert!(
        !rows.contains("wadding"),
        "the text is gone from every table"
    );
    assert!(rows.contains("tombstones github:acme/kiln/7"), "{gone:#}");
}

#[test]
fn a_replay_of_unchanged_input_embeds_nothing_and_leaves_the_rows_identical() {
    let bench = Bench::new();
    bench.write(&archive(20));
    let source = format!("archive:{}", bench.file().display());
    bench.up_once();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let before = runtime.block_on(bench.fingerprint());
    let mut up = Guarded(
        bench
            .whence(&["up", "--source", &source, "--listen", "127.0.0.1:0"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    wait_for("up", || Endpoints::read(&bench.data()).ok());
    let replay = |from: &str| {
        // `up` may still be setting up: its workers are not there yet.
        wait_for("the replay", || {
            let output = bench
                .whence(&["replay", "--json", "--from", from])
                .output()
                .unwrap();
            output.status.success().then(|| read(&output).1)
        })
    };
    for from in ["raw", "docs", "chunks", "vectors"] {
        assert_eq!(replay(from)["done"], 20, "from {from}");
    }
    let embedded = bench.whence(&["status", "--json"]).output().unwrap();
    assert!(read(&embedded).1["dead_letters"] == 0);
    up.interrupt();
    assert_eq!(runtime.block_on(bench.fingerprint()), before);
    let (_, after) = bench.up_once();
    assert_eq!(after["embedded"], 0);
}

#[test]
fn killed_processes_leave_the_tables_of_an_undisturbed_run() {
    let tickets = archive(150);
    let calm = Bench::new();
    calm.write(&tickets);
    assert_eq!(calm.up_once().0, 0);

    let storm = Bench::new();
    storm.write(&tickets);
    let source = format!("archive:{}", storm.file().display());
    let mut up = Guarded(
        storm
            .whence(&[
                "up",
                "--once",
                "--json",
                "--without",
                "embed",
                "--source",
                &source,
            ])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap(),
    );
    wait_for("the servers", || Endpoints::read(&storm.data()).ok());
    let embed = || {
        let mut command = storm.whence(&["stage", "embed"]);
        Guarded(
            command
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap(),
        )
    };
    for round in 0..9 {
        let mut worker = embed();
        std::thread::sleep(Duration::from_millis(500 + 130 * round));
        match round % 3 {
            1 => kill_server(&storm.data(), "nats-server"),
            2 => kill_server(&storm.data(), "postgres"),
            _ => {}
        }
        worker.kill();
    }
    // The last worker may have to be started again: it ends when a server is away at its start.
    let mut worker = embed();
    let status = wait_for("the end of up --once", || {
        if worker.0.try_wait().unwrap().is_some() {
            worker = embed();
        }
        up.0.try_wait().unwrap()
    });
    assert!(status.success(), "{status}");
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (calm, storm) = (
        runtime.block_on(calm.fingerprint()),
        runtime.block_on(storm.fingerprint()),
    );
    assert!(
        calm.lines().count() > 150 * 4,
        "the comparison compares something"
    );
    let difference = calm.lines().zip(storm.lines()).find(|(a, b)| a != b);
    assert_eq!(difference, None);
    assert_eq!(calm.lines().count(), storm.lines().count());
}

#[test]
fn bad_tickets_are_dead_letters_and_good_ones_pass() {
    let bench = Bench::new();
    let mut tickets = archive(5);
    let issues = tickets["issues"].as_array_mut().unwrap();
    issues[0]["author"] = Value::Null;
    issues[1]["body"] = Value::Null;
    issues[2]["unknown"] = json!({"field": [1, 2, 3]});
    issues[3] = json!({"title": "no number"});
    bench.write(&tickets);
    let (code, summary) = bench.up_once();
    assert_eq!(code, 3, "done, but not all of it");
    assert_eq!(sum(&summary, "tickets"), 4);
    assert_eq!(summary["dead_letters"], 1);

    let text = fs::read_to_string(bench.file()).unwrap();
    fs::write(bench.file(), &text[..text.len() * 2 / 3]).unwrap();
    let (code, cut) = bench.up_once();
    assert_ne!(code, 0);
    assert_eq!(sum(&cut, "tickets"), 4, "a cut archive deletes nothing");
}

#[test]
fn wrong_input_is_one_sentence_and_leaves_nothing_behind() {
    let bench = Bench::new();
    let fails = |arguments: &[&str], words: &[&str]| {
        let output = bench.whence(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        for word in words {
            assert!(said.contains(word), "{word:?} is not in {said:?}");
        }
        assert!(
            !said.contains("panicked") && !said.contains("stack backtrace"),
            "{said}"
        );
    };
    fails(
        &["up", "--once", "--source", "nonsense"],
        &["nonsense", "wiki:"],
    );
    fails(&["up", "--once"], &["--source"]);
    fails(&["status"], &["whence up"]);
    fails(
        &["search", "--config", "missing.toml", "x"],
        &["missing.toml"],
    );
    fs::write(
        bench.folder.path().join("whence.toml"),
        "[querry]\nlisten = 1\n",
    )
    .unwrap();
    fails(&["status"], &["whence.toml", "querry"]);
    fs::write(bench.folder.path().join("whence.toml"), "").unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    fails(&["up", "--listen", &address], &["in use", &address]);
    assert!(!bench.data().exists(), "nothing was started");
}

/// A child that never outlives the test.
struct Guarded(Child);

impl Guarded {
    fn kill(&mut self) {
        let _gone_already = self.0.kill();
        self.0.wait().unwrap();
    }

    /// As Ctrl-C does, then waits.
    fn interrupt(&mut self) {
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

fn signal(name: &str, pid: u32) {
    Command::new("kill")
        .args([format!("-{name}"), pid.to_string()])
        .status()
        .unwrap();
}

/// SIGKILLs the server whose command line names this data folder.
fn kill_server(data: &Path, name: &str) {
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
