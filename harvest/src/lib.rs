//! The outside world's side of the pipeline: sources, and the one runner that
//! takes what they list into the log.
//!
//! A source says what is there; it knows nothing of the log. The runner owns
//! everything else: single flight, cursors, retries, publishing, dead letters,
//! deletions and run records.

mod hook;
mod run;
mod settings;
mod source;
mod sources;
mod spec;
mod upstream;

pub use hook::{HookError, HookRequest, read_hook};
pub use run::{HarvestError, RunOptions, grant_wishes, run_once};
pub use settings::{Secret, Settings, SettingsKind, settings_kinds};
pub use source::{
    Absence, Batch, Batches, Census, Claim, Clock, Coverage, Fetched, Identity, Item, Listing,
    Scope, Sighting, Sightings, Since, Source, SourceError, Tracker, Unreadable, Wanted,
};
pub use spec::{Notice, Opening, SourceSpec, SpecError};
