//! What crosses an edge of the pipeline: ids, messages and their versions.
//!
//! Pure data, no I/O. Every stage depends on this crate and on no other stage,
//! so what two stages agree on can only be written here. Each message type that
//! is stored has golden files under `tests/golden/`; a committed one never
//! changes.

mod chunk;
mod dead;
mod document;
mod envelope;
mod hash;
mod key;
mod lenient;
mod raw;
mod token;
mod vector;
mod version;

pub use chunk::{COMMENT_SEQ_BASE, Chunk, ChunkedTicket, CodeRef};
pub use dead::DeadLetter;
pub use document::{
    Document, FileChange, Label, Link, LinkKind, TicketEvent, TicketKind, Unit, UnitKind,
    Visibility,
};
pub use envelope::{Envelope, Payload, State};
pub use hash::ContentHash;
pub use key::{Provenance, TicketKey};
pub use lenient::lenient_json;
pub use raw::{Dialect, RawTicket};
pub use token::{TokenError, decode_token, encode_token};
pub use vector::{EmbeddedTicket, Embedding, IndexedTicket, ModelId};
pub use version::{Recipe, Revision, StageVersion};

pub use jiff::Timestamp;
