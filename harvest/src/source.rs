//! What a source is: it lists tickets in batches, then says what the listing
//! was worth.

use async_trait::async_trait;
use serde_json::Value;
use std::error::Error;
use thiserror::Error as ThisError;
use tokio::sync::mpsc;
use whence_contract::{Provenance, RawTicket, TicketKey, Timestamp};

/// Where the time comes from.
pub type Clock = fn() -> Timestamp;

/// A place that tickets come from.
///
/// Further ways to ask (one ticket, all ids) are further methods with a default;
/// nothing here presumes that a source lists everything it has.
#[async_trait]
pub trait Source: Send + Sync {
    /// The source as configured; the origin of every ticket it publishes.
    fn name(&self) -> &str;

    /// The scope that this source alone may fill, where it is identified by a
    /// name that another place could bear too.
    ///
    /// # Errors
    /// When the place cannot be read.
    fn claim(&self) -> Result<Option<Claim>, SourceError> {
        Ok(None)
    }

    /// Whether the place can be read now.
    ///
    /// # Errors
    /// When it cannot: what is wrong and what to do.
    async fn check(&self) -> Result<(), SourceError>;

    /// Sends all that changed since the cursor, in the order in which it shall
    /// be applied: of a key that comes twice the last state stands. Dropped at
    /// any await when the run stops.
    ///
    /// # Errors
    /// When nothing can be said of what was not sent yet. What was sent before
    /// is published all the same, and nothing is removed.
    async fn list(&self, since: Since, out: &Batches) -> Result<Listing, SourceError>;
}

/// Exclusive right to a scope.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// What is claimed, such as `wiki/docs`.
    pub what: String,
    /// Who claims it: an absolute path, an address.
    pub owner: String,
    /// What to do when another owner holds it.
    pub remedy: String,
}

/// Where the last pass ended.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Since {
    /// What the source's last complete [`Listing`] gave; `None` at first.
    pub cursor: Option<Value>,
    /// List everything, even what the cursor shows to be unchanged.
    pub whole: bool,
}

/// One item of a listing.
#[derive(Clone, Debug)]
pub enum Item {
    /// A ticket's present state.
    Ticket {
        /// Which ticket.
        key: TicketKey,
        /// As it came.
        raw: RawTicket,
    },
    /// Something that is there and cannot be read.
    Unreadable(Unreadable),
}

/// Something that is there and cannot be read: a value, never an error, so that
/// its neighbours go through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Which ticket, where that much can be read. It is not taken for deleted.
    pub key: Option<TicketKey>,
    /// Where a person should look: a file, a place within it. Stays the same
    /// for the same trouble, so that it is one dead letter over all runs.
    pub location: String,
    /// What is wrong, outermost cause first.
    pub causes: Vec<String>,
    /// The bytes as they were found, perhaps cut.
    pub bytes: Vec<u8>,
    /// How many there were.
    pub size: u64,
}

/// Some items, in order.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The items.
    pub items: Vec<Item>,
    /// Stored as the cursor once all items up to here are in the log, so that a
    /// run that stops later resumes here. `None` where a listing is cheap to
    /// repeat.
    pub cursor: Option<Value>,
}

/// Where a source sends its batches. Bounded: a source waits for the log.
#[derive(Clone, Debug)]
pub struct Batches(mpsc::Sender<Batch>);

impl Batches {
    /// A sender and what it sends to; `room` batches may wait between them.
    pub fn channel(room: usize) -> (Self, mpsc::Receiver<Batch>) {
        let (sender, receiver) = mpsc::channel(room);
        (Self(sender), receiver)
    }

    /// Sends from async code.
    ///
    /// # Errors
    /// [`SourceError::Stopped`] when the run has ended.
    pub async fn send(&self, batch: Batch) -> Result<(), SourceError> {
        self.0.send(batch).await.map_err(|_| SourceError::Stopped)
    }

    /// Sends from a thread that may block.
    ///
    /// # Errors
    /// [`SourceError::Stopped`] when the run has ended.
    pub fn send_blocking(&self, items: Vec<Item>) -> Result<(), SourceError> {
        let batch = Batch {
            items,
            cursor: None,
        };
        self.0
            .blocking_send(batch)
            .map_err(|_| SourceError::Stopped)
    }
}

/// What a listing was worth.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// Everything there is in `scopes` was sent. Nothing is removed otherwise.
    pub complete: bool,
    /// What is missing where it is not complete.
    pub why_incomplete: Option<String>,
    /// Nothing has changed since the cursor, and nothing was sent for that
    /// reason.
    pub unchanged: bool,
    /// Given back at the next pass.
    pub cursor: Value,
    /// What the listing speaks for: a known ticket in there that was not sent
    /// is absent.
    pub scopes: Vec<Scope>,
    /// What absence means.
    pub absence: Absence,
    /// What a person should know.
    pub warnings: Vec<String>,
}

/// One repository, project or wiki.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
pub struct Scope {
    /// Which path.
    pub provenance: Provenance,
    /// The kind of system.
    pub source: String,
    /// Its name there.
    pub scope: String,
}

impl std::fmt::Display for Scope {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.source, self.scope)
    }
}

/// What it means that a complete listing lacks a known ticket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Absence {
    /// It is gone: the listing is one snapshot.
    #[default]
    AtOnce,
    /// It is gone if the next listing lacks it too: pages were read while
    /// tickets moved between them.
    SecondSight,
}

/// Why a source cannot be listed.
#[derive(Debug, ThisError)]
pub enum SourceError {
    /// The place cannot be read; the text names it and says what to do.
    #[error("{what}")]
    Unavailable {
        /// What was tried on what, and what to do.
        what: String,
        /// The cause.
        #[source]
        source: Option<Box<dyn Error + Send + Sync>>,
    },
    /// The run ended first.
    #[error("stopped")]
    Stopped,
}

impl SourceError {
    pub(crate) fn bare(what: impl Into<String>) -> Self {
        Self::Unavailable {
            what: what.into(),
            source: None,
        }
    }

    pub(crate) fn because(
        what: impl Into<String>,
        source: impl Into<Box<dyn Error + Send + Sync>>,
    ) -> Self {
        Self::Unavailable {
            what: what.into(),
            source: Some(source.into()),
        }
    }
}
