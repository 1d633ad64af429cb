//! `cargo bench -p whence-embed`: what the stage costs above the bare sessions,
//! and what the rewritten graph gains; each compared side by side in one run.
//!
//! Texts are made here, of 8 to 400 tokens, in tickets of 1 to 20 chunks. Only
//! ratios mean anything: machines differ and are busy.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "a bench prints, and a failure ends it"
)]

#[path = "../tests/it/support.rs"]
mod support;

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};
use whence_embed::EmbedStage;
use whence_log::{Previous, Stage};
use whence_model::{GraphKind, ModelFiles, ModelSpec, Session, Tokenizer, fetch, find};
use whence_provision::Cache;

const TICKETS: usize = 60;
const ROUNDS: usize = 4;

fn main() {
    let spec = find("minilm").unwrap();
    let files = fetch(&spec, &Cache::open(None).unwrap()).unwrap();
    let tickets = tickets();
    let tokenizer = Tokenizer::load(&files.tokenizer).unwrap();
    let distinct: BTreeSet<&String> = tickets.iter().flatten().collect();
    let mut rows: Vec<Vec<i64>> = distinct.iter().map(|text| tokenizer.encode(text)).collect();
    rows.sort_by_key(|row| std::cmp::Reverse(row.len()));
    let tokens: usize = rows.iter().map(Vec::len).sum();
    println!("{} texts, {tokens} tokens, {TICKETS} tickets", rows.len());

    stage_and_bare(&spec, &files, &tickets, &rows);
    println!("memory at most: {}", memory());
    graphs(&spec, &files);
}

/// The stage with several tickets in flight against sessions that only run.
fn stage_and_bare(
    spec: &ModelSpec,
    files: &ModelFiles,
    tickets: &[Vec<String>],
    rows: &[Vec<i64>],
) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let mut sessions: Vec<Session> = (0..threads)
        .map(|_| Session::load(spec, files).unwrap())
        .collect();
    let stage = EmbedStage::new(Arc::new(support::load(threads)));
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();

    let (mut bare, mut whole) = (Duration::ZERO, Duration::ZERO);
    for round in 0..=ROUNDS {
        let started = Instant::now();
        run_bare(&mut sessions, rows);
        let between = Instant::now();
        runtime.block_on(run_stage(&stage, tickets));
        // The first round fills caches and allocators.
        if round > 0 {
            bare += between - started;
            whole += between.elapsed();
        }
    }
    let rate = |time: Duration| (rows.len() * ROUNDS) as f64 / time.as_secs_f64();
    println!(
        "{threads} threads: bare {:.1} texts/s, stage {:.1} texts/s, ratio {:.3}",
        rate(bare),
        rate(whole),
        rate(whole) / rate(bare)
    );
}

fn run_bare(sessions: &mut [Session], rows: &[Vec<i64>]) {
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
}

async fn run_stage(stage: &EmbedStage, tickets: &[Vec<String>]) {
    let next = AtomicUsize::new(0);
    let worker = async || {
        while let Some(texts) = tickets.get(next.fetch_add(1, Ordering::Relaxed)) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let nothing = Previous::known(None);
            stage
                .handle(support::input(&texts), &nothing)
                .await
                .unwrap();
        }
    };
    // Eight tickets in flight.
    tokio::join!(
        worker(),
        worker(),
        worker(),
        worker(),
        worker(),
        worker(),
        worker(),
        worker()
    );
}

/// Tokens a second of one session, the published graph and the rewritten one by turns.
fn graphs(spec: &ModelSpec, files: &ModelFiles) {
    let load = |graph| {
        Session::load(
            &ModelSpec {
                graph,
                ..spec.clone()
            },
            files,
        )
        .unwrap()
    };
    let mut published = load(GraphKind::Published);
    let mut rewritten = load(GraphKind::DynamicInt8);
    for length in [16usize, 32, 64, 128, 256, 512] {
        let row: Vec<i64> = (0..length as i64).map(|i| 1000 + i * 53 % 20_000).collect();
        let runs = 4096 / length;
        let mut times = [Duration::ZERO; 2];
        for _ in 0..runs {
            for (session, time) in [&mut published, &mut rewritten].into_iter().zip(&mut times) {
                let started = Instant::now();
                session.run(row.clone()).unwrap();
                *time += started.elapsed();
            }
        }
        let [slow, fast] = times.map(|time| (runs * length) as f64 / time.as_secs_f64());
        println!(
            "{length} tokens: published {slow:.0} tokens/s, rewritten {fast:.0} tokens/s, ratio {:.2}",
            fast / slow
        );
    }
}

/// Tickets of made-up remarks: short ones are many, long ones are few.
fn tickets() -> Vec<Vec<String>> {
    const WORDS: [&str; 16] = [
        "kiln",
        "glaze",
        "cools",
        "the",
        "member",
        "because",
        "dropped",
        "a",
        "nonce",
        "reused",
        "why",
        "not",
        "handshake",
        "of",
        "clay",
        "late",
    ];
    // A fixed sequence: every run measures the same texts.
    let mut state = 1u32;
    let mut below = |limit: usize| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) as usize % limit
    };
    (0..TICKETS)
        .map(|_| {
            let chunks = 1 + below(20);
            (0..chunks)
                .map(|_| {
                    let words = (8 << below(6)) + below(100);
                    let text: Vec<&str> = (0..words).map(|_| WORDS[below(16)]).collect();
                    text.join(" ")
                })
                .collect()
        })
        .collect()
}

/// The most that this process ever held, where the system tells.
fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.map_or("unknown".to_owned(), |size| size.trim().to_owned())
}
