//! Every ticket of real archives through the laws, with the real tokenizer.

use crate::support::{Words, assert_laws, document, limits, unit};
use crate::tokenizer::real;
use serde_json::Value;
use std::path::PathBuf;
use std::time::Instant;
use whence_chunk::{CountTokens, chunk};
use whence_contract::{Document, UnitKind};

fn eval_dir() -> PathBuf {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/eval/dev");
    std::env::var_os("WHENCE_EVAL_DIR").map_or_else(|| beside.into(), PathBuf::from)
}

/// The prose of an archive, as little of it as a chunker needs.
fn documents() -> Vec<Document> {
    let mut found = Vec::new();
    let Ok(entries) = std::fs::read_dir(eval_dir()) else {
        return found;
    };
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths
        .iter()
        .filter(|path| path.to_string_lossy().ends_with(".archive.json"))
    {
        let archive: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let project = text(&archive["repo"]);
        for ticket in list(&archive["issues"])
            .into_iter()
            .chain(list(&archive["pulls"]))
        {
            let mut units = vec![unit(UnitKind::Description, &text(&ticket["body"]))];
            for comment in list(&ticket["comments"]) {
                units.push(unit(UnitKind::Comment, &text(&comment["body"])));
            }
            for review in list(&ticket["reviews"]) {
                units.push(unit(UnitKind::Review, &text(&review["body"])));
                for comment in list(&review["comments"]) {
                    units.push(unit(UnitKind::ReviewComment, &text(&comment["body"])));
                }
            }
            for unit in &mut units {
                unit.body = unit.body.replace("\r\n", "\n");
            }
            let id = format!("{project}#{}", ticket["number"]);
            let mut document = document("github", &project, &id, units);
            document.title = text(&ticket["title"]);
            found.push(document);
        }
    }
    found
}

#[test]
fn every_ticket_keeps_the_laws() {
    let documents = documents();
    let real = real();
    if documents.is_empty() {
        println!("skipped: no archives in {}", eval_dir().display());
        return;
    }
    let bodies = documents
        .iter()
        .flat_map(|document| &document.units)
        .map(|unit| unit.body.len());
    let megabytes = bodies.sum::<usize>() as f64 / 1e6;
    println!("{} tickets, {megabytes:.2} MB of prose", documents.len());
    let rate = |started: Instant| megabytes / started.elapsed().as_secs_f64();
    let started = Instant::now();
    for unit in documents.iter().flat_map(|document| &document.units) {
        std::hint::black_box(real.count(&unit.body));
    }
    println!(
        "tokenizer alone, once over each unit: {:.2} MB/s",
        rate(started)
    );
    let started = Instant::now();
    for document in &documents {
        std::hint::black_box(chunk(document, &limits(200), &Words));
    }
    println!("chunker with a word counter: {:.2} MB/s", rate(started));
    for max in [128, 200, 256] {
        let limits = limits(max);
        let started = Instant::now();
        let tickets: Vec<_> = documents.iter().map(|d| chunk(d, &limits, &real)).collect();
        let rate = rate(started);
        let chunks = || tickets.iter().flat_map(|ticket| &ticket.chunks);
        let tokens: u64 = chunks().map(|chunk| u64::from(chunk.tokens)).sum();
        let refs: usize = tickets.iter().map(|ticket| ticket.ticket_refs.len()).sum();
        let code = chunks().filter(|chunk| !chunk.code.is_empty()).count();
        println!(
            "max_tokens {max}: {} chunks, {tokens} tokens, {refs} ticket refs, {code} units with \
             code, {rate:.2} MB/s",
            chunks().count(),
        );
    }
    for document in &documents {
        assert_laws(document, &limits(200), &real);
    }
}
