//! The binary, end to end: real servers, the real model, processes killed.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod bench;
mod intake;
mod killed;
mod lookup;
mod outage;
mod remote;

use bench::{Bench, Guarded, archive, kill_server, read, sum, wait_for};
use serde_json::{Value, json};
use std::{fs, process::Stdio, time::Duration};
use whence_provision::Endpoints;

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
