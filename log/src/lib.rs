//! The append-only log: streams, the delivery guard, the one worker loop, dead
//! letters, claim checks, and the key-value state of harvesting.
//!
//! This is the only crate that names the NATS client. Each stream is a compacted
//! table: it keeps the last message per ticket, and a deletion is a tombstone.

mod claim;
mod connect;
mod counters;
mod dead;
mod delivery;
mod edge;
mod error;
mod kv;
mod lease;
mod raw;
mod replay;
mod scan;
mod setup;
mod stage;
mod status;
mod store;
mod want;
mod wire;
mod worker;

pub use connect::{Log, LogOptions};
pub use counters::{Counters, WorkerReport};
pub use dead::{Buried, unknown};
pub use edge::Edge;
pub use error::{LogError, LogErrorKind};
pub use kv::{RunCounts, RunRecord, RunStatus};
pub use lease::{Lease, Leased};
pub use raw::{KnownTicket, Published};
pub use replay::{ReplayPlan, ReplayProgress};
pub use scan::Selection;
pub use stage::{ErrorKind, Input, Previous, Stage, StageError};
pub use status::{EdgeStatus, ReaderStatus};
pub use want::{Want, WantAnswer};
pub use worker::{Wiring, run};
