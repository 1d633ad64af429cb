//! The HTTP face: JSON in, JSON out, errors in one shape.

mod answers;
mod body;
mod endpoints;
mod guard;
mod intake;
mod lookup;
mod metrics;
mod openapi;
mod params;

use crate::{LookupService, SearchError, SearchRequest, SearchService, SimilarRequest};
use answers::{Health, Ready, Version};
use axum::{
    Extension, Router,
    extract::{DefaultBodyLimit, Request, State},
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::{get, post},
};
use body::{Failure, Json};
use endpoints::HINT;
use metrics::Metrics;
use serde_json::Value;
use std::{future::Future, pin::Pin, sync::Arc};

pub use guard::Guard;
pub use intake::{Intake, Invalidate, Invalidated, LocalSync, Noted, Stored};
pub use openapi::openapi;

/// The largest request.
pub const MAX_BODY_BYTES: usize = 10 * 1024 * 1024;

/// The future of [`StatsSource`].
pub type StatsFuture = Pin<Box<dyn Future<Output = Result<Value, SearchError>> + Send>>;
/// Who counts the rows for `/stats`: the binary, which knows the tables' writer.
pub type StatsSource = Arc<dyn Fn() -> StatsFuture + Send + Sync>;

/// What the endpoints work with.
#[derive(Clone)]
pub struct AppState {
    /// Answers searches.
    pub search: Arc<SearchService>,
    /// Answers what needs no search.
    pub lookup: Arc<LookupService>,
    /// Counts rows.
    pub stats: StatsSource,
    /// Takes what changes the index.
    pub intake: Arc<dyn Intake>,
    /// Who may ask.
    pub guard: Guard,
}

/// All endpoints; [`openapi`] says which.
pub fn router(state: AppState) -> Router {
    let metrics = Arc::new(Metrics::new());
    Router::new()
        .route("/search", post(search))
        .route("/similar", post(similar))
        .route("/invalidate", post(intake::invalidate))
        .route("/local/sync", post(intake::local_sync))
        .route("/hooks/{kind}", post(intake::hook))
        .route("/tickets", get(lookup::list))
        .route("/tickets/{*id}", get(lookup::ticket))
        .route("/count", get(lookup::count))
        .route("/files/history", get(lookup::file_history))
        .route("/hotspots", get(lookup::hotspot))
        .route("/hotspots/top", get(lookup::hotspots))
        .route("/people/{*name}", get(lookup::person))
        .route("/experts", get(lookup::experts))
        .route("/inbox", get(lookup::inbox))
        .route("/openapi.json", get(async || Json(openapi())))
        .route("/metrics", get(metrics::show))
        .route("/healthz", get(async || Json(Health { status: "ok" })))
        .route("/readyz", get(ready))
        .route("/stats", get(stats))
        .route(
            "/version",
            get(async || {
                Json(Version {
                    version: env!("CARGO_PKG_VERSION"),
                })
            }),
        )
        .fallback(async || {
            Failure(SearchError::new(
                "not_found",
                404,
                "there is no such endpoint",
                HINT.as_str(),
            ))
        })
        .method_not_allowed_fallback(async || {
            Failure(SearchError::new(
                "method_not_allowed",
                405,
                "not by this method",
                HINT.as_str(),
            ))
        })
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        // Nothing is read from who may not ask.
        .layer(middleware::from_fn_with_state(state.guard.clone(), guarded))
        // Outermost: what is refused counts as well.
        .layer(middleware::from_fn(metrics::measured))
        .layer(Extension(metrics))
        .with_state(state)
}

async fn guarded(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let (headers, uri) = (request.headers(), request.uri());
    match guard
        .check(headers, uri)
        .and_then(|()| guard.admit(headers, uri))
    {
        Ok(()) => next.run(request).await,
        Err(refused) => Failure(refused).into_response(),
    }
}

async fn search(
    State(state): State<AppState>,
    Extension(metrics): Extension<Arc<Metrics>>,
    Json(request): Json<SearchRequest>,
) -> Result<Response, Failure> {
    let response = state.search.search(&request).await?;
    metrics.searched(&response.took_ms);
    Ok(Json(response).into_response())
}

async fn similar(
    State(state): State<AppState>,
    Extension(metrics): Extension<Arc<Metrics>>,
    Json(request): Json<SimilarRequest>,
) -> Result<Response, Failure> {
    let response = state.search.similar(&request).await?;
    metrics.searched(&response.took_ms);
    Ok(Json(response).into_response())
}

async fn ready(State(state): State<AppState>) -> Result<Response, Failure> {
    let tickets = state.search.ready().await?;
    let status = "ready";
    Ok(Json(Ready { status, tickets }).into_response())
}

async fn stats(State(state): State<AppState>) -> Result<Response, Failure> {
    Ok(Json((state.stats)().await?).into_response())
}
