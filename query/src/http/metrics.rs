//! `GET /metrics`, in Prometheus' text format: how much is asked, how long it
//! takes, and whether connections are short.
//!
//! Labels hold names of this service's own making, never what somebody asked.

use super::AppState;
use axum::{
    Extension,
    extract::{MatchedPath, Request, State},
    http::header,
    middleware::Next,
    response::{IntoResponse, Response},
};
use prometheus::{
    HistogramOpts, HistogramVec, IntCounterVec, IntGaugeVec, Opts, Registry, TextEncoder,
    core::Collector,
};
use serde::Serialize;
use serde_json::Value;
use std::{sync::Arc, time::Instant};

/// From a lookup on warm tables to the deadline.
const SECONDS: &[f64] = &[
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0,
];

/// What is counted since the start.
pub(super) struct Metrics {
    registry: Registry,
    requests: IntCounterVec,
    seconds: HistogramVec,
    parts: HistogramVec,
    connections: IntGaugeVec,
}

impl Metrics {
    #[expect(
        clippy::expect_used,
        reason = "names and labels are constants; a test makes them once"
    )]
    pub(super) fn new() -> Self {
        let registry = Registry::new();
        let histogram = |name: &str, help: &str, label: &str| {
            let options = HistogramOpts::new(name, help).buckets(SECONDS.to_vec());
            register(&registry, HistogramVec::new(options, &[label]))
        };
        let made = || -> prometheus::Result<(HistogramVec, HistogramVec, _, _)> {
            let requests = Opts::new("whence_http_requests_total", "Requests answered.");
            let connections = Opts::new("whence_pool_connections", "Connections to Postgres.");
            Ok((
                histogram(
                    "whence_http_request_seconds",
                    "Seconds until an answer.",
                    "endpoint",
                )?,
                histogram(
                    "whence_search_part_seconds",
                    "Seconds that a part of a search takes.",
                    "part",
                )?,
                register(
                    &registry,
                    IntCounterVec::new(requests, &["endpoint", "status"]),
                )?,
                register(&registry, IntGaugeVec::new(connections, &["state"]))?,
            ))
        };
        let (seconds, parts, requests, connections) = made().expect("metrics can be made");
        Self {
            registry,
            requests,
            seconds,
            parts,
            connections,
        }
    }

    /// The parts of a search, in milliseconds, by their names.
    pub(super) fn searched(&self, took_ms: &impl Serialize) {
        let Ok(Value::Object(parts)) = serde_json::to_value(took_ms) else {
            return;
        };
        for (part, millis) in parts {
            if let Some(millis) = millis.as_f64() {
                let part = self.parts.with_label_values(&[part.as_str()]);
                part.observe(millis / 1000.0);
            }
        }
    }
}

fn register<C: Collector + Clone + 'static>(
    registry: &Registry,
    made: prometheus::Result<C>,
) -> prometheus::Result<C> {
    let made = made?;
    registry.register(Box::new(made.clone()))?;
    Ok(made)
}

/// Counts and times every request by the route that took it.
pub(super) async fn measured(
    Extension(metrics): Extension<Arc<Metrics>>,
    route: Option<MatchedPath>,
    request: Request,
    next: Next,
) -> Response {
    let begin = Instant::now();
    let response = next.run(request).await;
    let endpoint = route.map_or("other".to_owned(), |route| {
        route.as_str().replace("{*", "{")
    });
    let status = response.status();
    metrics
        .requests
        .with_label_values(&[endpoint.as_str(), status.as_str()])
        .inc();
    metrics
        .seconds
        .with_label_values(&[endpoint.as_str()])
        .observe(begin.elapsed().as_secs_f64());
    response
}

pub(super) async fn show(
    State(state): State<AppState>,
    Extension(metrics): Extension<Arc<Metrics>>,
) -> Response {
    let pool = state.lookup.connections();
    for (name, connections) in [
        ("most", pool.max_size),
        ("open", pool.size),
        ("free", pool.available),
        ("waited_for", pool.waiting),
    ] {
        let gauge = metrics.connections.with_label_values(&[name]);
        gauge.set(i64::try_from(connections).unwrap_or(i64::MAX));
    }
    match TextEncoder::new().encode_to_string(&metrics.registry.gather()) {
        Ok(text) => {
            let plain = "text/plain; version=0.0.4; charset=utf-8";
            ([(header::CONTENT_TYPE, plain)], text).into_response()
        }
        Err(error) => {
            tracing::error!(%error, "metrics could not be written");
            super::Failure(crate::SearchError::new(
                "internal",
                500,
                "metrics could not be written",
                "this is a fault of the service: see its log",
            ))
            .into_response()
        }
    }
}
