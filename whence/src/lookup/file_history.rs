//! `whence file-history`: why a file is as it is.

use super::{Narrow, day, found, items, more, parameter, text};
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
pub(crate) struct FileHistory {
    /// The file's path in its repository, under any name it had
    pub(crate) path: String,
    /// How many tickets
    #[arg(short = 'k', long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..=200))]
    pub(crate) limit: u32,
    #[command(flatten)]
    pub(crate) narrow: Narrow,
    #[command(flatten)]
    pub(crate) output: Output,
}

pub(crate) async fn run(config: &Config, arguments: FileHistory) -> Result<Ending> {
    let mut parameters = arguments.narrow.parameters()?;
    parameters.push(parameter("path", &arguments.path));
    parameters.push(parameter("limit", arguments.limit));
    let client = Client::new(config)?;
    let answer = client.ask(&["files", "history"], &parameters).await?;
    super::print(&answer, arguments.output, page)?;
    Ok(found(&answer, "entries"))
}

fn page(answer: &Value, paint: Paint) -> String {
    let mut names = Table::new(&["name", "when", "renamed by"]);
    let known = items(answer, "names");
    for name in known.iter().filter(|_| known.len() > 1) {
        names.row([text(name, "path"), text(name, "when"), text(name, "ticket")]);
    }
    let mut table = Table::new(&["when", "id", "state", "author", "how", "title"]);
    for entry in items(answer, "entries") {
        table.row([
            day(entry, "at"),
            text(entry, "id"),
            text(entry, "state"),
            text(entry, "author"),
            how(entry),
            text(entry, "title"),
        ]);
    }
    let mut page = names.text(paint);
    if !page.is_empty() {
        page.push('\n');
    }
    match table.text(paint) {
        empty if empty.is_empty() => page.push_str("no ticket changed it or speaks of it\n"),
        text => page.push_str(&text),
    }
    more(&mut page, answer);
    page
}

/// `renamed a → b, named`.
fn how(entry: &Value) -> String {
    let said = items(entry, "relations").iter().map(|relation| {
        let (how, path) = (text(relation, "how"), text(relation, "path"));
        match text(relation, "from") {
            from if from.is_empty() => how,
            from => format!("{how} {from} → {path}"),
        }
    });
    said.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn renames_say_from_where() {
        let entry = json!({ "relations": [
            { "how": "renamed", "path": "b.rs", "from": "a.rs" },
            { "how": "named", "path": "b.rs", "from": null },
        ]});
        assert_eq!(how(&entry), "renamed a.rs → b.rs, named");
    }
}
