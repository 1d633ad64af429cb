//! The cache and the supervisor against real packages, processes and files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod cache;
mod doctor;
mod model_server;
mod obstacles;
mod servers;
mod supervisor;
