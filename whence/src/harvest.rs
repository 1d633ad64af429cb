//! Harvesting: `whence sync`, and the passes of `whence up`.

use crate::{
    boot::{self, Ending},
    cli::Sync,
    context::Context,
    print, progress, wishes,
};
use anyhow::{Context as _, Result, bail};
use std::{path::Path, sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;
use whence_harvest::{HarvestError, RunOptions, SourceSpec, run_once};
use whence_log::{RunRecord, RunStatus};

/// How often it is looked for tickets that somebody wants now.
const WISHES: Duration = Duration::from_secs(1);

/// Source names as they are typed.
pub(crate) fn parse(names: &[String]) -> Result<Vec<SourceSpec>> {
    names
        .iter()
        .map(|name| Ok(name.parse::<SourceSpec>()?))
        .collect()
}

/// `whence sync`.
pub(crate) async fn run(context: &Context, arguments: Sync) -> Result<Ending> {
    let names = match arguments.sources.is_empty() {
        true => &context.config.sources,
        false => &arguments.sources,
    };
    let sources = parse(names)?;
    if sources.is_empty() {
        bail!("nothing to harvest; name a source, such as wiki:docs, or set `sources`");
    }
    let stop = boot::stop_on_signal()?;
    let mut options = options(context, "sync")?;
    options.force = arguments.force;
    options.full = arguments.full;
    if let Some(percent) = arguments.prune.max_prune {
        options.max_prune_percent = percent;
    }
    if let Some(seconds) = arguments.watch {
        let pause = Duration::from_secs(seconds);
        forever(context, &sources, &options, Pauses::all(pause), &stop).await;
        return Ok(Ending::Done);
    }
    let runs = once(context, &sources, &options, &stop).await?;
    if arguments.output.json {
        print::json(&runs)?;
    } else {
        for run in &runs {
            print::text(&format!("{}\n", line(run)));
        }
    }
    let failed = runs.iter().any(|run| run.status != RunStatus::Succeeded);
    let unreadable = runs.iter().any(|run| run.counts.unreadable > 0);
    Ok(match (failed, unreadable) {
        (true, _) => Ending::Failed,
        (false, true) => Ending::Incomplete,
        (false, false) => Ending::Done,
    })
}

fn line(run: &RunRecord) -> String {
    let counts = run.counts;
    let mut text = format!(
        "{}: {} listed, {} published, {} unchanged, {} deleted, {} unreadable",
        print::clean(&run.source),
        counts.listed,
        counts.published,
        counts.unchanged,
        counts.deleted,
        counts.unreadable
    );
    for note in run.warnings.iter().chain(&run.error) {
        text.push_str(&format!("\n    {}", print::clean(note)));
    }
    text
}

/// How passes are run, as configured.
pub(crate) fn options(context: &Context, command: &str) -> Result<RunOptions> {
    let harvest = &context.config.harvest;
    Ok(RunOptions {
        command: command.to_owned(),
        max_prune_percent: harvest.max_prune,
        sweep_after: Duration::from_secs(harvest.sweep_seconds),
        worked: worked(&harvest.worked)?,
        ..RunOptions::default()
    })
}

/// Tickets that are named, and those that entries of a named folder are called
/// after.
fn worked(named: &[String]) -> Result<Vec<String>> {
    let mut tickets = Vec::new();
    for name in named {
        if !Path::new(name).is_dir() {
            tickets.push(name.clone());
            continue;
        }
        let unreadable = || format!("cannot read {name}, named in harvest.worked");
        for entry in std::fs::read_dir(name).with_context(unreadable)? {
            let entry = entry.with_context(unreadable)?.file_name();
            let entry = entry.to_string_lossy().replace("%2F", "/");
            if !entry.starts_with('.') {
                tickets.push(entry);
            }
        }
    }
    tickets.sort();
    tickets.dedup();
    Ok(tickets)
}

/// One pass over each source.
pub(crate) async fn once(
    context: &Context,
    sources: &[SourceSpec],
    options: &RunOptions,
    stop: &CancellationToken,
) -> Result<Vec<RunRecord>> {
    let mut runs = Vec::new();
    for source in sources {
        if stop.is_cancelled() {
            break;
        }
        runs.push(pass(context, source, options, stop).await?);
    }
    Ok(runs)
}

/// Between two passes over a source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pauses {
    files: Duration,
    trackers: Duration,
}

impl Pauses {
    fn all(pause: Duration) -> Self {
        Self {
            files: pause,
            trackers: pause,
        }
    }

    /// As configured.
    pub(crate) fn of(context: &Context) -> Self {
        let harvest = &context.config.harvest;
        Self {
            files: Duration::from_secs(harvest.interval_seconds),
            trackers: Duration::from_secs(harvest.tracker_interval_seconds),
        }
    }
}

/// Passes over all sources, side by side, until `stop`.
pub(crate) async fn forever(
    context: &Context,
    sources: &[SourceSpec],
    options: &RunOptions,
    pauses: Pauses,
    stop: &CancellationToken,
) {
    let passes = sources
        .iter()
        .map(|source| repeat(context, source, options, pauses, stop));
    futures::future::join_all(passes).await;
    stop.cancelled().await;
}

async fn repeat(
    context: &Context,
    source: &SourceSpec,
    options: &RunOptions,
    pauses: Pauses,
    stop: &CancellationToken,
) {
    let mut said = None;
    while !stop.is_cancelled() {
        let outcome = match pass(context, source, options, stop).await {
            Ok(run) if run.counts.published + run.counts.deleted > 0 => Some(Ok(line(&run))),
            Ok(run) => run
                .error
                .map(Err)
                .or_else(|| run.warnings.first().cloned().map(Err)),
            Err(error) => Some(Err(format!("{error:#}"))),
        };
        match outcome {
            Some(Ok(line)) => {
                print::text(&format!("{line}\n"));
                said = None;
            }
            // The same trouble every few seconds is said once.
            Some(Err(trouble)) if said.as_ref() != Some(&trouble) && !stop.is_cancelled() => {
                tracing::warn!("{}: {trouble}", source.as_str());
                said = Some(trouble);
            }
            Some(Err(_)) => {}
            None => said = None,
        }
        rest(context, source, pauses, stop).await;
    }
}

/// Waits for the next pass; meanwhile fetches what somebody wants now.
async fn rest(context: &Context, source: &SourceSpec, pauses: Pauses, stop: &CancellationToken) {
    let opened = wishes::open(context, source, Arc::new(|_| ()));
    let tracker = opened.ok().filter(|source| source.tracker().is_some());
    let pause = match tracker {
        Some(_) => pauses.trackers,
        None => pauses.files,
    };
    let granting = async {
        let Some(source) = tracker else {
            return std::future::pending().await;
        };
        loop {
            tokio::time::sleep(WISHES).await;
            if let Err(error) = wishes::grant(context, source.as_ref(), stop).await {
                tracing::warn!("{}: {error:#}", source.name());
            }
        }
    };
    tokio::select! {
        () = stop.cancelled() => {}
        () = tokio::time::sleep(pause) => {}
        () = granting => {}
    }
}

/// One pass over one source.
pub(crate) async fn pass(
    context: &Context,
    source: &SourceSpec,
    options: &RunOptions,
    stop: &CancellationToken,
) -> Result<RunRecord> {
    let bar = progress::spinner(source.as_str());
    let waits = bar.clone();
    let notice = Arc::new(move |line: &str| waits.set_message(line.to_owned()));
    let opened = wishes::open(context, source, notice)?;
    let show = |counts: whence_log::RunCounts| {
        bar.set_message(format!("{} tickets", counts.listed));
    };
    let ended = run_once(&context.log, opened.as_ref(), options, stop, &show).await;
    bar.finish_and_clear();
    ended
        .map_err(|error: HarvestError| anyhow::Error::new(error))
        .with_context(|| format!("cannot harvest {}", source.as_str()))
}
