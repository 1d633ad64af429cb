//! `whence up`: servers, stages, harvest and the query service in one process.

use crate::{
    boot::{self, Ending},
    cli::{Stage, Up},
    config::Config,
    context::Context,
    embedded, harvest, print, serve, stages,
    summary::Summary,
};
use anyhow::{Context as _, Result, bail};
use std::{sync::Arc, time::Duration};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use whence_embed::EmbedStage;
use whence_harvest::SourceSpec;
use whence_provision::{Supervisor, SupervisorEvent};

pub(crate) async fn run(mut config: Config, arguments: Up) -> Result<Ending> {
    if let Some(listen) = arguments.listen {
        config.query.listen = listen;
    }
    if let Some(max_prune) = arguments.prune.max_prune {
        config.harvest.max_prune = max_prune;
    }
    if !arguments.sources.is_empty() {
        config.sources.clone_from(&arguments.sources);
    }
    // What can be wrong with the command is said before anything is started.
    config.check()?;
    let sources = harvest::parse(&config.sources)?;
    if arguments.once && sources.is_empty() {
        bail!("nothing to harvest; name a source with --source, such as --source wiki:docs");
    }
    let stop = boot::stop_on_signal()?;
    let with_query = !arguments.once && !arguments.without.contains(&Stage::Query);
    let listener = match with_query {
        true => Some(serve::listen(config.query.listen).await?),
        false => None,
    };
    let mut supervisor = tokio::select! {
        started = Supervisor::start(embedded::options(&config)?) => started?,
        () = stop.cancelled() => return Ok(Ending::Interrupted),
    };
    let endpoints = supervisor.endpoints().clone();
    let run = Running {
        config,
        arguments,
        sources,
        listener,
        stop: stop.clone(),
    };
    let ended = tokio::select! {
        ended = run.pipeline(endpoints) => ended,
        gave_up = watch(&mut supervisor) => Err(gave_up),
    };
    supervisor.stop().await;
    ended
}

/// Says what happens to the servers; ends when one cannot be kept alive.
async fn watch(supervisor: &mut Supervisor) -> anyhow::Error {
    loop {
        match supervisor.next_event().await {
            SupervisorEvent::Exited { name, status, .. } => {
                tracing::warn!("{name} ended ({status}); it is started again");
            }
            SupervisorEvent::Restarted { name, .. } => tracing::warn!("{name} runs again"),
            SupervisorEvent::GaveUp {
                name,
                cause,
                last_log_lines,
            } => {
                return anyhow::anyhow!(
                    "{name} cannot be kept running: {cause}\n{}",
                    last_log_lines.join("\n")
                );
            }
        }
    }
}

struct Running {
    config: Config,
    arguments: Up,
    sources: Vec<SourceSpec>,
    listener: Option<tokio::net::TcpListener>,
    stop: CancellationToken,
}

impl Running {
    async fn pipeline(self, endpoints: whence_provision::Endpoints) -> Result<Ending> {
        let Self {
            config,
            arguments,
            sources,
            listener,
            stop,
        } = self;
        let context = Arc::new(Context::at(config.clone(), endpoints).await?);
        context.set_up().await?;
        let swept = context.log.sweep_claims(&context.models).await?;
        if swept > 0 {
            tracing::info!(swept, "removed oversize bodies that no message names");
        }
        let without = |stage: Stage| arguments.without.contains(&stage);
        let needs_model = !without(Stage::Embed) || listener.is_some();
        let encoder = match needs_model {
            true => Some(stages::encoder(&config, &context).await?),
            false => None,
        };
        let embed_stage = encoder
            .clone()
            .map(|encoder| Arc::new(EmbedStage::new(encoder)));
        // Stages outlive the stop signal by what they have in their hands.
        let mut tasks: JoinSet<Result<()>> = JoinSet::new();
        let workers = stop.child_token();
        if !without(Stage::Normalize) {
            let (context, stop) = (context.clone(), workers.clone());
            tasks.spawn(async move { stages::normalize(&context, stop).await });
        }
        if !without(Stage::Chunk) {
            let (context, stop) = (context.clone(), workers.clone());
            tasks.spawn(async move { stages::chunk(&context, stop).await });
        }
        if let Some(stage) = embed_stage.clone().filter(|_| !without(Stage::Embed)) {
            let (context, stop) = (context.clone(), workers.clone());
            tasks.spawn(async move { stages::embed(&context, stage, stop).await });
        }
        if !without(Stage::Index) {
            let (context, stop) = (context.clone(), workers.clone());
            tasks.spawn(async move { stages::index(&context, stop).await });
        }
        if let Some(listener) = listener {
            let address = listener
                .local_addr()
                .context("the listener has no address")?;
            print::text(&format!(
                "whence listens on http://{address}\n\
                 ask it, in another terminal:\n    \
                 whence search \"why does every stream keep only one message per ticket\"\n"
            ));
            let (context, stop) = (context.clone(), workers.clone());
            tasks.spawn(async move { serve::serve(&context, listener, encoder, stop).await });
        }
        let main = async {
            if arguments.once {
                let options = harvest::options(&context, "up --once")?;
                let runs = harvest::once(&context, &sources, &options, &stop).await?;
                crate::settle::settle(&context, &stop).await?;
                Ok(Some(
                    Summary::of(&context, runs, embed_stage.as_deref()).await?,
                ))
            } else {
                let options = harvest::options(&context, "up")?;
                let pauses = harvest::Pauses::of(&context);
                harvest::forever(&context, &sources, &options, pauses, &stop).await;
                Ok(None)
            }
        };
        let ended: Result<Option<Summary>> = tokio::select! {
            ended = main => ended,
            failed = first_failure(&mut tasks) => Err(failed),
        };
        workers.cancel();
        drain(tasks).await;
        match ended? {
            Some(_) if stop.is_cancelled() => Ok(Ending::Interrupted),
            Some(summary) => summary.print(arguments.json),
            None => Ok(Ending::Done),
        }
    }
}

/// The first stage that ended although nobody asked it to.
async fn first_failure(tasks: &mut JoinSet<Result<()>>) -> anyhow::Error {
    loop {
        match tasks.join_next().await {
            Some(Ok(Err(error))) => return error,
            Some(Err(panic)) => return anyhow::Error::new(panic).context("a stage panicked"),
            // Stages that end well do so because of a stop, which is waited for elsewhere.
            Some(Ok(Ok(()))) => {}
            None => std::future::pending().await,
        }
    }
}

/// Lets stages finish what is in their hands.
async fn drain(mut tasks: JoinSet<Result<()>>) {
    let all = async {
        while let Some(ended) = tasks.join_next().await {
            if let Ok(Err(error)) = ended {
                tracing::warn!("{error:#}");
            }
        }
    };
    if tokio::time::timeout(Duration::from_secs(15), all)
        .await
        .is_err()
    {
        tracing::warn!("stages did not end in time; what they held is delivered again");
    }
}
