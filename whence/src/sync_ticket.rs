//! `whence sync-ticket` and `whence invalidate`: single tickets, now.

use crate::{
    boot::{self, Ending},
    cli::SyncTicket,
    context::Context,
    harvest, print,
    wishes::{self, Wish},
};
use anyhow::Result;
use std::sync::Arc;

/// 0 when all are there, 1 when one is not or could not be fetched, 3 when one
/// waits for whoever harvests its source.
pub(crate) async fn run(
    context: &Context,
    arguments: SyncTicket,
    searchable: bool,
) -> Result<Ending> {
    let stop = boot::stop_on_signal()?;
    let sources = match &arguments.source {
        Some(source) => harvest::parse(std::slice::from_ref(source))?,
        None => harvest::parse(&context.config.sources)?,
    };
    let mut outcomes = Vec::new();
    for ticket in &arguments.tickets {
        let candidates = wishes::candidates(context, &sources, None, ticket)?;
        let wants = wishes::leave(context, &candidates, ticket).await?;
        for spec in &candidates {
            let source = wishes::open(context, spec, Arc::new(|_| ()))?;
            wishes::grant(context, source.as_ref(), &stop).await?;
        }
        outcomes.push(wishes::outcome(context, &wants, ticket, searchable, &stop).await?);
    }
    if arguments.output.json {
        print::json(&outcomes)?;
    } else {
        outcomes.iter().for_each(|wish| print::text(&line(wish)));
    }
    Ok(ending(&outcomes))
}

fn ending(outcomes: &[Wish]) -> Ending {
    let mut ending = Ending::Done;
    for wish in outcomes {
        match wish {
            Wish::Fetched { .. } => {}
            Wish::Unknown { .. } | Wish::Failed { .. } => return Ending::Failed,
            Wish::Waiting { .. } => ending = Ending::Incomplete,
        }
    }
    ending
}

fn line(wish: &Wish) -> String {
    match wish {
        Wish::Fetched {
            ticket,
            source,
            searchable: true,
            ..
        } => format!(
            "{}: fetched from {source}, and searchable\n",
            print::clean(ticket)
        ),
        Wish::Fetched { ticket, source, .. } => {
            format!("{}: fetched from {source}\n", print::clean(ticket))
        }
        Wish::Unknown { ticket } => format!(
            "{}: no such ticket; is the name right, and may the token see it?\n",
            print::clean(ticket)
        ),
        Wish::Failed { ticket, why } => {
            format!("{}: {}\n", print::clean(ticket), print::clean(why))
        }
        Wish::Waiting { ticket } => format!(
            "{}: noted; whoever harvests its source fetches it next\n",
            print::clean(ticket)
        ),
    }
}
