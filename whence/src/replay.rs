//! `whence replay`: run stages again from what the log holds.

use crate::{
    boot::{self, Ending},
    cli::{Replay, ReplayFrom},
    context::Context,
    print, progress,
};
use anyhow::Result;
use serde::Serialize;
use whence_log::{Edge, LogErrorKind, ReplayPlan, Selection};

/// What `replay --json` prints.
#[derive(Serialize)]
struct Report {
    from: String,
    tickets: u64,
    done: u64,
    dry_run: bool,
}

pub(crate) async fn run(context: &Context, arguments: Replay) -> Result<Ending> {
    let stop = boot::stop_on_signal()?;
    let from = match arguments.from {
        ReplayFrom::Raw => Edge::Raw,
        ReplayFrom::Docs => Edge::Docs,
        ReplayFrom::Chunks => Edge::Chunks,
        ReplayFrom::Vectors => Edge::Vectors(context.slug()),
    };
    let selection = Selection {
        provenance: None,
        source: arguments.source,
        scope: arguments.project,
        ticket: arguments.ticket,
    };
    let total = context.log.count(&from, &selection).await?;
    let mut report = Report {
        from: from.stream(),
        tickets: total,
        done: 0,
        dry_run: arguments.dry_run,
    };
    if !arguments.dry_run {
        warn_of_idle_stages(context, &from).await?;
        let plan = ReplayPlan {
            from,
            selection,
            window: arguments.window,
        };
        let bar = progress::bar("replay", total);
        let ended = context
            .log
            .replay(&plan, &context.models, &stop, |now| {
                bar.set_length(now.total);
                bar.set_position(now.done.saturating_sub(now.under_way));
            })
            .await;
        bar.finish_and_clear();
        match ended {
            Ok(progress) => report.done = progress.done,
            Err(e) if e.kind == LogErrorKind::Conflict && stop.is_cancelled() => {
                anyhow::bail!(e)
            }
            Err(e) => return Err(e.into()),
        }
    }
    if arguments.output.json {
        print::json(&report)?;
    } else if report.dry_run {
        print::text(&format!(
            "{total} tickets of {} would run again\n",
            report.from
        ));
    } else {
        print::text(&format!(
            "{} of {total} tickets of {} ran again\n",
            report.done, report.from
        ));
    }
    Ok(Ending::Done)
}

/// A replay waits for its stages: say so where one does not run.
async fn warn_of_idle_stages(context: &Context, from: &Edge) -> Result<()> {
    let workers = context.log.workers().await?;
    let edges = Edge::all(&context.models);
    let later = edges.iter().skip_while(|edge| *edge != from);
    for consumer in later.flat_map(|edge| edge.consumers(&context.models)) {
        if !workers.iter().any(|worker| worker.stage == consumer) {
            tracing::warn!("no worker of {consumer} runs; the replay waits for one");
        }
    }
    Ok(())
}
