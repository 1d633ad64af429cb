//! `whence list`: tickets that pass the filters.

use super::{Narrow, items, kind, parameter, text, tickets};
use crate::{boot::Ending, cli::Output, client::Client, config::Config, table::Paint};
use anyhow::Result;
use clap::Args;
use serde_json::Value;

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only `issues`, `mrs`, `notes` or `local`
    #[arg(value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// How many
    #[arg(short = 'k', long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=200))]
    pub(crate) limit: u32,
    /// By which time
    #[arg(long, value_parser = ["updated", "created"], default_value = "updated")]
    pub(crate) sort: String,
    /// Which end comes first: `desc` is the newest
    #[arg(long, value_parser = ["desc", "asc"], default_value = "desc")]
    pub(crate) order: String,
    /// Go on where a page ended
    #[arg(long)]
    pub(crate) cursor: Option<String>,
    #[command(flatten)]
    pub(crate) narrow: Narrow,
    #[command(flatten)]
    pub(crate) output: Output,
}

pub(crate) async fn run(config: &Config, arguments: List) -> Result<Ending> {
    let mut parameters = arguments.narrow.parameters()?;
    if let Some(word) = &arguments.kind {
        parameters.push(parameter("kind", kind(word)?));
    }
    parameters.push(parameter("limit", arguments.limit));
    parameters.push(parameter("sort", &arguments.sort));
    parameters.push(parameter("order", &arguments.order));
    parameters.extend(arguments.cursor.map(|cursor| parameter("cursor", cursor)));
    let answer = Client::new(config)?.ask(&["tickets"], &parameters).await?;
    let time = format!("{}_at", arguments.sort);
    super::print(&answer, arguments.output, |answer, paint| {
        page(answer, &time, paint)
    })?;
    Ok(Ending::Done)
}

fn page(answer: &Value, time: &str, paint: Paint) -> String {
    let mut page = tickets(items(answer, "tickets"), time).text(paint);
    if page.is_empty() {
        page.push_str("no tickets\n");
    }
    let next = text(answer, "next");
    if !next.is_empty() {
        page.push_str(&paint.dim(&format!("there are more: --cursor {next}")));
        page.push('\n');
    }
    page
}
