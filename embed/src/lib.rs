//! Chunks to vectors: one message in, one message out, and only texts that are new
//! to a ticket are embedded.

mod stage;

pub use stage::{Counters, EmbedStage, VERSION};
