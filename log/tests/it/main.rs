//! The log against a real nats-server.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod claims;
mod crash;
mod dead;
mod lease;
mod raw;
mod replay;
mod support;
mod worker;
