//! Requests that change what is searchable: they go into the log, never into
//! the tables. The binary knows the log; this face knows their shapes.

use super::{
    AppState,
    body::{Failure, Json},
};
use crate::SearchError;
use async_trait::async_trait;
use axum::{
    body::Bytes,
    extract::{Path, State},
    http::HeaderMap,
    response::{IntoResponse, Response},
};
use serde::Deserialize;
use serde_json::Value;

/// `POST /invalidate`: fetch one ticket from its service now.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Invalidate {
    /// The kind of system: `github`, `gitlab`, `jira`, `linear`.
    pub source: String,
    /// As people write it: `owner/repo#7`, `PROJ-12`.
    pub ticket_id: String,
    /// Answer only when the new state can be found.
    #[serde(default)]
    pub wait: bool,
}

/// `POST /local/sync`: replace the notes beside one ticket.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LocalSync {
    /// The kind of system that the ticket is of.
    pub source: String,
    /// As people write it.
    pub ticket_id: String,
    /// All notes, as Markdown; nothing but blanks removes them.
    pub findings_md: String,
    /// The file they come from; diaries and tracking files are refused.
    #[serde(default)]
    pub file: Option<String>,
    /// Answer only when the notes can be found.
    #[serde(default)]
    pub wait: bool,
}

/// Who takes such requests.
#[async_trait]
pub trait Intake: Send + Sync {
    /// See [`Invalidate`].
    ///
    /// # Errors
    /// When no source could have the ticket, or its service refuses.
    async fn invalidate(&self, request: Invalidate) -> Result<Value, SearchError>;

    /// See [`LocalSync`].
    ///
    /// # Errors
    /// When the notes are refused; the old ones stand then.
    async fn local_sync(&self, request: LocalSync) -> Result<Value, SearchError>;

    /// A webhook of a service, with its headers in lower case.
    ///
    /// # Errors
    /// When it is not to be believed.
    async fn hook(
        &self,
        kind: &str,
        headers: &[(String, String)],
        body: &[u8],
    ) -> Result<Value, SearchError>;
}

pub(super) async fn invalidate(
    State(state): State<AppState>,
    Json(request): Json<Invalidate>,
) -> Result<Response, Failure> {
    Ok(Json(state.intake.invalidate(request).await?).into_response())
}

pub(super) async fn local_sync(
    State(state): State<AppState>,
    Json(request): Json<LocalSync>,
) -> Result<Response, Failure> {
    Ok(Json(state.intake.local_sync(request).await?).into_response())
}

pub(super) async fn hook(
    State(state): State<AppState>,
    Path(kind): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Failure> {
    let headers: Vec<(String, String)> = headers
        .iter()
        .filter_map(|(name, value)| {
            Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
        })
        .collect();
    Ok(Json(state.intake.hook(&kind, &headers, &body).await?).into_response())
}
