//! Sources on real files, and the runner on a real log.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod archive;
mod download;
mod fixture;
mod runner;
mod runner_faults;
mod spec;
mod ticket;
mod tracker;
mod wiki;
