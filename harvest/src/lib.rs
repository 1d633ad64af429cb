//! The outside world's side of the pipeline: sources, and the one runner that
//! takes what they list into the log.
//!
//! A source says what is there; it knows nothing of the log. The runner owns
//! everything else: single flight, cursors, retries, publishing, dead letters,
//! deletions and run records.

mod run;
mod source;
mod sources;
mod spec;

pub use run::{HarvestError, RunOptions, run_once};
pub use source::{
    Absence, Batch, Batches, Claim, Clock, Item, Listing, Scope, Since, Source, SourceError,
    Unreadable,
};
pub use spec::{SourceSpec, SpecError};
