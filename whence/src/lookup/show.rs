//! `whence show`: one ticket whole.

use super::{Narrow, day, items, kind, section, text, texts};
use crate::{
    boot::Ending,
    cli::Output,
    client::{Client, is_not_found},
    config::Config,
    print::{clean, clean_lines},
    project::Project,
    table::{Paint, Table},
};
use anyhow::{Result, bail};
use clap::Args;
use serde_json::Value;
use std::fmt::Write as _;

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// As people write it (`owner/repo#7`, `group/project!3`, `PROJ-12`, an
    /// address), or a kind and a number: `mr 1234`
    #[arg(required = true, num_args = 1..=2, value_names = ["TICKET", "NUMBER"])]
    pub(crate) ticket: Vec<String>,
    /// The project that a number is of
    #[arg(long)]
    pub(crate) project: Option<String>,
    #[command(flatten)]
    pub(crate) narrow: Narrow,
    #[command(flatten)]
    pub(crate) output: Output,
}

pub(crate) async fn run(config: &Config, arguments: Show) -> Result<Ending> {
    let client = Client::new(config)?;
    // A ticket that is named is shown wherever it is.
    let parameters = arguments.narrow.given()?;
    let project = match (&arguments.project, arguments.ticket.len()) {
        // A number alone is of the repository's own project.
        (None, 2) => Project::here()?.and_then(|project| project.key),
        (project, _) => project.clone(),
    };
    let names = names(&arguments.ticket, project.as_deref())?;
    let mut missing = None;
    for name in &names {
        match client.ask(&["tickets", name], &parameters).await {
            Ok(ticket) => {
                super::print(&ticket, arguments.output, page)?;
                return Ok(Ending::Done);
            }
            Err(error) if is_not_found(&error) => missing = missing.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    match missing {
        Some(error) => Err(error),
        None => bail!("no ticket is named"),
    }
}

/// What the words may mean, the most likely first: systems number differently.
fn names(words: &[String], project: Option<&str>) -> Result<Vec<String>> {
    let (word, number) = match words {
        [name] if project.is_none() => return Ok(vec![name.clone()]),
        [number] => ("issue", number),
        [word, number] => (word.as_str(), number),
        _ => bail!("name one ticket"),
    };
    let Some(project) = project else {
        bail!("which project is it of? Name it with --project, such as --project owner/repo");
    };
    let number = number.trim_start_matches(['#', '!']);
    Ok(match kind(word)? {
        "merge-request" => vec![format!("{project}!{number}"), format!("{project}#{number}")],
        "issue" => vec![format!("{project}#{number}"), format!("{project}-{number}")],
        _ => vec![number.to_owned()],
    })
}

fn page(ticket: &Value, paint: Paint) -> String {
    let mut page = format!(
        "{}  {}\n",
        paint.bold(&clean(&text(ticket, "id"))),
        paint.bold(&clean(&text(ticket, "title")))
    );
    let mut fact = |name: &str, value: String| {
        if !value.is_empty() {
            let _infallible = writeln!(
                page,
                "{} {}",
                paint.dim(&format!("{name:<10}")),
                clean(&value)
            );
        }
    };
    fact("kind", text(ticket, "kind"));
    fact("state", text(ticket, "state"));
    fact("author", text(ticket, "author"));
    fact("assignees", texts(ticket, "assignees"));
    fact("labels", texts(ticket, "labels"));
    fact("milestone", text(ticket, "milestone"));
    fact("priority", text(ticket, "priority"));
    fact("created", day(ticket, "created_at"));
    fact("changed", day(ticket, "updated_at"));
    fact("closed", day(ticket, "closed_at"));
    fact("also known", texts(ticket, "aliases"));
    fact("url", text(ticket, "url"));
    if text(ticket, "visibility") != "public" {
        fact("visibility", text(ticket, "visibility"));
    }
    for unit in items(ticket, "units") {
        unit_text(&mut page, unit, paint);
    }
    for note in items(ticket, "local_notes") {
        unit_text(&mut page, note, paint);
    }
    section(&mut page, paint, "Changed files", &files(ticket));
    section(&mut page, paint, "Links", &links(ticket));
    section(&mut page, paint, "Events", &events(ticket));
    page
}

fn unit_text(page: &mut String, unit: &Value, paint: Paint) {
    let said = [
        text(unit, "kind"),
        text(unit, "author"),
        day(unit, "created_at"),
        text(unit, "verdict"),
        text(unit, "path"),
    ];
    let mut said: Vec<String> = said
        .iter()
        .filter(|part| !part.is_empty())
        .map(|part| clean(part))
        .collect();
    if text(unit, "visibility") != "public" {
        said.push(text(unit, "visibility"));
    }
    let _infallible = writeln!(page, "\n{}", paint.bold(&said.join(" · ")));
    for line in clean_lines(&text(unit, "text")) {
        let _infallible = writeln!(page, "{line}");
    }
}

fn files(ticket: &Value) -> Table {
    let mut table = Table::new(&["how", "path", "before"]);
    for file in items(ticket, "files") {
        let how = match (
            &file["new_file"],
            &file["deleted_file"],
            &file["renamed_file"],
        ) {
            (Value::Bool(true), ..) => "added",
            (_, Value::Bool(true), _) => "deleted",
            (.., Value::Bool(true)) => "renamed",
            _ => "changed",
        };
        let before = match how {
            "renamed" => text(file, "old_path"),
            _ => String::new(),
        };
        table.row([how.to_owned(), text(file, "new_path"), before]);
    }
    table
}

fn links(ticket: &Value) -> Table {
    let mut table = Table::new(&["", "kind", "ticket", "state", "title"]);
    for of in ["links", "mentions"] {
        for (list, arrow) in [("to", "→"), ("from", "←")] {
            for link in items(&ticket[of], list) {
                table.row([
                    arrow.to_owned(),
                    text(link, "kind"),
                    text(link, "id"),
                    text(link, "state"),
                    text(link, "title"),
                ]);
            }
        }
    }
    table
}

fn events(ticket: &Value) -> Table {
    let mut table = Table::new(&["when", "what", "who", "words"]);
    for event in items(ticket, "events") {
        table.row([
            day(event, "at"),
            text(event, "kind"),
            text(event, "actor"),
            text(event, "text"),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn of(words: &[&str], project: Option<&str>) -> Result<Vec<String>> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        names(&words, project)
    }

    #[test]
    fn a_number_needs_its_project() {
        assert_eq!(of(&["acme/kiln#7"], None).unwrap(), ["acme/kiln#7"]);
        assert_eq!(of(&["mr", "!3"], Some("g/p")).unwrap(), ["g/p!3", "g/p#3"]);
        assert_eq!(
            of(&["issue", "7"], Some("PROJ")).unwrap(),
            ["PROJ#7", "PROJ-7"]
        );
        assert_eq!(of(&["7"], Some("g/p")).unwrap(), ["g/p#7", "g/p-7"]);
        assert!(
            of(&["mr", "3"], None)
                .unwrap_err()
                .to_string()
                .contains("--project")
        );
        assert!(of(&["epic", "3"], Some("g/p")).is_err());
    }

    #[test]
    fn a_hostile_ticket_stays_text() {
        let evil = "x\u{1b}[31m\u{202e}";
        let ticket = json!({
            "id": evil, "title": evil, "labels": [evil], "visibility": "public",
            "units": [{ "kind": "comment", "author": evil, "visibility": "public", "text": evil }],
            "files": [{ "new_path": evil, "old_path": evil, "renamed_file": true }],
            "links": { "to": [{ "kind": "closes", "id": evil, "title": evil }] },
            "events": [{ "kind": evil, "text": evil }],
        });
        let page = page(&ticket, Paint::stdout());
        let bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
        assert!(!page.contains(bad), "{page:?}");
        assert!(page.contains("renamed") && page.contains("→"), "{page}");
    }
}
