//! The stage with the real model: what is embedded, what is reused, what is refused.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod determinism;
mod remote;
mod stage;
mod support;
