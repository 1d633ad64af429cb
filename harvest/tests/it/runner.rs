//! One source after another into a real log.

use crate::fixture::{archive, issue, numbered, spec, write};
use serde_json::{Value, json};
use std::{fs, path::Path};
use tempfile::tempdir;
use tokio_util::sync::CancellationToken;
use whence_harvest::{HarvestError, RunOptions, run_once};
use whence_log::{Buried, Leased, Log, LogOptions, RunCounts, RunRecord, RunStatus, Selection};
use whence_provision::testing::Servers;

pub(crate) async fn log() -> (Log, Servers) {
    let servers = Servers::nats_only().await.unwrap();
    let options = LogOptions {
        url: servers.nats_url().to_owned(),
        name: "test".into(),
        ..LogOptions::default()
    };
    let log = Log::connect(&options).await.unwrap();
    log.set_up(&["test_model".to_owned()]).await.unwrap();
    (log, servers)
}

pub(crate) async fn try_run(
    log: &Log,
    spec: &str,
    options: RunOptions,
) -> Result<RunRecord, HarvestError> {
    let source = crate::fixture::open(spec);
    let (log, stop) = (log.clone(), CancellationToken::new());
    // Spawned, as the binary does: the future must be able to move.
    tokio::spawn(async move { run_once(&log, source.as_ref(), &options, &stop, &|_| ()).await })
        .await
        .unwrap()
}

async fn run(log: &Log, spec: &str) -> RunRecord {
    let record = try_run(log, spec, RunOptions::default()).await.unwrap();
    assert_eq!(log.last_run(spec).await.unwrap().as_ref(), Some(&record));
    record
}

pub(crate) async fn live(log: &Log) -> Vec<String> {
    let known = log.known(&Selection::default()).await.unwrap();
    let mut live: Vec<String> = known
        .into_iter()
        .filter(|k| k.live)
        .map(|k| k.key.to_string())
        .collect();
    live.sort();
    live
}

async fn letters(log: &Log) -> Vec<Buried> {
    log.dead_letters(&Selection::default()).await.unwrap()
}

fn counts(listed: u64, published: u64, unchanged: u64, deleted: u64) -> RunCounts {
    RunCounts {
        listed,
        published,
        unchanged,
        deleted,
        unreadable: 0,
    }
}

fn warned(record: &RunRecord, what: &str) -> bool {
    record.warnings.iter().any(|warning| warning.contains(what))
}

#[tokio::test]
async fn only_what_changed_flows_and_what_is_gone_goes() {
    let (log, _servers) = log().await;
    let dir = tempdir().unwrap();
    let path = dir.path().join("a.json");
    let source = spec("archive", &path);
    write(&path, &numbered("acme/kiln", 10));
    let first = run(&log, &source).await;
    assert_eq!(first.counts, counts(10, 10, 0, 0));
    assert_eq!(first.status, RunStatus::Succeeded);
    assert!(first.warnings.is_empty() && first.last_success_at == first.finished_at);

    assert_eq!(run(&log, &source).await.counts, counts(10, 0, 10, 0));
    let full = RunOptions {
        full: true,
        ..RunOptions::default()
    };
    assert_eq!(
        try_run(&log, &source, full).await.unwrap().counts,
        counts(10, 0, 10, 0)
    );

    let mut edited = numbered("acme/kiln", 10);
    edited["issues"][3]["comments"][0]["body"] = json!("edited");
    write(&path, &edited);
    assert_eq!(run(&log, &source).await.counts, counts(10, 1, 9, 0));
    // Another indentation is no change.
    fs::write(&path, edited.to_string()).unwrap();
    assert_eq!(run(&log, &source).await.counts, counts(10, 0, 10, 0));

    edited["issues"].as_array_mut().unwrap().remove(6);
    write(&path, &edited);
    assert_eq!(run(&log, &source).await.counts, counts(9, 0, 9, 1));
    let live = live(&log).await;
    assert!(live.len() == 9 && !live.contains(&"github:acme/kiln/7".to_owned()));
    // It comes back.
    write(&path, &numbered("acme/kiln", 10));
    assert_eq!(run(&log, &source).await.counts, counts(10, 2, 8, 0));
}

#[tokio::test]
async fn a_listing_that_is_not_to_be_believed_removes_nothing() {
    let (log, _servers) = log().await;
    let dir = tempdir().unwrap();
    let path = dir.path().join("a.json");
    let source = spec("archive", &path);
    write(&path, &numbered("acme/kiln", 40));
    run(&log, &source).await;

    // Short.
    write(&path, &numbered("acme/kiln", 20));
    let short = run(&log, &source).await;
    assert_eq!((short.counts.deleted, live(&log).await.len()), (0, 40));
    assert!(warned(&short, "20 of 40 known tickets") && warned(&short, "--max-prune 50"));
    // Empty.
    write(&path, &archive("acme/kiln", &[], &[]));
    let empty = run(&log, &source).await;
    assert_eq!((empty.counts.deleted, live(&log).await.len()), (0, 40));
    assert!(warned(&empty, "40 of 40") && warned(&empty, "neither issues nor pull"));
    // Cut, or not JSON any more.
    let text = format!(
        "{{\"repo\":\"acme/kiln\",{}",
        &numbered("acme/kiln", 40).to_string()[1..]
    );
    fs::write(&path, &text[..text.len() - 900]).unwrap();
    let cut = run(&log, &source).await;
    assert_eq!((cut.counts.deleted, cut.counts.unreadable), (0, 1));
    assert!(cut.counts.listed < 40 && warned(&cut, "breaks off at byte"));
    fs::write(&path, "<html>").unwrap();
    let junk = run(&log, &source).await;
    assert_eq!(
        (junk.status, junk.consecutive_failures),
        (RunStatus::Failed, 1)
    );
    assert!(
        junk.error.as_deref().unwrap().contains("a.json"),
        "{junk:?}"
    );
    assert_eq!(junk.last_success_at, cut.last_success_at);
    assert_eq!(live(&log).await.len(), 40);
    assert_eq!(letters(&log).await.len(), 1);

    // An unchanged file is asked again when removing was refused, and said so.
    write(&path, &numbered("acme/kiln", 20));
    assert!(warned(&run(&log, &source).await, "--max-prune 50"));
    assert!(warned(&run(&log, &source).await, "--max-prune 50"));
    let more = RunOptions {
        max_prune_percent: 50,
        ..RunOptions::default()
    };
    let pruned = try_run(&log, &source, more).await.unwrap();
    assert_eq!(
        (pruned.counts.deleted, pruned.consecutive_failures),
        (20, 0)
    );
    assert_eq!((live(&log).await.len(), letters(&log).await.len()), (20, 0));
}

#[tokio::test]
async fn what_reads_again_loses_its_letter() {
    let (log, _servers) = log().await;
    let dir = tempdir().unwrap();
    let archived = dir.path().join("a.json");
    let source = spec("archive", &archived);
    let mut made = numbered("acme/kiln", 8);
    write(&archived, &made);
    run(&log, &source).await;
    made["issues"][2]["number"] = json!("three");
    write(&archived, &made);
    let bad = run(&log, &source).await;
    assert_eq!((bad.counts.unreadable, bad.counts.deleted), (1, 0));
    let buried = letters(&log).await;
    assert_eq!(buried.len(), 1);
    let letter = &buried[0].letter;
    assert_eq!(
        (letter.stage.as_str(), letter.origin.as_deref()),
        ("harvest", Some(&*source))
    );
    assert!(
        letter
            .location
            .as_deref()
            .unwrap()
            .ends_with("a.json, issues[2]")
    );
    assert!(String::from_utf8_lossy(&letter.input).contains("three"));
    made["issues"][2]["number"] = json!(3);
    write(&archived, &made);
    run(&log, &source).await;
    assert!(letters(&log).await.is_empty());

    // The same by the ticket's own key.
    let note = dir.path().join("w/huge.md");
    let wiki = spec("wiki", &dir.path().join("w"));
    fs::create_dir(dir.path().join("w")).unwrap();
    fs::write(&note, "small").unwrap();
    fs::write(dir.path().join("w/other.md"), "other").unwrap();
    run(&log, &wiki).await;
    fs::File::create(&note).unwrap().set_len(11 << 20).unwrap();
    let huge = run(&log, &wiki).await;
    assert_eq!((huge.counts.unreadable, huge.counts.deleted), (1, 0));
    assert_eq!(letters(&log).await[0].key.ticket, "huge.md");
    fs::write(&note, "small").unwrap();
    assert_eq!(run(&log, &wiki).await.counts, counts(2, 0, 2, 0));
    assert!(letters(&log).await.is_empty());
}

#[tokio::test]
async fn sources_on_one_scope_never_remove_each_other_s_tickets() {
    let (log, _servers) = log().await;
    let dir = tempdir().unwrap();
    let (a, b) = (dir.path().join("a.json"), dir.path().join("b.json"));
    let issues: Vec<Value> = (1..=8).map(|i| issue(i, "x")).collect();
    write(&a, &archive("acme/kiln", &issues[..4], &[]));
    write(&b, &archive("acme/kiln", &issues[4..], &[]));
    for _ in 0..2 {
        assert_eq!(run(&log, &spec("archive", &a)).await.counts.deleted, 0);
        assert_eq!(run(&log, &spec("archive", &b)).await.counts.deleted, 0);
    }
    write(&a, &archive("acme/kiln", &issues[..3], &[]));
    assert_eq!(run(&log, &spec("archive", &a)).await.counts.deleted, 1);
    assert_eq!(live(&log).await.len(), 7);
}

#[tokio::test]
async fn an_archive_that_left_its_folder_goes_when_that_is_said() {
    let (log, _servers) = log().await;
    let dir = tempdir().unwrap();
    write(&dir.path().join("a.json"), &numbered("acme/kiln", 8));
    write(&dir.path().join("b.json"), &numbered("acme/oven", 8));
    let source = spec("archive", dir.path());
    assert_eq!(run(&log, &source).await.counts.published, 16);
    fs::remove_file(dir.path().join("b.json")).unwrap();
    for _ in 0..2 {
        let record = run(&log, &source).await;
        assert_eq!(record.counts.deleted, 0);
        assert!(warned(&record, "github:acme/oven: 8 of 8"), "{record:?}");
    }
    let all = RunOptions {
        max_prune_percent: 100,
        ..RunOptions::default()
    };
    let record = try_run(&log, &source, all).await.unwrap();
    assert_eq!((record.counts.listed, record.counts.deleted), (8, 8));
    assert!(run(&log, &source).await.warnings.is_empty());
}

#[tokio::test]
async fn a_wiki_s_name_belongs_to_one_folder() {
    let (log, _servers) = log().await;
    let dir = tempdir().unwrap();
    let folder = |parent: &str| {
        let path = dir.path().join(parent).join("docs");
        fs::create_dir_all(&path).unwrap();
        for note in ["one.md", "two.md"] {
            fs::write(path.join(note), parent).unwrap();
        }
        path
    };
    let (mine, other) = (folder("mine"), folder("other"));
    run(&log, &spec("wiki", &mine)).await;
    let refused = run(&log, &spec("wiki", &other)).await;
    assert_eq!(refused.status, RunStatus::Failed);
    let error = refused.error.unwrap();
    assert!(
        error.contains("wiki:NAME=") && error.contains("--force"),
        "{error}"
    );
    let named = format!("wiki:second={}", other.display());
    assert_eq!(run(&log, &named).await.counts, counts(2, 2, 0, 0));

    // Another spelling of the same folder may remove what the first published.
    fs::remove_file(mine.join("two.md")).unwrap();
    let respelled = format!("wiki:docs={}", mine.join("../docs").display());
    let record = run(&log, &respelled).await;
    assert_eq!(record.counts, counts(1, 1, 0, 1));
    assert_eq!(
        live(&log).await,
        [
            "wiki:docs/one.md",
            "wiki:second/one.md",
            "wiki:second/two.md"
        ]
    );
}

#[tokio::test]
async fn a_held_lease_names_its_holder() {
    let (log, _servers) = log().await;
    let dir = tempdir().unwrap();
    let path = dir.path().join("a.json");
    write(&path, &numbered("acme/kiln", 2));
    let source = spec("archive", &path);
    let name = format!("harvest {source}");
    let Leased::Ours(held) = log.lease(&name, "somebody else", false).await.unwrap() else {
        panic!("nobody holds it yet");
    };
    let error = try_run(&log, &source, RunOptions::default())
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("somebody else") && error.contains("--force"),
        "{error}"
    );
    assert!(log.last_run(&source).await.unwrap().is_none());
    let force = RunOptions {
        force: true,
        ..RunOptions::default()
    };
    let record = try_run(&log, &source, force).await.unwrap();
    assert_eq!(record.counts.published, 2);
    drop(held);
}

#[tokio::test]
async fn an_empty_source_is_worth_a_warning() {
    let (log, _servers) = log().await;
    let dir = tempdir().unwrap();
    let wiki = run(&log, &spec("wiki", dir.path())).await;
    assert_eq!(wiki.status, RunStatus::Succeeded);
    assert!(warned(&wiki, "no *.md"), "{wiki:?}");
    let missing = run(&log, &spec("wiki", Path::new("/nowhere/docs"))).await;
    assert!(
        missing
            .error
            .unwrap()
            .contains("/nowhere/docs; does it exist")
    );
}
