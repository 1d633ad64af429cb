//! All kinds of sources: one folder and one line here for each.

mod archive;
mod ticket;
mod wiki;

use crate::{Clock, Source};

/// One kind of source.
pub(crate) struct Kind {
    /// What stands before the colon.
    pub(crate) name: &'static str,
    /// How it is written, for messages.
    pub(crate) usage: &'static str,
    /// Makes one of its name and place; the error says what is wrong with them.
    /// Pure: nothing is read yet.
    pub(crate) open: Open,
}

/// From the source's whole text and what stands after the colon.
type Open = fn(name: &str, place: &str, clock: Clock) -> Result<Box<dyn Source>, String>;

/// The registry.
pub(crate) const KINDS: &[Kind] = &[archive::KIND, wiki::KIND, ticket::KIND];
