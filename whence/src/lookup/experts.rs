//! `whence experts`: who weighs in on a matter.

use super::{Narrow, found, items, parameter, text};
use crate::{
    boot::Ending, cli::Output, client::Client, config::Config, print::clean, table::Paint,
};
use anyhow::Result;
use clap::Args;
use serde_json::Value;
use std::fmt::Write as _;

#[derive(Debug, Args)]
#[group(id = "matter", required = true, multiple = false, args = ["question", "path"])]
pub(crate) struct Experts {
    /// The matter, in your own words
    #[arg(value_name = "QUESTION")]
    pub(crate) question: Vec<String>,
    /// A file in place of a question
    #[arg(long)]
    pub(crate) path: Option<String>,
    /// How many people
    #[arg(short = 'k', long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=50))]
    pub(crate) limit: u32,
    #[command(flatten)]
    pub(crate) narrow: Narrow,
    #[command(flatten)]
    pub(crate) output: Output,
}

pub(crate) async fn run(config: &Config, arguments: Experts) -> Result<Ending> {
    let mut parameters = arguments.narrow.parameters()?;
    parameters.push(match &arguments.path {
        Some(path) => parameter("path", path),
        None => parameter("q", arguments.question.join(" ")),
    });
    parameters.push(parameter("limit", arguments.limit));
    let answer = Client::new(config)?.ask(&["experts"], &parameters).await?;
    super::print(&answer, arguments.output, page)?;
    Ok(found(&answer, "people"))
}

fn page(answer: &Value, paint: Paint) -> String {
    let mut page = String::new();
    for person in items(answer, "people") {
        let name = paint.bold(&clean(&text(person, "name")));
        let score = person["score"].as_f64().unwrap_or_default();
        let _infallible = writeln!(page, "{name}  {score:.2}, on {} tickets", person["tickets"]);
        for ticket in items(person, "evidence") {
            let share = ticket["share"].as_f64().unwrap_or_default() * 100.0;
            let (id, title) = (clean(&text(ticket, "id")), clean(&text(ticket, "title")));
            let _infallible = writeln!(page, "    {share:>3.0} % of {id}  {title}");
        }
    }
    if page.is_empty() {
        page.push_str("nobody wrote on it\n");
    }
    page
}
