//! Laws, snapshots, and runs over real archives with the real tokenizer.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout)]

mod archives;
mod corpus;
mod extremes;
mod laws;
mod references;
mod stage;
mod support;
mod tokenizer;
