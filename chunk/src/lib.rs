//! A document cut into texts that fit a model.
//!
//! Everything but [`ChunkStage`] is a function of values. A unit's Markdown is
//! read once ([`scan`]): code leaves it, headings open sections. Each section's
//! text ([`sections`]) is cut to the budget ([`split`]), and every chunk begins
//! with the ticket's title and the headings above it ([`prefix`]). What the
//! removed code names ([`code_refs`]) comes back as a sentence; references to
//! tickets ([`refs`]) become canonical ids.

mod chunker;
pub mod code_refs;
pub mod diff;
mod html;
mod limits;
pub mod prefix;
mod reader;
pub mod refs;
pub mod scan;
pub mod sections;
mod sentence;
pub mod split;
mod stage;

pub use chunker::chunk;
pub use limits::fingerprint;
pub use limits::{CountTokens, DEFAULT_TOKENS, LEAST_TOKENS, Limits, MOST_TOKENS, RefRules};
pub use stage::ChunkStage;

/// Raised by hand whenever [`chunk`]'s output changes for equal input.
pub const VERSION: u32 = 1;
