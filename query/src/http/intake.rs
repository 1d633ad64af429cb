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
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `POST /invalidate`: fetch one ticket from its service now.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Invalidate {
    /// The kind of system: `github`, `gitlab`, `jira`, `linear`.
    #[schemars(length(min = 1))]
    pub source: String,
    /// As people write it: `owner/repo#7`, `PROJ-12`. At most 512 bytes.
    #[schemars(
        length(min = 1, max = 512),
        regex(pattern = r"^[^\u0000-\u001f\u007f-\u009f]*$")
    )]
    pub ticket_id: String,
    /// Answer only when the new state can be found.
    #[serde(default)]
    pub wait: bool,
}

/// `POST /local/sync`: replace the notes beside one ticket.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LocalSync {
    /// The kind of system that the ticket is of. At most 512 bytes.
    #[schemars(
        length(min = 1, max = 512),
        regex(pattern = r"^[^\u0000-\u001f\u007f-\u009f]*$")
    )]
    pub source: String,
    /// As people write it. At most 512 bytes.
    #[schemars(
        length(min = 1, max = 512),
        regex(pattern = r"^[^\u0000-\u001f\u007f-\u009f]*$")
    )]
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

/// What became of an [`Invalidate`].
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "status")]
pub enum Invalidated {
    /// The present state is in the log.
    Fetched {
        /// The ticket.
        ticket: String,
        /// The source that has it.
        source: String,
        /// Which state it is.
        revision: u64,
        /// It can be found already.
        searchable: bool,
    },
    /// Nobody has taken it up yet; it stays noted.
    Waiting {
        /// The ticket.
        ticket: String,
    },
}

/// What became of a [`LocalSync`].
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Stored {
    /// `stored`
    pub status: &'static str,
    /// The ticket beside which the notes are.
    pub ticket: String,
    /// Which state of the notes it is; absent where there was nothing to remove.
    pub revision: Option<u64>,
    /// They can be found already.
    pub searchable: bool,
}

/// What became of a webhook.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Noted {
    /// `noted`
    pub status: &'static str,
    /// How many tickets will be looked at.
    pub tickets: u64,
}

/// Who takes such requests.
#[async_trait]
pub trait Intake: Send + Sync {
    /// See [`Invalidate`].
    ///
    /// # Errors
    /// When no source could have the ticket, or its service refuses.
    async fn invalidate(&self, request: Invalidate) -> Result<Invalidated, SearchError>;

    /// See [`LocalSync`].
    ///
    /// # Errors
    /// When the notes are refused; the old ones stand then.
    async fn local_sync(&self, request: LocalSync) -> Result<Stored, SearchError>;

    /// A webhook of a service, with its headers in lower case.
    ///
    /// # Errors
    /// When it is not to be believed.
    async fn hook(
        &self,
        kind: &str,
        headers: &[(String, String)],
        body: &[u8],
    ) -> Result<Noted, SearchError>;
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
