//! `whence count`: how many tickets pass the filters, by what.

use super::{Narrow, items, kind, more, parameter, text};
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
pub(crate) struct Count {
    /// Only `issues`, `mrs`, `notes` or `local`
    #[arg(value_name = "KIND")]
    pub(crate) kind: Option<String>,
    /// What to count by
    #[arg(long, value_parser = ["kind", "state", "project", "source", "author", "label"])]
    pub(crate) by: Option<String>,
    /// How many groups
    #[arg(short = 'k', long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) limit: u32,
    #[command(flatten)]
    pub(crate) narrow: Narrow,
    #[command(flatten)]
    pub(crate) output: Output,
}

pub(crate) async fn run(config: &Config, arguments: Count) -> Result<Ending> {
    let mut parameters = arguments.narrow.parameters()?;
    if let Some(word) = &arguments.kind {
        parameters.push(parameter("kind", kind(word)?));
    }
    parameters.extend(arguments.by.map(|by| parameter("by", by)));
    parameters.push(parameter("limit", arguments.limit));
    let answer = Client::new(config)?.ask(&["count"], &parameters).await?;
    super::print(&answer, arguments.output, page)?;
    Ok(Ending::Done)
}

fn page(answer: &Value, paint: Paint) -> String {
    let by = text(answer, "by");
    // The number alone, for scripts.
    if by.is_empty() {
        return format!("{}\n", answer["total"]);
    }
    let mut table = Table::new(&["tickets", &by]);
    for group in items(answer, "groups") {
        let value = match &group["value"] {
            Value::Null => "(none)".to_owned(),
            _ => text(group, "value"),
        };
        table.row([text(group, "tickets"), value]);
    }
    let mut page = table.text(paint);
    more(&mut page, answer);
    page.push_str(&format!("{} tickets\n", answer["total"]));
    page
}
