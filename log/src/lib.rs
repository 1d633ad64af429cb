//! The append-only log: streams, the delivery guard, the one worker loop, dead
//! letters, claim checks, and the key-value state of harvesting.
//!
//! This is the only crate that names the NATS client. Each stream is a compacted
//! table: it keeps the last message per ticket, and a deletion is a tombstone.

mod error;
mod stage;

pub use error::{LogError, LogErrorKind};
pub use stage::{ErrorKind, Input, Previous, Stage, StageError};
