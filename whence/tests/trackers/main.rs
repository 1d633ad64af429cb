//! The trackers as sources, against a simulator of their services: what is
//! upstream is in the log, whatever happens between.
//!
//! Each service has a file here with its own rules.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
// Not every service needs all of the simulator.
#![allow(dead_code)]

mod github;
mod github_rules;

mod gitlab;
mod jira;
mod linear;
mod mirror;
mod schemas;
mod simulator;
mod suite;
