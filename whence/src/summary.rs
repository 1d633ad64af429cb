//! What `up --once` says at its end.

use crate::{boot::Ending, context::Context, print};
use anyhow::{Context as _, Result};
use serde::Serialize;
use std::{fmt::Write as _, sync::atomic::Ordering};
use whence_embed::EmbedStage;
use whence_log::{RunRecord, RunStatus, Selection};

#[derive(Serialize)]
pub(crate) struct Summary {
    /// The run of each source.
    sources: Vec<RunRecord>,
    /// What is searchable now.
    stats: whence_index::Stats,
    /// Texts that went through the model in this run.
    embedded: u64,
    /// Texts whose vector was known.
    reused: u64,
    /// Letters of all stages, older ones included.
    dead_letters: usize,
}

impl Summary {
    pub(crate) async fn of(
        context: &Context,
        sources: Vec<RunRecord>,
        embed: Option<&EmbedStage>,
    ) -> Result<Self> {
        let pool = whence_index::pool(&context.endpoints.postgres_url, 1)?;
        let client = pool.get().await.context("cannot connect to Postgres")?;
        let counters = embed.map(EmbedStage::counters).unwrap_or_default();
        Ok(Self {
            sources,
            stats: whence_index::stats(&client).await?,
            embedded: counters.embedded.load(Ordering::Relaxed),
            reused: counters.reused.load(Ordering::Relaxed),
            dead_letters: context.log.dead_letters(&Selection::default()).await?.len(),
        })
    }

    /// Prints it, and says how the run ended.
    pub(crate) fn print(&self, json: bool) -> Result<Ending> {
        if json {
            print::json(self)?;
        } else {
            print::text(&self.text());
        }
        let failed = self
            .sources
            .iter()
            .any(|run| run.status != RunStatus::Succeeded);
        Ok(match (failed, self.dead_letters) {
            (true, _) => Ending::Failed,
            (false, 0) => Ending::Done,
            (false, _) => Ending::Incomplete,
        })
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for run in &self.sources {
            let counts = run.counts;
            let _infallible = writeln!(
                text,
                "{}: {} tickets, {} new or changed, {} unchanged, {} deleted, {} unreadable{}",
                print::clean(&run.source),
                counts.listed,
                counts.published,
                counts.unchanged,
                counts.deleted,
                counts.unreadable,
                run.error.as_ref().map_or(String::new(), |e| format!(
                    "\n    FAILED: {}",
                    print::clean(e)
                )),
            );
            for warning in &run.warnings {
                let _infallible = writeln!(text, "    {}", print::clean(warning));
            }
        }
        let tickets: i64 = self.stats.tickets.iter().map(|row| row.tickets).sum();
        let _infallible = writeln!(
            text,
            "{tickets} tickets with {} texts are searchable; {} texts were embedded, {} were known",
            self.stats.chunks, self.embedded, self.reused
        );
        if self.dead_letters > 0 {
            let _infallible =
                writeln!(text, "{} dead letters: whence dead list", self.dead_letters);
        }
        text
    }
}
