//! The tables against a real Postgres: a database for each test.
#![allow(clippy::unwrap_used, clippy::expect_used, unreachable_pub)]

mod apply;
mod laws;
mod schema;
mod server;
mod tickets;
