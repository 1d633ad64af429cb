//! Search against a real Postgres: a database for each test.
#![allow(clippy::unwrap_used, clippy::expect_used, unreachable_pub)]

mod bm25;
mod conformance;
mod corpus;
mod eval;
mod filters;
mod http;
mod lookup;
mod refine;
mod rerank;
mod rockets;
mod search;
mod server;
