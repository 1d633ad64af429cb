//! The binary: every stage, `up`, and the operator's commands.

mod auth_test;
mod boot;
mod cli;
mod client;
mod config;
mod context;
mod dead;
mod doctor;
mod embedded;
mod eval;
mod harvest;
mod intake;
mod lookup;
mod manual;
mod models;
mod print;
mod progress;
mod project;
#[cfg(test)]
mod reference;
mod replay;
mod search;
mod serve;
mod settle;
mod stages;
mod stats;
mod status;
mod summary;
mod sync_status;
mod sync_ticket;
mod table;
mod up;
mod verify;
mod wishes;

use anyhow::{Context as _, Result};
use boot::Ending;
use clap::Parser;
use cli::{Cli, Command, Stage};
use config::Config;
use context::Context;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = Cli::parse();
    boot::trace(&cli.global);
    // One provider for TLS in the process; ring, as the NATS client uses.
    let _already_there = rustls::crypto::ring::default_provider().install_default();
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => return fail(&anyhow::Error::new(error).context("cannot start threads")),
    };
    match runtime.block_on(run(cli)) {
        Ok(ending) => ending.into(),
        Err(error) => fail(&error),
    }
}

async fn run(cli: Cli) -> Result<Ending> {
    // These need no configuration, not even a right one.
    match &cli.command {
        Command::Completions(arguments) => return Ok(manual::completions(arguments)),
        Command::Man(arguments) => return manual::man(arguments),
        _ => {}
    }
    let config = boot::configure(&cli.global)?;
    match cli.command {
        Command::Up(arguments) => up::run(config, arguments).await,
        Command::Search(arguments) => search::run(&config, arguments).await,
        Command::Similar(arguments) => search::similar(&config, arguments).await,
        Command::Eval(arguments) => eval::run(config, arguments).await,
        Command::Doctor(output) => doctor::run(config, output).await,
        Command::Status(output) => status::run(&Context::connect(config).await?, output).await,
        Command::Stats(output) => stats::run(&Context::connect(config).await?, output).await,
        Command::Sync(arguments) => harvest::run(&Context::connect(config).await?, arguments).await,
        Command::SyncStatus(output) => {
            sync_status::run(&Context::connect(config).await?, output).await
        }
        Command::SyncTicket(arguments) => {
            sync_ticket::run(&Context::connect(config).await?, arguments, false).await
        }
        Command::Invalidate(arguments) => {
            sync_ticket::run(&Context::connect(config).await?, arguments, true).await
        }
        Command::Verify(arguments) => {
            verify::run(&Context::connect(config).await?, arguments).await
        }
        Command::AuthTest(arguments) => auth_test::run(&config, arguments).await,
        Command::Dead(arguments) => {
            dead::run(&Context::connect(config).await?, arguments.command).await
        }
        Command::Replay(arguments) => {
            replay::run(&Context::connect(config).await?, arguments).await
        }
        Command::Setup => {
            Context::connect(config).await?.set_up().await?;
            Ok(Ending::Done)
        }
        Command::Stage(stage) => one_stage(config, stage).await,
        Command::Show(arguments) => lookup::show::run(&config, arguments).await,
        Command::List(arguments) => lookup::list::run(&config, arguments).await,
        Command::Count(arguments) => lookup::count::run(&config, arguments).await,
        Command::FileHistory(arguments) => lookup::file_history::run(&config, arguments).await,
        Command::Hotspots(arguments) => lookup::hotspots::run(&config, arguments).await,
        Command::Person(arguments) => lookup::person::run(&config, arguments).await,
        Command::Experts(arguments) => lookup::experts::run(&config, arguments).await,
        Command::Inbox(arguments) => lookup::inbox::run(&config, arguments).await,
        Command::Completions(_) | Command::Man(_) => Ok(Ending::Done),
    }
}

/// `whence stage NAME`: until stopped.
async fn one_stage(config: Config, stage: Stage) -> Result<Ending> {
    let stop = boot::stop_on_signal()?;
    let listener = match stage {
        Stage::Query => Some(serve::listen(config.query.listen).await?),
        Stage::Normalize | Stage::Chunk | Stage::Embed | Stage::Index => None,
    };
    let context = std::sync::Arc::new(Context::connect(config.clone()).await?);
    match stage {
        Stage::Normalize => stages::normalize(&context, stop).await?,
        Stage::Chunk => stages::chunk(&context, stop).await?,
        Stage::Index => stages::index(&context, stop).await?,
        Stage::Embed => {
            let encoder = stages::encoder(&config, &context).await?;
            let stage = std::sync::Arc::new(whence_embed::EmbedStage::new(encoder));
            stages::embed(&context, stage, stop).await?;
        }
        Stage::Query => {
            let encoder = stages::encoder(&config, &context).await?;
            let listener = listener.context("no listener")?;
            serve::serve(&context, listener, Some(encoder), stop).await?;
        }
    }
    Ok(Ending::Done)
}

/// One sentence for people: what failed, and because of what.
fn fail(error: &anyhow::Error) -> ExitCode {
    use std::io::Write;
    let _stderr_gone = writeln!(std::io::stderr(), "error: {error:#}");
    match client::is_not_found(error) {
        true => Ending::NotFound.into(),
        false => Ending::Failed.into(),
    }
}
