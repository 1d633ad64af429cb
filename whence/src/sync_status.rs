//! `whence sync-status`: the last run of every source.

use crate::{
    boot::Ending,
    cli::Output,
    context::Context,
    print::{self, age, clean},
};
use anyhow::Result;
use std::fmt::Write as _;
use whence_log::{RunRecord, RunStatus};

/// 1 when the last run of a source failed.
pub(crate) async fn run(context: &Context, output: Output) -> Result<Ending> {
    let runs = context.log.runs().await?;
    if output.json {
        print::json(&runs)?;
    } else {
        print::text(&page(&runs));
    }
    Ok(match runs.iter().any(|r| r.status == RunStatus::Failed) {
        true => Ending::Failed,
        false => Ending::Done,
    })
}

fn page(runs: &[RunRecord]) -> String {
    if runs.is_empty() {
        return "nothing was harvested yet; see `whence sync`\n".to_owned();
    }
    let mut text = String::new();
    for run in runs {
        let state = match run.status {
            RunStatus::Running => "running".to_owned(),
            RunStatus::Succeeded => "succeeded".to_owned(),
            RunStatus::Failed => format!("failed ({} in a row)", run.consecutive_failures),
        };
        let counts = run.counts;
        let _infallible = writeln!(
            text,
            "{}\n    {state}, began {} ago by {}; last success {}\n    {} listed, {} published, \
             {} unchanged, {} deleted, {} unreadable",
            clean(&run.source),
            age(run.started_at),
            clean(&run.command),
            run.last_success_at
                .map_or("never".to_owned(), |at| format!("{} ago", age(at))),
            counts.listed,
            counts.published,
            counts.unchanged,
            counts.deleted,
            counts.unreadable,
        );
        for note in run.warnings.iter().chain(&run.error) {
            let _infallible = writeln!(text, "    {}", clean(note));
        }
    }
    text
}
