//! `whence person`: what somebody contributed, on what, and with whom.

use super::{Narrow, day, items, section, text, tickets};
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
pub(crate) struct Person {
    /// The name as the system writes it, with or without `@`
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) narrow: Narrow,
    #[command(flatten)]
    pub(crate) output: Output,
}

pub(crate) async fn run(config: &Config, arguments: Person) -> Result<Ending> {
    let parameters = arguments.narrow.parameters()?;
    let client = Client::new(config)?;
    let answer = client
        .ask(&["people", &arguments.name], &parameters)
        .await?;
    super::print(&answer, arguments.output, page)?;
    Ok(Ending::Done)
}

fn page(answer: &Value, paint: Paint) -> String {
    let mut page = format!(
        "{}  {} to {}\n",
        paint.bold(&clean(&text(answer, "name"))),
        day(answer, "first_at"),
        day(answer, "last_at")
    );
    for (name, list) in [("labels", "labels"), ("words", "terms")] {
        let terms: Vec<String> = items(answer, list)
            .iter()
            .map(|topic| text(topic, "term"))
            .collect();
        if !terms.is_empty() {
            let name = paint.dim(&format!("{name:<7}"));
            page.push_str(&format!("{name} {}\n", clean(&terms.join(", "))));
        }
    }
    let columns = |list: &str, head: &[&str], columns: &[&str]| {
        let mut table = Table::new(head);
        for item in items(answer, list) {
            table.row(columns.iter().map(|name| text(item, name)));
        }
        table
    };
    let contributions = ["texts", "tickets", "kind", "ticket_kind", "project"];
    let head = ["texts", "tickets", "kind", "of a", "project"];
    section(
        &mut page,
        paint,
        "Contributions",
        &columns("contributions", &head, &contributions),
    );
    let files = ["changed", "named", "file"];
    section(&mut page, paint, "Files", &columns("files", &files, &files));
    let companions = columns("companions", &["tickets", "who"], &["tickets", "name"]);
    section(&mut page, paint, "On the same tickets", &companions);
    section(
        &mut page,
        paint,
        "Last tickets",
        &tickets(items(answer, "recent"), "at"),
    );
    page
}
