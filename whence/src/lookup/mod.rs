//! Commands that ask the running service and need no search.
//!
//! With `--json` each prints the service's answer as it came. What was not found
//! ends with exit code 4.

pub(crate) mod count;
pub(crate) mod experts;
pub(crate) mod file_history;
pub(crate) mod hotspots;
pub(crate) mod inbox;
pub(crate) mod list;
pub(crate) mod person;
pub(crate) mod show;

use crate::{
    boot::Ending,
    cli::Output,
    print,
    project::Project,
    table::{Paint, Table},
};
use anyhow::{Result, bail};
use clap::Args;
use serde_json::Value;

/// Which tickets are looked at.
#[derive(Debug, Args)]
pub(crate) struct Narrow {
    /// Narrow it: NAME=VALUE, as often as needed (source, project, visibility;
    /// search, similar, list and count take all filters)
    #[arg(short, long = "filter", value_name = "NAME=VALUE")]
    pub(crate) filters: Vec<String>,
    /// Everywhere, whatever `.project-conf.toml` says
    #[arg(long)]
    pub(crate) all_sources: bool,
}

impl Narrow {
    /// As parameters of a request, with the repository's own scope where none is
    /// given.
    pub(crate) fn parameters(&self) -> Result<Vec<(String, String)>> {
        let mut parameters = self.given()?;
        if !self.all_sources
            && let Some(project) = Project::here()?
        {
            let names = parameters.iter().map(|(name, _)| name.as_str());
            parameters.extend(project.scope_beside(names).to_vec());
        }
        Ok(parameters)
    }

    /// As they were given.
    pub(crate) fn given(&self) -> Result<Vec<(String, String)>> {
        let pair = |pair: &String| match pair.split_once('=') {
            Some((name, value)) if !name.is_empty() => {
                // The service's own names use underscores.
                Ok((name.replace('-', "_"), value.to_owned()))
            }
            _ => bail!("the filter {pair:?} is not NAME=VALUE, such as project=owner/repo"),
        };
        self.filters.iter().map(pair).collect()
    }
}

fn parameter(name: &str, value: impl ToString) -> (String, String) {
    (name.to_owned(), value.to_string())
}

/// What people and the seeds' commands call a kind of ticket.
fn kind(word: &str) -> Result<&'static str> {
    Ok(match word.to_lowercase().replace('_', "-").as_str() {
        "issue" | "issues" => "issue",
        "mr" | "mrs" | "pr" | "prs" | "pull" | "pulls" | "pull-request" | "pull-requests"
        | "merge-request" | "merge-requests" => "merge-request",
        "note" | "notes" | "wiki" => "note",
        "local" => "local",
        _ => bail!("{word:?} is no kind of ticket; they are issues, mrs, notes and local"),
    })
}

/// Prints the answer, as JSON or as `page` shows it.
fn print(answer: &Value, output: Output, page: impl FnOnce(&Value, Paint) -> String) -> Result<()> {
    match output.json {
        true => print::json(answer)?,
        false => print::text(&page(answer, Paint::stdout())),
    }
    Ok(())
}

/// 4 where a list is empty that should say something.
fn found(answer: &Value, list: &str) -> Ending {
    match items(answer, list).is_empty() {
        true => Ending::NotFound,
        false => Ending::Done,
    }
}

fn items<'a>(value: &'a Value, list: &str) -> &'a [Value] {
    value[list]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
}

/// A text or a number; empty where there is none.
fn text(value: &Value, name: &str) -> String {
    match &value[name] {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// The texts of a list, on one line.
fn texts(value: &Value, name: &str) -> String {
    let texts: Vec<&str> = items(value, name)
        .iter()
        .filter_map(Value::as_str)
        .collect();
    texts.join(", ")
}

/// The day of a time.
fn day(value: &Value, name: &str) -> String {
    text(value, name).chars().take(10).collect()
}

/// Tickets, one a line.
fn tickets<'a>(tickets: impl IntoIterator<Item = &'a Value>, time: &str) -> Table {
    let mut table = Table::new(&["when", "id", "kind", "state", "author", "title"]);
    for ticket in tickets {
        table.row([
            day(ticket, time),
            text(ticket, "id"),
            text(ticket, "kind"),
            text(ticket, "state"),
            text(ticket, "author"),
            text(ticket, "title"),
        ]);
    }
    table
}

/// A heading and what stands under it; nothing where that is nothing.
fn section(page: &mut String, paint: Paint, heading: &str, table: &Table) {
    let text = table.text(paint);
    if !text.is_empty() {
        page.push_str(&format!("\n{}\n{text}", paint.bold(heading)));
    }
}

fn more(page: &mut String, answer: &Value) {
    if answer["more"] == true {
        page.push_str("there are more; ask for them with --limit\n");
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn kinds_by_all_their_names() {
        for (word, expected) in [
            ("issues", "issue"),
            ("MR", "merge-request"),
            ("merge_requests", "merge-request"),
        ] {
            assert_eq!(kind(word).unwrap(), expected);
        }
        assert!(kind("epics").is_err());
    }

    #[test]
    fn filters_are_parameters() {
        let narrow = |filters: &[&str]| Narrow {
            filters: filters.iter().map(|f| (*f).to_owned()).collect(),
            all_sources: false,
        };
        let parameters = narrow(&["created-after=2024-01-01", "label=a=b"]).given();
        let expected = [("created_after", "2024-01-01"), ("label", "a=b")];
        let expected = expected.map(|(name, value)| parameter(name, value));
        assert_eq!(parameters.unwrap(), expected);
        assert!(narrow(&["label"]).given().is_err());
    }
}
