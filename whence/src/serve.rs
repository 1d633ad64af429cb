//! The query service, in `up` or as a process of its own.

use crate::{
    config::{Query, Secret},
    context::Context,
    intake::LogIntake,
    stages::{self, Questions},
};
use anyhow::{Context as _, Result, bail};
use std::{net::SocketAddr, sync::Arc};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use whence_model::Encoder;
use whence_query::{
    LookupService, Pool, QueryEncoder, Reranker, SearchError, SearchService,
    http::{AppState, Guard, router},
};

/// Searches that may run at a time.
const CONNECTIONS: usize = 16;

/// Takes the port, before anything else is started: a port in use is said at once.
pub(crate) async fn listen(address: SocketAddr) -> Result<TcpListener> {
    match TcpListener::bind(address).await {
        Ok(listener) => Ok(listener),
        Err(e) if e.kind() == std::io::ErrorKind::AddrInUse => bail!(
            "{address} is in use; is `whence up` running already? Choose another port with \
             --listen 127.0.0.1:PORT"
        ),
        Err(e) => Err(e).with_context(|| format!("cannot listen on {address}")),
    }
}

/// What answers searches on these tables.
pub(crate) fn service(
    context: &Context,
    encoder: Option<Arc<Encoder>>,
    reranker: Option<Arc<dyn Reranker>>,
) -> Result<SearchService> {
    Ok(search(context, pool(context)?, encoder, reranker))
}

/// Connections that give a statement up when nobody waits for it any more.
fn pool(context: &Context) -> Result<Pool> {
    let deadline = context.config.search().deadline;
    let url = &context.endpoints.postgres_url;
    Ok(whence_query::pool(url, CONNECTIONS, deadline)?)
}

fn search(
    context: &Context,
    pool: Pool,
    encoder: Option<Arc<Encoder>>,
    reranker: Option<Arc<dyn Reranker>>,
) -> SearchService {
    let floor = context.spec.floor;
    let encoder =
        encoder.map(|encoder| Arc::new(Questions { encoder, floor }) as Arc<dyn QueryEncoder>);
    let service = SearchService::new(pool, encoder, context.config.search());
    match reranker {
        Some(reranker) => service.with_reranker(reranker),
        None => service,
    }
}

/// Who may ask: by the names that are configured and by the address it listens on.
fn guard(config: &Query) -> Guard {
    let address = config.listen.ip();
    let own = (!address.is_unspecified()).then(|| address.to_string());
    Guard::new(config.hosts.iter().cloned().chain(own))
        .with_token(config.token.as_ref().map(Secret::expose))
}

/// Serves until `stop`, then lets requests in work finish.
pub(crate) async fn serve(
    context: &Arc<Context>,
    listener: TcpListener,
    encoder: Option<Arc<Encoder>>,
    stop: CancellationToken,
) -> Result<()> {
    let rows = whence_index::pool(&context.endpoints.postgres_url, 2)?;
    let pool = pool(context)?;
    let reranker = stages::reranker(&context.config).await?;
    let search = search(context, pool.clone(), encoder, reranker);
    let state = AppState {
        lookup: Arc::new(LookupService::new(pool, search.config().deadline)),
        search: Arc::new(search),
        stats: Arc::new(move || {
            let rows = rows.clone();
            Box::pin(async move {
                let failed = |e: &dyn std::fmt::Display| {
                    SearchError::new("unavailable", 503, e.to_string(), "see `whence doctor`")
                };
                let client = rows.get().await.map_err(|e| failed(&e))?;
                let stats = whence_index::stats(&client).await.map_err(|e| failed(&e))?;
                serde_json::to_value(stats).map_err(|e| failed(&e))
            })
        }),
        intake: Arc::new(LogIntake::new(context.clone(), stop.clone())?),
        guard: guard(&context.config.query),
    };
    axum::serve(listener, router(state))
        .with_graceful_shutdown(async move { stop.cancelled().await })
        .await
        .context("the query service ended")
}
