//! The cache and the supervisor against real packages, processes and files.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod cache;
mod servers;
mod supervisor;
