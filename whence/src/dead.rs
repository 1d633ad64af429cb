//! `whence dead`: what could not be processed, and what to do about it.

use crate::{
    boot::Ending,
    cli::{DeadCommand, DeadSelection},
    context::Context,
    print::{self, age, clean},
};
use anyhow::{Result, bail};
use std::fmt::Write as _;
use whence_log::{Buried, Selection};

pub(crate) async fn run(context: &Context, command: DeadCommand) -> Result<Ending> {
    let letters = context.log.dead_letters(&Selection::default()).await?;
    match command {
        DeadCommand::List(output) if output.json => print::json(&letters)?,
        DeadCommand::List(_) => print::text(&list(&letters)),
        DeadCommand::Show { letter, output } => {
            let letter = find(&letters, &letter)?;
            if output.json {
                print::json(letter)?;
            } else {
                print::text(&show(letter));
            }
        }
        DeadCommand::Retry(selection) => {
            let mut sent = 0;
            for letter in select(&letters, &selection)? {
                if context.log.retry_dead(letter, &context.models).await? {
                    sent += 1;
                } else {
                    print::text(&format!(
                        "{} is not in a stream: correct it at its source{}, the next harvest \
                         reads it again\n",
                        letter.key,
                        letter
                            .letter
                            .location
                            .as_ref()
                            .map_or(String::new(), |l| format!(" ({l})")),
                    ));
                }
            }
            print::text(&format!(
                "{sent} sent again; `whence dead list` shows what dies again\n"
            ));
        }
        DeadCommand::Drop(selection) => {
            let chosen = select(&letters, &selection)?;
            for letter in &chosen {
                context
                    .log
                    .resolve_dead(&letter.letter.stage, &letter.key)
                    .await?;
            }
            print::text(&format!("{} dropped\n", chosen.len()));
        }
    }
    Ok(Ending::Done)
}

fn list(letters: &[Buried]) -> String {
    if letters.is_empty() {
        return "no dead letters\n".to_owned();
    }
    let mut text = String::new();
    for (number, buried) in letters.iter().enumerate() {
        let letter = &buried.letter;
        let place = letter.location.as_ref().or(letter.origin.as_ref());
        let _infallible = writeln!(
            text,
            "{:>4}  {:<10} {}  {} ago\n      {}{}",
            number + 1,
            letter.stage,
            clean(&buried.key.to_string()),
            age(letter.at),
            clean(&letter.causes.join(": ")),
            place.map_or(String::new(), |place| format!(
                "\n      in {}",
                clean(place)
            )),
        );
    }
    text
}

fn show(buried: &Buried) -> String {
    let letter = &buried.letter;
    let mut text = String::new();
    let mut line = |name: &str, value: &str| {
        let _infallible = writeln!(text, "{name:<10} {}", clean(value));
    };
    line("ticket", &buried.key.to_string());
    line("stage", &letter.stage);
    if let Some(origin) = &letter.origin {
        line("source", origin);
    }
    if let Some(location) = &letter.location {
        line("in", location);
    }
    line("at", &letter.at.to_string());
    line("attempts", &letter.attempts.to_string());
    line("revision", &letter.revision.to_string());
    line("subject", &buried.subject);
    for (depth, cause) in letter.causes.iter().enumerate() {
        line(if depth == 0 { "error" } else { "because" }, cause);
    }
    line("input", &format!("{} bytes", letter.size));
    let input = String::from_utf8_lossy(&letter.input);
    let shown: String = input.chars().take(4_000).collect();
    for row in shown.lines() {
        let _infallible = writeln!(text, "    {}", clean(row));
    }
    if shown.len() < input.len() {
        text.push_str("    … (--json shows all that is kept)\n");
    }
    text
}

fn select<'a>(letters: &'a [Buried], selection: &DeadSelection) -> Result<Vec<&'a Buried>> {
    match &selection.letter {
        Some(name) => Ok(vec![find(letters, name)?]),
        None => Ok(letters.iter().collect()),
    }
}

/// By number as listed, by subject, or by ticket.
fn find<'a>(letters: &'a [Buried], name: &str) -> Result<&'a Buried> {
    let by_number = name
        .parse::<usize>()
        .ok()
        .and_then(|n| letters.get(n.checked_sub(1)?));
    let found = by_number.or_else(|| {
        letters
            .iter()
            .find(|l| l.subject == name || l.key.to_string() == name)
    });
    match found {
        Some(letter) => Ok(letter),
        None => bail!("there is no dead letter {name:?}; `whence dead list` shows them"),
    }
}
