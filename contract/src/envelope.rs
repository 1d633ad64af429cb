//! A message: which ticket, which revision, and its state or its absence.

use crate::{Recipe, Revision, TicketKey};
use serde::{Serialize, de::DeserializeOwned};

/// A body that is stored in a stream.
pub trait Payload: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The name in the schema header, such as `whence.document`.
    const SCHEMA: &'static str;
    /// The version in the schema header. A field that is added with a default
    /// keeps it; a change that older readers misread raises it.
    const VERSION: u32 = 1;
}

/// The current state of one ticket at one stage.
///
/// Everything but the body travels as headers, so a stage can decide what is
/// newer without decoding the body.
#[derive(Clone, Debug, PartialEq)]
pub struct Envelope<T> {
    /// Which ticket.
    pub key: TicketKey,
    /// Which state of it.
    pub revision: Revision,
    /// Which stages made this message.
    pub recipe: Recipe,
    /// W3C `traceparent`, handed from stage to stage.
    pub trace: Option<String>,
    /// The body, or the fact that the ticket is gone.
    pub state: State<T>,
}

/// A ticket is there, whole, or it is gone.
#[derive(Clone, Debug, PartialEq)]
pub enum State<T> {
    /// The whole current state.
    Live(T),
    /// A tombstone: it replaces the last message, so the text leaves the stream.
    Deleted,
}

impl<T> Envelope<T> {
    /// What decides between two messages of one ticket: the larger one is newer.
    pub fn order(&self) -> (Revision, Recipe) {
        (self.revision, self.recipe)
    }

    /// The same envelope around another state.
    pub fn with_state<U>(&self, recipe: Recipe, state: State<U>) -> Envelope<U> {
        Envelope {
            key: self.key.clone(),
            revision: self.revision,
            recipe,
            trace: self.trace.clone(),
            state,
        }
    }
}
