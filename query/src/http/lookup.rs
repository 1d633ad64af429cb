//! The endpoints that need no search.

use super::{
    AppState,
    body::{Failure, Json},
    params::{Asked, Limit, Named, Params, Taken},
};
use crate::{
    SearchError,
    line::Line,
    lookup::{
        Count, CountBy, Experts, FileHistory, Hotspot, Hotspots, Inbox, List, Matter, Order, Page,
        Person, Sort, TicketView,
    },
};
use axum::extract::State;
use schemars::JsonSchema;
use serde::Deserialize;

type Answer<T> = Result<Json<T>, Failure>;

/// No parameters but the visibility.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Seen {}

impl Params for Seen {
    const FILTERS: Taken = Taken::Visibility;
}

pub(super) async fn ticket(
    State(state): State<AppState>,
    Named(id): Named,
    asked: Asked<Seen>,
) -> Answer<TicketView> {
    Ok(Json(state.lookup.ticket(&id, &asked.filters).await?))
}

/// How a list is ordered and paged.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ListParams {
    /// By which time; tickets without it count as the oldest.
    #[serde(default)]
    sort: Sort,
    /// Which end comes first.
    #[serde(default)]
    order: Order,
    /// How many tickets at most.
    #[serde(default)]
    limit: Limit<50, 200>,
    /// `next` of the page before.
    #[serde(default)]
    cursor: Option<Line>,
}

impl Params for ListParams {
    const FILTERS: Taken = Taken::All;
}

pub(super) async fn list(State(state): State<AppState>, asked: Asked<ListParams>) -> Answer<Page> {
    let list = List {
        filters: asked.filters,
        sort: asked.params.sort,
        order: asked.params.order,
        limit: asked.params.limit.0,
        cursor: asked.params.cursor.map(|cursor| cursor.0),
    };
    Ok(Json(state.lookup.list(&list).await?))
}

/// What is counted by.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CountParams {
    /// What to count by; only the total when it is not given.
    #[serde(default)]
    by: Option<CountBy>,
    /// How many groups at most.
    #[serde(default)]
    limit: Limit<100, 1000>,
}

impl Params for CountParams {
    const FILTERS: Taken = Taken::All;
}

pub(super) async fn count(
    State(state): State<AppState>,
    asked: Asked<CountParams>,
) -> Answer<Count> {
    let CountParams { by, limit } = asked.params;
    let count = state.lookup.count(&asked.filters, by, limit.0).await?;
    Ok(Json(count))
}

/// Whose history.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct HistoryParams {
    /// The file's path, under any name it had.
    path: Line,
    /// How many tickets at most.
    #[serde(default)]
    limit: Limit<50, 200>,
}

impl Params for HistoryParams {
    const FILTERS: Taken = Taken::Scope;
}

pub(super) async fn file_history(
    State(state): State<AppState>,
    asked: Asked<HistoryParams>,
) -> Answer<FileHistory> {
    let HistoryParams { path, limit } = asked.params;
    let history = state.lookup.file_history(&path.0, &asked.filters, limit.0);
    Ok(Json(history.await?))
}

/// Which file.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct HotspotParams {
    /// The file's path.
    file: Line,
    /// How many of its last tickets are shown.
    #[serde(default)]
    limit: Limit<10, 200>,
}

impl Params for HotspotParams {
    const FILTERS: Taken = Taken::Scope;
}

pub(super) async fn hotspot(
    State(state): State<AppState>,
    asked: Asked<HotspotParams>,
) -> Answer<Hotspot> {
    let HotspotParams { file, limit } = asked.params;
    let hotspot = state.lookup.hotspot(&file.0, &asked.filters, limit.0);
    Ok(Json(hotspot.await?))
}

/// How many files.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TopParams {
    /// How many files at most.
    #[serde(default)]
    limit: Limit<20, 200>,
}

impl Params for TopParams {
    const FILTERS: Taken = Taken::Scope;
}

pub(super) async fn hotspots(
    State(state): State<AppState>,
    asked: Asked<TopParams>,
) -> Answer<Hotspots> {
    let hotspots = state.lookup.hotspots(&asked.filters, asked.params.limit.0);
    Ok(Json(hotspots.await?))
}

/// No parameters but where to look.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Scope {}

impl Params for Scope {
    const FILTERS: Taken = Taken::Scope;
}

pub(super) async fn person(
    State(state): State<AppState>,
    Named(name): Named,
    asked: Asked<Scope>,
) -> Answer<Person> {
    Ok(Json(state.lookup.person(&name, &asked.filters).await?))
}

/// On what matter: exactly one of `q` and `path`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ExpertParams {
    /// A question.
    #[serde(default)]
    q: Option<Line>,
    /// A file's path.
    #[serde(default)]
    path: Option<Line>,
    /// How many people at most.
    #[serde(default)]
    limit: Limit<10, 50>,
}

impl Params for ExpertParams {
    const FILTERS: Taken = Taken::Scope;
}

pub(super) async fn experts(
    State(state): State<AppState>,
    asked: Asked<ExpertParams>,
) -> Answer<Experts> {
    let ExpertParams { q, path, limit } = asked.params;
    let matter = match (q, path) {
        (Some(question), None) => Matter::Question(question.0),
        (None, Some(path)) => Matter::Path(path.0),
        _ => {
            return Err(SearchError::bad_request(
                "exactly one of q and path must be given",
                "GET /experts?q=caching+strategy, or /experts?path=src/main.rs",
            )
            .into());
        }
    };
    let experts = state
        .lookup
        .experts(&state.search, &matter, &asked.filters, limit.0);
    Ok(Json(experts.await?))
}

/// Whose inbox.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct InboxParams {
    /// The name as the system writes it, with or without `@`.
    user: Line,
    /// How many tickets at most.
    #[serde(default)]
    limit: Limit<50, 200>,
}

impl Params for InboxParams {
    const FILTERS: Taken = Taken::Scope;
}

pub(super) async fn inbox(
    State(state): State<AppState>,
    asked: Asked<InboxParams>,
) -> Answer<Inbox> {
    let InboxParams { user, limit } = asked.params;
    let inbox = state.lookup.inbox(&user.0, &asked.filters, limit.0);
    Ok(Json(inbox.await?))
}
