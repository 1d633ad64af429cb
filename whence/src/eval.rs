//! `whence eval`: search quality on questions with known answers.

use crate::{
    boot::{self, Ending},
    cli::Eval,
    client::Client,
    config::Config,
    context::Context,
    embedded, harvest, print, progress, serve, settle, stages,
};
use anyhow::{Context as _, Result, bail};
use serde::Serialize;
use serde_json::json;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio_util::sync::CancellationToken;
use whence_embed::EmbedStage;
use whence_provision::Supervisor;
use whence_query::{
    Mode, SearchError,
    eval::{Breach, Gate, Question, Report, ask_service, evaluate, read_questions},
};

const MODES: [Mode; 3] = [Mode::Dense, Mode::Lexical, Mode::Hybrid];

/// Thresholds beside the questions.
const GATE_FILE: &str = "gate.toml";

/// What was measured, and which thresholds it does not meet.
#[derive(Serialize)]
struct Outcome {
    #[serde(flatten)]
    report: Report,
    /// Empty where all are met, absent where there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    breaches: Option<Vec<Breach>>,
}

pub(crate) async fn run(config: Config, arguments: Eval) -> Result<Ending> {
    let questions = read_questions(&question_files(&arguments.folder)?)?;
    let gate = gate(&arguments.folder)?;
    let report = match arguments.fresh {
        true => fresh(config, &arguments.folder, &questions).await?,
        false => running(&config, &questions).await?,
    };
    let breaches = gate.map(|gate| gate.check(&report));
    let outcome = Outcome { report, breaches };
    if arguments.output.json {
        print::json(&outcome)?;
    } else {
        print::text(&outcome.to_string());
    }
    Ok(match outcome.breaches {
        Some(breaches) if !breaches.is_empty() => Ending::Breach,
        _ => Ending::Done,
    })
}

impl std::fmt::Display for Outcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.report)?;
        match self.breaches.as_deref() {
            None => Ok(()),
            Some([]) => writeln!(f, "\nevery threshold of {GATE_FILE} is met"),
            Some(breaches) => {
                writeln!(f, "\nnot met, of {GATE_FILE}:")?;
                for breach in breaches {
                    let Breach {
                        key,
                        threshold,
                        measured,
                    } = breach;
                    let measured = measured.map_or_else(
                        || "no question measures it".to_owned(),
                        |measured| format!("{measured:.3}"),
                    );
                    writeln!(f, "  {key} = {threshold}: {measured}")?;
                }
                Ok(())
            }
        }
    }
}

/// The thresholds of the folder, where it has any.
fn gate(folder: &Path) -> Result<Option<Gate>> {
    let path = folder.join(GATE_FILE);
    if !path.is_file() {
        return Ok(None);
    }
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("cannot read {}", path.display()))?;
    let gate = toml::from_str(&text)
        .with_context(|| format!("{} is not a list of thresholds", path.display()))?;
    Ok(Some(gate))
}

fn question_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder)
        .with_context(|| format!("cannot read the folder {}", folder.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.context("cannot read the folder to its end")?.path();
        let name = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned());
        if name.is_some_and(|name| name.starts_with("queries.") && name.ends_with(".jsonl")) {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        bail!(
            "{} holds no queries.*.jsonl; docs/search.md shows their shape",
            folder.display()
        );
    }
    Ok(files)
}

/// Asks the service that runs.
async fn running(config: &Config, questions: &[Question]) -> Result<Report> {
    let client = Arc::new(Client::new(config)?);
    let bar = progress::bar("questions", (questions.len() * MODES.len()) as u64);
    let ask = |question: Question, mode: Mode, k: usize| {
        let client = client.clone();
        async move {
            let request = json!({
                "query": question.query,
                "k": k.min(whence_query::MAX_K),
                "mode": mode,
                "filters": question.scope()?,
            });
            let answer = client.post("/search", &request).await?;
            let hits = answer["hits"]
                .as_array()
                .map(Vec::as_slice)
                .unwrap_or_default();
            Ok::<_, anyhow::Error>(
                hits.iter()
                    .filter_map(|hit| hit["id"].as_str().map(str::to_owned))
                    .collect(),
            )
        }
    };
    let report = evaluate(questions, &MODES, ask, |done| bar.set_position(done as u64)).await;
    bar.finish_and_clear();
    report
}

/// Builds an index from the folder's archives in a throw-away pipeline.
async fn fresh(mut config: Config, folder: &Path, questions: &[Question]) -> Result<Report> {
    let stop = boot::stop_on_signal()?;
    let scratch = tempfile::Builder::new()
        .prefix("whence-eval-")
        .tempdir()
        .context("cannot make a folder for the throw-away index")?;
    config.data = scratch.path().join("data");
    (config.nats.url, config.postgres.url) = (None, None);
    let sources = archives(folder)?;
    let supervisor = Supervisor::start(embedded::options(&config)?).await?;
    let measured = async {
        let endpoints = supervisor.endpoints().clone();
        let context = Arc::new(Context::at(config.clone(), endpoints).await?);
        context.set_up().await?;
        let encoder = stages::encoder(&config, &context).await?;
        let stage = Arc::new(EmbedStage::new(encoder.clone()));
        let build = build(context.clone(), stage, &sources, &stop);
        build.await?;
        let reranker = stages::reranker(&config).await?;
        let service = Arc::new(serve::service(&context, Some(encoder), reranker)?);
        let bar = progress::bar("questions", (questions.len() * MODES.len()) as u64);
        let ask = |question: Question, mode: Mode, k: usize| {
            let service = service.clone();
            async move { ask_service(&service, &question, mode, k).await }
        };
        let report: Result<Report, SearchError> =
            evaluate(questions, &MODES, ask, |done| bar.set_position(done as u64)).await;
        bar.finish_and_clear();
        Ok(report?)
    };
    let report = tokio::select! {
        report = measured => report,
        () = stop.cancelled() => Err(anyhow::anyhow!("stopped before it was measured")),
    };
    supervisor.stop().await;
    report
}

fn archives(folder: &Path) -> Result<Vec<whence_harvest::SourceSpec>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).context("cannot read the folder")? {
        let path = entry.context("cannot read the folder to its end")?.path();
        let name = path.to_string_lossy().into_owned();
        if name.ends_with(".archive.json") || name.ends_with(".archive.json.gz") {
            names.push(format!("archive:{name}"));
        }
    }
    names.sort();
    if names.is_empty() {
        bail!("{} holds no *.archive.json for --fresh", folder.display());
    }
    harvest::parse(&names)
}

/// Harvests and runs all stages until everything is searchable.
async fn build(
    context: Arc<Context>,
    embed: Arc<EmbedStage>,
    sources: &[whence_harvest::SourceSpec],
    stop: &CancellationToken,
) -> Result<()> {
    let workers = CancellationToken::new();
    let stages = async {
        tokio::try_join!(
            stages::normalize(&context, workers.clone()),
            stages::chunk(&context, workers.clone()),
            stages::embed(&context, embed, workers.clone()),
            stages::index(&context, workers.clone()),
        )
        .map(|_| ())
    };
    let feed = async {
        let options = harvest::options(&context, "eval --fresh")?;
        harvest::once(&context, sources, &options, stop).await?;
        settle::settle(&context, stop).await?;
        workers.cancel();
        Ok(())
    };
    tokio::try_join!(stages, feed).map(|_| ())
}
