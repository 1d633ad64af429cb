//! `whence stats`: what is searchable, counted.

use crate::{
    boot::Ending,
    cli::Output,
    context::Context,
    print::{self, bytes, clean},
};
use anyhow::{Context as _, Result};
use std::fmt::Write as _;
use whence_index::Stats;

pub(crate) async fn run(context: &Context, output: Output) -> Result<Ending> {
    let pool = whence_index::pool(&context.endpoints.postgres_url, 1)?;
    let client = pool.get().await.context("cannot connect to Postgres")?;
    let stats = whence_index::stats(&client).await?;
    if output.json {
        print::json(&stats)?;
    } else {
        print::text(&table(&stats));
    }
    Ok(Ending::Done)
}

fn table(stats: &Stats) -> String {
    let mut text = String::new();
    let mut line = |row: String| {
        let _infallible = writeln!(text, "{}", row.trim_end());
    };
    line(format!(
        "{:<10} {:<32} {:<10} {:<15} {:>8} {:>8}",
        "source", "project", "provenance", "kind", "tickets", "chunks"
    ));
    for row in &stats.tickets {
        line(format!(
            "{:<10} {:<32} {:<10} {:<15} {:>8} {:>8}",
            clean(&row.source),
            clean(&row.project),
            row.provenance,
            row.kind,
            row.tickets,
            row.chunks
        ));
    }
    line(String::new());
    line(format!(
        "{:<10} {:<32} {:<15} {:<15} {:>8}",
        "source", "project", "of a", "unit", "units"
    ));
    for row in &stats.units {
        line(format!(
            "{:<10} {:<32} {:<15} {:<15} {:>8}",
            clean(&row.source),
            clean(&row.project),
            row.ticket_kind,
            row.kind,
            row.units
        ));
    }
    line(String::new());
    line(format!(
        "{} chunks, {} postings, {} tombstones",
        stats.chunks, stats.postings, stats.tombstones
    ));
    for row in &stats.vectors {
        let active = if row.active {
            "serves"
        } else {
            "does not serve"
        };
        line(format!(
            "{} vectors of {} tickets by {} ({active})",
            row.vectors, row.tickets, row.model
        ));
    }
    for row in &stats.sizes {
        let size = |n: i64| bytes(u64::try_from(n).unwrap_or(0));
        line(format!(
            "{:<24} {:>12} and {:>12} of indexes",
            row.table,
            size(row.bytes),
            size(row.index_bytes)
        ));
    }
    text
}
