//! What a source is: it lists tickets in batches, then says what the listing
//! was worth. Files and folders are no more than that; a [`Tracker`] can also
//! be asked for one ticket, and for everything it has without its prose.

use async_trait::async_trait;
use serde_json::Value;
use std::error::Error;
use thiserror::Error as ThisError;
use tokio::sync::mpsc;
use whence_contract::{Provenance, RawTicket, TicketKey, Timestamp};

/// Where the time comes from.
pub type Clock = fn() -> Timestamp;

/// A place that tickets come from.
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

    /// The service behind it, where it can be asked for more than a listing.
    fn tracker(&self) -> Option<&dyn Tracker> {
        None
    }
}

/// A service that can be asked for one ticket, and for all ids.
///
/// [`Source::list`] of a tracker gives what changed since the cursor, in the
/// order (time of change, id), with a cursor in every batch; what is absent from
/// it means nothing. Absence is the business of the census.
#[async_trait]
pub trait Tracker: Send + Sync {
    /// Whether tickets of this source are called like this: `owner/repo#7`.
    fn covers(&self, name: &str) -> bool;

    /// One ticket as it is now, with everything that hangs on it.
    ///
    /// # Errors
    /// When the service does not answer, or refuses this reader: never a reason
    /// to think the ticket deleted.
    async fn fetch(&self, wanted: &Wanted) -> Result<Fetched, SourceError>;

    /// Sends every ticket there is, in any order, without its prose.
    ///
    /// # Errors
    /// When not all could be listed; what was sent then proves nothing.
    async fn census(&self, out: &Sightings) -> Result<Census, SourceError>;

    /// Who the credentials are, and what they may read. Asks the calls that a
    /// pass needs, not only the account.
    ///
    /// # Errors
    /// When they are refused: what to do.
    async fn identify(&self) -> Result<Identity, SourceError>;
}

/// Which ticket to fetch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// Its key, where it is known.
    pub key: Option<TicketKey>,
    /// The ids that people write for it, the present one last. Never empty
    /// where there is no key.
    pub names: Vec<String>,
}

/// What came of a fetch.
#[derive(Clone, Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one at a time, and it is taken apart at once"
)]
pub enum Fetched {
    /// Its present state. The key may differ from the one that was asked for
    /// where a service gives a moved ticket a new identity.
    Present(Item),
    /// The service says that it has no such ticket, and it would say if it had.
    Gone,
}

/// One ticket in a census.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// Which ticket.
    pub key: TicketKey,
    /// What people call it now.
    pub name: String,
    /// The same text as [`RawTicket::mark`] of the state it has now.
    pub mark: String,
    /// Comments and review comments that the whole ticket has; `None` where the
    /// service does not count them so.
    pub comments: Option<u64>,
}

/// Where a source sends what it sights. Bounded: a source waits.
#[derive(Clone, Debug)]
pub struct Sightings(mpsc::Sender<Vec<Sighting>>);

impl Sightings {
    /// A sender and what it sends to; `room` pages may wait between them.
    pub fn channel(room: usize) -> (Self, mpsc::Receiver<Vec<Sighting>>) {
        let (sender, receiver) = mpsc::channel(room);
        (Self(sender), receiver)
    }

    /// Sends one page.
    ///
    /// # Errors
    /// [`SourceError::Stopped`] when the run has ended.
    pub async fn send(&self, page: Vec<Sighting>) -> Result<(), SourceError> {
        self.0.send(page).await.map_err(|_| SourceError::Stopped)
    }
}

/// What a census was worth. It came to its end.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Census {
    /// What it speaks for: a ticket of this source in there that was not sent
    /// is absent.
    pub scopes: Vec<Scope>,
    /// What a person should know.
    pub warnings: Vec<String>,
}

/// Who reads.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Identity {
    /// The account, as the service calls it.
    pub account: String,
    /// What it may do, in the service's words.
    pub may: Vec<String>,
    /// The credentials can also write: more than Whence needs.
    pub may_write: Option<bool>,
    /// When they end.
    pub expires: Option<Timestamp>,
    /// What a person should know.
    pub warnings: Vec<String>,
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
    /// List everything, even what the cursor shows to be unchanged. A tracker
    /// hears this only from a person; after a pass that broke off it resumes at
    /// the cursor.
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
    /// A ticket that is not to be kept: it moved out of this source, or the
    /// configuration leaves tickets of its visibility out.
    Withdrawn {
        /// Which ticket.
        key: TicketKey,
        /// Why.
        why: String,
    },
}

impl Item {
    /// The ticket, where that much is known.
    pub fn key(&self) -> Option<&TicketKey> {
        match self {
            Self::Ticket { key, .. } | Self::Withdrawn { key, .. } => Some(key),
            Self::Unreadable(bad) => bad.key.as_ref(),
        }
    }
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
    /// How much of `scopes` was sent.
    pub coverage: Coverage,
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

impl Listing {
    /// Not all could be listed; the first reason stands.
    pub fn incomplete(&mut self, why: impl Into<String>) {
        if !matches!(self.coverage, Coverage::Partial { .. }) {
            self.coverage = Coverage::Partial { why: why.into() };
        }
    }
}

/// How much of what there is a listing gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Coverage {
    /// Everything: what was not sent is absent.
    #[default]
    Whole,
    /// All that changed since the cursor. Nothing is removed.
    Changes,
    /// Less than it should. Nothing is removed.
    Partial {
        /// What is missing, and why.
        why: String,
    },
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
