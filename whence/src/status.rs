//! `whence status`: how far the pipeline is, and how fresh each source.

use crate::{
    boot::Ending,
    cli::Output,
    context::Context,
    print::{self, age, bytes, clean},
};
use anyhow::Result;
use serde::Serialize;
use std::fmt::Write as _;
use whence_log::{EdgeStatus, RunRecord, RunStatus, Selection, WorkerReport};

/// Everything that `status --json` prints.
#[derive(Serialize)]
struct Status {
    streams: Vec<EdgeStatus>,
    workers: Vec<WorkerReport>,
    sources: Vec<RunRecord>,
    dead_letters: usize,
}

pub(crate) async fn run(context: &Context, output: Output) -> Result<Ending> {
    let status = Status {
        streams: context.log.status(&context.models).await?,
        workers: context.log.workers().await?,
        sources: context.log.runs().await?,
        dead_letters: context.log.dead_letters(&Selection::default()).await?.len(),
    };
    if output.json {
        print::json(&status)?;
    } else {
        print::text(&table(&status));
    }
    Ok(Ending::Done)
}

fn table(status: &Status) -> String {
    let mut text = String::new();
    let mut line = |row: String| {
        let _infallible = writeln!(text, "{}", row.trim_end());
    };
    line(format!(
        "{:<24} {:>8} {:>8} {:>8} {:>8} {:>7} {:>7}  {}",
        "stage", "waiting", "in work", "done", "per s", "retried", "dead", "oldest waiting"
    ));
    for reader in status.streams.iter().flat_map(|edge| &edge.readers) {
        let workers: Vec<_> = status
            .workers
            .iter()
            .filter(|w| w.stage == reader.stage)
            .collect();
        let sum = |of: fn(&WorkerReport) -> u64| workers.iter().map(|w| of(w)).sum::<u64>();
        let note = match (&reader.oldest_waiting, workers.is_empty()) {
            (Some(oldest), true) => format!("{}  no worker runs", age(*oldest)),
            (Some(oldest), false) => age(*oldest),
            (None, true) => "no worker runs".to_owned(),
            (None, false) => String::new(),
        };
        line(format!(
            "{:<24} {:>8} {:>8} {:>8} {:>8.1} {:>7} {:>7}  {note}",
            reader.stage,
            reader.pending,
            reader.in_work,
            sum(|w| w.done),
            workers.iter().fold(0.0, |sum, w| sum + w.per_second),
            sum(|w| w.retried),
            sum(|w| w.dead),
        ));
    }
    line(String::new());
    line(format!("{:<24} {:>8} {:>12}", "stream", "tickets", "size"));
    for edge in &status.streams {
        line(format!(
            "{:<24} {:>8} {:>12}",
            edge.stream,
            edge.messages,
            bytes(edge.bytes)
        ));
    }
    line(String::new());
    for run in &status.sources {
        line(source(run));
    }
    if status.sources.is_empty() {
        line("no source was harvested yet".to_owned());
    }
    match status.dead_letters {
        0 => line("no dead letters".to_owned()),
        some => line(format!("{some} dead letters: whence dead list")),
    }
    text
}

fn source(run: &RunRecord) -> String {
    let how = match run.status {
        RunStatus::Running => format!("running for {}", age(run.started_at)),
        RunStatus::Succeeded => {
            format!(
                "succeeded {} ago",
                age(run.finished_at.unwrap_or(run.started_at))
            )
        }
        RunStatus::Failed => format!(
            "FAILED {} ago ({} in a row): {}",
            age(run.finished_at.unwrap_or(run.started_at)),
            run.consecutive_failures,
            run.error.as_deref().unwrap_or("no reason given")
        ),
    };
    let fresh = match run.last_success_at {
        Some(then) => format!("complete as of {} ago", age(then)),
        None => "never complete".to_owned(),
    };
    let counts = run.counts;
    let mut text = format!(
        "{}: {how}; {fresh}; {} listed, {} new, {} unchanged, {} deleted, {} unreadable",
        clean(&run.source),
        counts.listed,
        counts.published,
        counts.unchanged,
        counts.deleted,
        counts.unreadable
    );
    for warning in &run.warnings {
        let _infallible = write!(text, "\n    {}", clean(warning));
    }
    text
}
