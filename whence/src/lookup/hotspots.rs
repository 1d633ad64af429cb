//! `whence hotspots`: files and how much was said on them.

use super::{Narrow, day, found, items, parameter, section, text, texts, tickets};
use crate::{
    boot::Ending,
    cli::Output,
    client::Client,
    config::Config,
    print::clean,
    table::{Paint, Table},
};
use anyhow::Result;
use clap::Args;
use serde_json::Value;

#[derive(Debug, Args)]
pub(crate) struct Hotspots {
    /// One file [default: the files with the most tickets]
    #[arg(value_name = "FILE", conflicts_with = "top")]
    pub(crate) file: Option<String>,
    /// How many files
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=200))]
    pub(crate) top: u32,
    /// How many of the file's last tickets
    #[arg(short = 'k', long, requires = "file", default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=200))]
    pub(crate) limit: u32,
    #[command(flatten)]
    pub(crate) narrow: Narrow,
    #[command(flatten)]
    pub(crate) output: Output,
}

pub(crate) async fn run(config: &Config, arguments: Hotspots) -> Result<Ending> {
    let mut parameters = arguments.narrow.parameters()?;
    let client = Client::new(config)?;
    let Some(file) = &arguments.file else {
        parameters.push(parameter("limit", arguments.top));
        let answer = client.ask(&["hotspots", "top"], &parameters).await?;
        super::print(&answer, arguments.output, top)?;
        return Ok(found(&answer, "files"));
    };
    parameters.push(parameter("file", file));
    parameters.push(parameter("limit", arguments.limit));
    let answer = client.ask(&["hotspots"], &parameters).await?;
    super::print(&answer, arguments.output, one)?;
    Ok(found(&answer, "recent"))
}

fn top(answer: &Value, paint: Paint) -> String {
    let mut table = Table::new(&["tickets", "changed", "named", "last", "file", "projects"]);
    for file in items(answer, "files") {
        table.row([
            text(file, "tickets"),
            text(file, "changed"),
            text(file, "named"),
            day(file, "updated_at"),
            text(file, "file"),
            texts(file, "projects"),
        ]);
    }
    match table.text(paint) {
        empty if empty.is_empty() => "no ticket changed or named a file\n".to_owned(),
        text => text,
    }
}

fn one(answer: &Value, paint: Paint) -> String {
    let mut page = format!(
        "{}: {} tickets, {} changed it, {} name it\n",
        paint.bold(&clean(&text(answer, "file"))),
        answer["tickets"],
        answer["changed"],
        answer["named"]
    );
    let mut kinds = Table::new(&["tickets", "changed", "named", "kind"]);
    for kind in items(answer, "kinds") {
        kinds.row(["tickets", "changed", "named", "kind"].map(|name| text(kind, name)));
    }
    section(&mut page, paint, "By kind", &kinds);
    let last = tickets(items(answer, "recent"), "updated_at");
    section(&mut page, paint, "Last tickets", &last);
    page
}
