//! Harvesting: `whence harvest`, and the passes of `whence up`.

use crate::{
    boot::{self, Ending},
    cli::Harvest,
    context::Context,
    print, progress,
};
use anyhow::{Context as _, Result, bail};
use std::{sync::Arc, time::Duration};
use tokio_util::sync::CancellationToken;
use whence_contract::Timestamp;
use whence_harvest::{HarvestError, Opening, RunOptions, Settings, SourceSpec, run_once};
use whence_log::{RunRecord, RunStatus};

/// Source names as they are typed.
pub(crate) fn parse(names: &[String]) -> Result<Vec<SourceSpec>> {
    names
        .iter()
        .map(|name| Ok(name.parse::<SourceSpec>()?))
        .collect()
}

/// `whence harvest`.
pub(crate) async fn run(context: &Context, arguments: Harvest) -> Result<Ending> {
    let names = match arguments.sources.is_empty() {
        true => &context.config.sources,
        false => &arguments.sources,
    };
    let sources = parse(names)?;
    if sources.is_empty() {
        bail!("nothing to harvest; name a source, such as wiki:docs, or set `sources`");
    }
    let stop = boot::stop_on_signal()?;
    let max_prune = arguments.prune.max_prune;
    let mut runs = Vec::new();
    for source in &sources {
        runs.push(
            pass(
                context,
                source,
                "harvest",
                arguments.force,
                max_prune,
                &stop,
            )
            .await?,
        );
    }
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

/// One pass over each source.
pub(crate) async fn once(
    context: &Context,
    sources: &[SourceSpec],
    command: &str,
    force: bool,
    stop: &CancellationToken,
) -> Result<Vec<RunRecord>> {
    let mut runs = Vec::new();
    for source in sources {
        if stop.is_cancelled() {
            break;
        }
        runs.push(pass(context, source, command, force, None, stop).await?);
    }
    Ok(runs)
}

/// Passes over all sources, side by side, until `stop`.
pub(crate) async fn forever(context: &Context, sources: &[SourceSpec], stop: &CancellationToken) {
    let passes = sources.iter().map(|source| repeat(context, source, stop));
    futures::future::join_all(passes).await;
    stop.cancelled().await;
}

async fn repeat(context: &Context, source: &SourceSpec, stop: &CancellationToken) {
    let pause = Duration::from_secs(context.config.harvest.interval_seconds);
    let mut said = None;
    while !stop.is_cancelled() {
        let outcome = match pass(context, source, "up", false, None, stop).await {
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
        tokio::select! {
            () = stop.cancelled() => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// One pass over one source.
async fn pass(
    context: &Context,
    source: &SourceSpec,
    command: &str,
    force: bool,
    max_prune: Option<u8>,
    stop: &CancellationToken,
) -> Result<RunRecord> {
    let bar = progress::spinner(source.as_str());
    let waits = bar.clone();
    let opening = Opening {
        settings: Settings::new(context.config.kinds.clone()),
        notice: Arc::new(move |line| waits.set_message(line.to_owned())),
        ..Opening::new(Timestamp::now)
    };
    let opened = source.open(&opening)?;
    let options = RunOptions {
        command: command.to_owned(),
        force,
        max_prune_percent: max_prune.unwrap_or(context.config.harvest.max_prune),
        ..RunOptions::default()
    };
    let show = |counts: whence_log::RunCounts| {
        bar.set_message(format!("{} tickets", counts.listed));
    };
    let ended = run_once(&context.log, opened.as_ref(), &options, stop, &show).await;
    bar.finish_and_clear();
    ended
        .map_err(|error: HarvestError| anyhow::Error::new(error))
        .with_context(|| format!("cannot harvest {}", source.as_str()))
}
