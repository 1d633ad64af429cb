//! `cargo bench -p whence --bench sweep`: a first sweep of real archives by
//! `whence up --once`, from an empty folder to searchable, against the bare
//! encoder on the very texts that the sweep embeds; both in one run.
//!
//! `WHENCE_EVAL_DIR` names the folder with `*.archive.json`. The sweep's time
//! holds everything: starting both servers, reading, chunking, writing rows.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench prints, and a failure ends it"
)]

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};
use whence_chunk::{CountTokens, Limits, RefRules};
use whence_contract::Timestamp;
use whence_harvest::{Batches, Item, Opening, Since, SourceSpec};
use whence_model::{Session, Tokenizer, fetch, find};
use whence_provision::Cache;

/// As configured by default.
const MAX_TOKENS: usize = 200;

struct Counter(Tokenizer);

impl CountTokens for Counter {
    fn count(&self, text: &str) -> usize {
        self.0.count(text)
    }
}

fn main() {
    let folder = std::env::var_os("WHENCE_EVAL_DIR").map_or_else(
        || {
            PathBuf::from(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../shared/eval/dev"
            ))
        },
        PathBuf::from,
    );
    let archives = archives(&folder);
    if archives.is_empty() {
        println!(
            "no *.archive.json in {}; set WHENCE_EVAL_DIR",
            folder.display()
        );
        return;
    }
    let spec = find("minilm").unwrap();
    let files = fetch(&spec, &Cache::open(None).unwrap()).unwrap();
    let counter = Counter(Tokenizer::load(&files.tokenizer).unwrap());
    let texts = texts(&archives, &counter);
    let mut rows: Vec<Vec<i64>> = texts.iter().map(|text| counter.0.encode(text)).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.len()));
    let tokens: usize = rows.iter().map(Vec::len).sum();
    println!(
        "{} archives, {} texts, {tokens} tokens",
        archives.len(),
        rows.len()
    );

    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut sessions: Vec<Session> = (0..threads)
        .map(|_| Session::load(&spec, &files).unwrap())
        .collect();
    let bare = bare(&mut sessions, &rows);
    println!(
        "embedding alone, {threads} threads: {:.1} s",
        bare.as_secs_f64()
    );
    drop(sessions);
    let sweep = sweep(&archives);
    println!(
        "the whole sweep: {:.1} s, ratio {:.2}",
        sweep.as_secs_f64(),
        sweep.as_secs_f64() / bare.as_secs_f64()
    );
}

fn archives(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let mut archives: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(".archive.json"))
        .collect();
    archives.sort();
    archives
}

/// What the sweep embeds: each text once.
fn texts(archives: &[PathBuf], counter: &Counter) -> BTreeSet<String> {
    let limits = Limits {
        max_tokens: MAX_TOKENS,
        refs: RefRules::default(),
    };
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let mut texts = BTreeSet::new();
    for archive in archives {
        let spec: SourceSpec = format!("archive:{}", archive.display()).parse().unwrap();
        let source = spec.open(&Opening::new(Timestamp::now)).unwrap();
        let items = runtime.block_on(async {
            let (out, mut batches) = Batches::channel(4);
            let listing = async {
                let out = out;
                source.list(Since::default(), &out).await.unwrap();
            };
            let taking = async {
                let mut items = Vec::new();
                while let Some(batch) = batches.recv().await {
                    items.extend(batch.items);
                }
                items
            };
            tokio::join!(listing, taking).1
        });
        for item in items {
            if let Item::Ticket { key, raw } = item {
                let document = whence_normalize::normalize(&raw, &key).unwrap();
                let chunked = whence_chunk::chunk(&document, &limits, counter);
                texts.extend(chunked.chunks.into_iter().map(|chunk| chunk.text));
            }
        }
    }
    texts
}

fn bare(sessions: &mut [Session], rows: &[Vec<i64>]) -> Duration {
    let started = Instant::now();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for session in sessions {
            scope.spawn(|| {
                while let Some(row) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
                    session.run(row.clone()).unwrap();
                }
            });
        }
    });
    started.elapsed()
}

fn sweep(archives: &[PathBuf]) -> Duration {
    let data = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_whence"));
    command.args(["--data", data.path().to_str().unwrap(), "up", "--once"]);
    for archive in archives {
        command
            .arg("--source")
            .arg(format!("archive:{}", archive.display()));
    }
    let started = Instant::now();
    let ended = command
        .current_dir(data.path())
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(ended.success(), "{ended}");
    started.elapsed()
}
