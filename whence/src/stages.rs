//! Building each stage and running it, in `up` or as a process of its own.

use crate::{config::Config, context::Context, models};
use anyhow::{Context as _, Result};
use async_trait::async_trait;
use std::{sync::Arc, time::Instant};
use tokio_util::sync::CancellationToken;
use whence_chunk::{ChunkStage, CountTokens, Limits, RefRules};
use whence_contract::ModelId;
use whence_embed::EmbedStage;
use whence_index::IndexStage;
use whence_log::{Counters, Edge, Stage as LogStage, Wiring};
use whence_model::{EmbedKind, Encoder, ModelError, Tokenizer};
use whence_normalize::NormalizeStage;
use whence_query::{EncodeError, QueryEncoder, RerankError, Reranker};

/// Connections to Postgres of one index worker, beyond those at work.
const SPARE_CONNECTIONS: usize = 1;

/// The encoder, made once for the stages that use it.
pub(crate) async fn encoder(config: &Config, context: &Context) -> Result<Arc<Encoder>> {
    Ok(Arc::new(models::encoder(config, &context.spec).await?))
}

/// The reranker as the query service wants it, where one is configured.
pub(crate) async fn reranker(config: &Config) -> Result<Option<Arc<dyn Reranker>>> {
    let pairs = config.rerank.pairs;
    let model = models::reranker(config).await?;
    Ok(model.map(|model| Arc::new(Pairs { model, pairs }) as Arc<dyn Reranker>))
}

/// Runs normalize until `stop`.
pub(crate) async fn normalize(context: &Context, stop: CancellationToken) -> Result<()> {
    let permits = context.config.workers.normalize;
    run(
        context,
        Arc::new(NormalizeStage),
        Edge::Raw,
        Edge::Docs,
        permits,
        stop,
    )
    .await
}

/// Runs chunk until `stop`.
pub(crate) async fn chunk(context: &Context, stop: CancellationToken) -> Result<()> {
    let config = &context.config;
    let tokenizer = models::tokenizer(config, &context.spec).await?;
    models::check_room(config, &context.spec, &tokenizer)?;
    let limits = Limits {
        max_tokens: config.chunk.max_tokens,
        refs: RefRules {
            known_projects: config.chunk.project_keys.iter().cloned().collect(),
        },
    };
    let fingerprint = whence_chunk::fingerprint(&limits, &context.spec.counter_id());
    let version = context
        .log
        .stage_version("chunk", whence_chunk::VERSION, &fingerprint)
        .await?;
    let stage = ChunkStage::new(limits, Arc::new(Counter(tokenizer)), version.settings);
    run(
        context,
        Arc::new(stage),
        Edge::Docs,
        Edge::Chunks,
        config.workers.chunk,
        stop,
    )
    .await
}

/// Runs embed until `stop`.
pub(crate) async fn embed(
    context: &Context,
    stage: Arc<EmbedStage>,
    stop: CancellationToken,
) -> Result<()> {
    let output = Edge::Vectors(context.slug());
    run(
        context,
        stage,
        Edge::Chunks,
        output,
        context.config.workers.embed,
        stop,
    )
    .await
}

/// Runs index until `stop`.
pub(crate) async fn index(context: &Context, stop: CancellationToken) -> Result<()> {
    let permits = context.config.workers.index;
    let pool = whence_index::pool(&context.endpoints.postgres_url, permits + SPARE_CONNECTIONS)?;
    let client = pool.get().await.context("cannot connect to Postgres")?;
    whence_index::check_schema(&client).await?;
    let model = context.spec.id();
    let generation = whence_index::find_model(&client, &model)
        .await?
        .with_context(|| format!("the tables have no model {model}; run `whence setup`"))?;
    drop(client);
    let stage = IndexStage::new(pool, generation);
    let (input, output) = (Edge::Vectors(context.slug()), Edge::Indexed(context.slug()));
    run(context, Arc::new(stage), input, output, permits, stop).await
}

/// One worker of a stage, with its reports.
async fn run<S: LogStage>(
    context: &Context,
    stage: Arc<S>,
    input: Edge,
    output: Edge,
    permits: usize,
    stop: CancellationToken,
) -> Result<()>
where
    S::Out: Clone,
{
    let consumer = input
        .consumers(&context.models)
        .into_iter()
        .next()
        .with_context(|| format!("{} has no reader", input.stream()))?;
    let counters = Arc::new(Counters::default());
    let worker = format!("{}-{}", std::process::id(), stage.name());
    let reports = {
        let (log, counters, consumer) = (context.log.clone(), counters.clone(), consumer.clone());
        let stop = stop.child_token();
        tokio::spawn(async move { log.report(&consumer, &worker, &counters, stop).await })
    };
    let name = stage.name();
    tracing::info!(stage = name, "started");
    let wiring = Wiring {
        input,
        consumer,
        output,
        permits,
    };
    let ended = whence_log::run(context.log.clone(), stage, wiring, counters, stop).await;
    reports.abort();
    ended.with_context(|| format!("the stage {name} stopped"))
}

/// The model's own tokenizer, as the chunker wants it.
struct Counter(Tokenizer);

impl CountTokens for Counter {
    fn count(&self, text: &str) -> usize {
        self.0.count(text)
    }
}

/// The encoder, as the query service wants it.
pub(crate) struct Questions {
    pub(crate) encoder: Arc<Encoder>,
    /// Of its entry in `models.toml`.
    pub(crate) floor: Option<f64>,
}

#[async_trait]
impl QueryEncoder for Questions {
    fn model(&self) -> &ModelId {
        self.encoder.id()
    }

    fn floor(&self) -> Option<f64> {
        self.floor
    }

    async fn encode(&self, query: &str) -> Result<Vec<f32>, EncodeError> {
        let vectors = self
            .encoder
            .embed(vec![query.to_owned()], EmbedKind::Query)
            .await;
        let first = vectors
            .map_err(|e| EncodeError(whole(e)))?
            .into_iter()
            .next();
        first.ok_or_else(|| EncodeError("the model gave no vector".to_owned()))
    }
}

/// A reranker with what it may be asked at a time.
struct Pairs {
    model: whence_model::Reranker,
    pairs: usize,
}

#[async_trait]
impl Reranker for Pairs {
    fn name(&self) -> &str {
        self.model.name()
    }

    async fn score(
        &self,
        query: &str,
        passages: &[String],
        deadline: Instant,
    ) -> Result<Vec<Option<f32>>, RerankError> {
        let scores = self.model.score(query, passages, self.pairs, deadline);
        scores.await.map_err(|e| RerankError(whole(e)))
    }
}

/// An error with its causes, on one line.
fn whole(error: ModelError) -> String {
    format!("{:#}", anyhow::Error::new(error))
}
