//! The table of endpoints, from which the document and the hints derive.

use super::{
    answers::{Health, Ready, Stats, Version},
    intake::{Invalidate, Invalidated, LocalSync, Noted, Stored},
    lookup::{
        CountParams, ExpertParams, HistoryParams, HotspotParams, InboxParams, ListParams, Scope,
        Seen, TopParams,
    },
    params::Params,
};
use crate::{
    SearchRequest, SearchResponse, SimilarRequest,
    lookup::{Count, Experts, FileHistory, Hotspot, Hotspots, Inbox, Page, Person, TicketView},
};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;
use std::sync::LazyLock;

/// One method on one path.
pub(super) struct Endpoint {
    pub(super) method: &'static str,
    /// As OpenAPI writes it.
    pub(super) path: &'static str,
    /// One line.
    pub(super) summary: &'static str,
    /// Of the part of the path in braces.
    pub(super) named: Option<&'static str>,
    /// Its own parameters and filters, where it reads any.
    pub(super) parameters: Option<fn(&mut SchemaGenerator) -> Vec<Value>>,
    pub(super) body: Body,
    pub(super) answer: Answer,
    /// Beyond those that every endpoint may answer.
    pub(super) errors: &'static [u16],
}

/// What is sent.
pub(super) enum Body {
    None,
    Json(fn(&mut SchemaGenerator) -> Schema),
    /// Whatever the caller's system writes.
    Any,
}

/// What is answered when all is well.
pub(super) enum Answer {
    Json(fn(&mut SchemaGenerator) -> Schema),
    Text,
    /// A JSON object that some standard describes.
    Object,
}

fn of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}

fn parameters<P: Params>(generator: &mut SchemaGenerator) -> Vec<Value> {
    super::openapi::parameters::<P>(generator)
}

const GET: Endpoint = Endpoint {
    method: "get",
    path: "",
    summary: "",
    named: None,
    parameters: None,
    body: Body::None,
    answer: Answer::Text,
    errors: &[],
};

const POST: Endpoint = Endpoint {
    method: "post",
    errors: &[400, 413],
    ..GET
};

/// All of them, in the order of the document.
pub(super) const ENDPOINTS: &[Endpoint] = &[
    Endpoint {
        path: "/search",
        summary: "Ask a question",
        body: Body::Json(of::<SearchRequest>),
        answer: Answer::Json(of::<SearchResponse>),
        ..POST
    },
    Endpoint {
        path: "/similar",
        summary: "Find tickets like a ticket, or like a draft",
        body: Body::Json(of::<SimilarRequest>),
        answer: Answer::Json(of::<SearchResponse>),
        errors: &[400, 404, 413],
        ..POST
    },
    Endpoint {
        path: "/tickets",
        summary: "List tickets, page by page",
        parameters: Some(parameters::<ListParams>),
        answer: Answer::Json(of::<Page>),
        errors: &[400],
        ..GET
    },
    Endpoint {
        path: "/tickets/{id}",
        summary: "One ticket whole, with its links both ways",
        named: Some(
            "an id as people write it, a former one, or an address; slashes may be encoded or not",
        ),
        parameters: Some(parameters::<Seen>),
        answer: Answer::Json(of::<TicketView>),
        errors: &[400, 404],
        ..GET
    },
    Endpoint {
        path: "/count",
        summary: "Count tickets",
        parameters: Some(parameters::<CountParams>),
        answer: Answer::Json(of::<Count>),
        errors: &[400],
        ..GET
    },
    Endpoint {
        path: "/files/history",
        summary: "Tickets that changed a file or speak of it, under all its names",
        parameters: Some(parameters::<HistoryParams>),
        answer: Answer::Json(of::<FileHistory>),
        errors: &[400],
        ..GET
    },
    Endpoint {
        path: "/hotspots",
        summary: "How many tickets changed a file or speak of it",
        parameters: Some(parameters::<HotspotParams>),
        answer: Answer::Json(of::<Hotspot>),
        errors: &[400],
        ..GET
    },
    Endpoint {
        path: "/hotspots/top",
        summary: "The files with the most tickets",
        parameters: Some(parameters::<TopParams>),
        answer: Answer::Json(of::<Hotspots>),
        errors: &[400],
        ..GET
    },
    Endpoint {
        path: "/people/{name}",
        summary: "What somebody contributed, on what, and with whom",
        named: Some("the name as the system writes it, in any case, with or without @"),
        parameters: Some(parameters::<Scope>),
        answer: Answer::Json(of::<Person>),
        errors: &[400, 404],
        ..GET
    },
    Endpoint {
        path: "/experts",
        summary: "Who weighs in on a question or a file: exactly one of q and path",
        parameters: Some(parameters::<ExpertParams>),
        answer: Answer::Json(of::<Experts>),
        errors: &[400],
        ..GET
    },
    Endpoint {
        path: "/inbox",
        summary: "Open tickets that are assigned to somebody, opened by them, or name them",
        parameters: Some(parameters::<InboxParams>),
        answer: Answer::Json(of::<Inbox>),
        errors: &[400],
        ..GET
    },
    Endpoint {
        path: "/invalidate",
        summary: "Fetch one ticket from its service now",
        body: Body::Json(of::<Invalidate>),
        answer: Answer::Json(of::<Invalidated>),
        errors: &[400, 404, 413, 502],
        ..POST
    },
    Endpoint {
        path: "/local/sync",
        summary: "Replace the notes beside one ticket",
        body: Body::Json(of::<LocalSync>),
        answer: Answer::Json(of::<Stored>),
        errors: &[400, 413, 422],
        ..POST
    },
    Endpoint {
        path: "/hooks/{kind}",
        summary: "A webhook of a service, signed as that service signs",
        named: Some("the kind of system: github, gitlab, jira, linear"),
        body: Body::Any,
        answer: Answer::Json(of::<Noted>),
        errors: &[400, 404, 413],
        ..POST
    },
    Endpoint {
        path: "/healthz",
        summary: "The process lives",
        answer: Answer::Json(of::<Health>),
        ..GET
    },
    Endpoint {
        path: "/readyz",
        summary: "It can answer",
        answer: Answer::Json(of::<Ready>),
        ..GET
    },
    Endpoint {
        path: "/stats",
        summary: "What is searchable, counted",
        answer: Answer::Json(of::<Stats>),
        ..GET
    },
    Endpoint {
        path: "/version",
        summary: "Which version runs",
        answer: Answer::Json(of::<Version>),
        ..GET
    },
    Endpoint {
        path: "/metrics",
        summary: "Counters and times in Prometheus' text format",
        answer: Answer::Text,
        ..GET
    },
    Endpoint {
        path: "/openapi.json",
        summary: "This document",
        answer: Answer::Object,
        ..GET
    },
];

/// Which there are, for those who asked for another.
pub(super) static HINT: LazyLock<String> = LazyLock::new(|| {
    let by = |method: &str| {
        let of = ENDPOINTS
            .iter()
            .filter(|endpoint| endpoint.method == method);
        of.map(|endpoint| endpoint.path)
            .collect::<Vec<_>>()
            .join(", ")
    };
    format!("there are GET {} and POST {}", by("get"), by("post"))
});
