//! `whence inbox`: what waits for somebody.

use super::{Narrow, day, items, more, parameter, text, texts};
use crate::{
    boot::Ending,
    cli::Output,
    client::Client,
    config::Config,
    table::{Paint, Table},
};
use anyhow::Result;
use clap::Args;
use serde_json::Value;

#[derive(Debug, Args)]
pub(crate) struct Inbox {
    /// Whose: the name as the system writes it, with or without `@`
    pub(crate) user: String,
    /// How many tickets
    #[arg(short = 'k', long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=200))]
    pub(crate) limit: u32,
    #[command(flatten)]
    pub(crate) narrow: Narrow,
    #[command(flatten)]
    pub(crate) output: Output,
}

pub(crate) async fn run(config: &Config, arguments: Inbox) -> Result<Ending> {
    let mut parameters = arguments.narrow.parameters()?;
    parameters.push(parameter("user", &arguments.user));
    parameters.push(parameter("limit", arguments.limit));
    let answer = Client::new(config)?.ask(&["inbox"], &parameters).await?;
    super::print(&answer, arguments.output, page)?;
    // An empty inbox is an answer, and a good one.
    Ok(Ending::Done)
}

fn page(answer: &Value, paint: Paint) -> String {
    let mut table = Table::new(&["changed", "id", "state", "why", "title"]);
    for entry in items(answer, "entries") {
        table.row([
            day(entry, "updated_at"),
            text(entry, "id"),
            text(entry, "state"),
            texts(entry, "reasons"),
            text(entry, "title"),
        ]);
    }
    let mut page = table.text(paint);
    if page.is_empty() {
        page.push_str("nothing waits\n");
    }
    more(&mut page, answer);
    page
}
