//! Why a pass did not begin or did not end, and the one signal to end it.

use crate::SourceError;
use thiserror::Error;
use tokio_util::sync::{CancellationToken, DropGuard};
use whence_log::LogError;

/// A pass that did not begin, or did not come to its end.
#[derive(Debug, Error)]
pub enum HarvestError {
    /// Somebody else harvests this source now.
    #[error("{source_name} is being harvested by {holder}; wait for it, or take over with --force")]
    Held {
        /// The source.
        source_name: String,
        /// Who holds it.
        holder: String,
    },
    /// Another place bears the same name.
    #[error(
        "{what} is filled from {owner}; {remedy}, or, if that is the same one moved, take the name over with --force"
    )]
    Claimed {
        /// The name.
        what: String,
        /// The other place.
        owner: String,
        /// What to do.
        remedy: String,
    },
    /// The source cannot be listed.
    #[error("the source cannot be listed")]
    Source(#[source] SourceError),
    /// The log cannot be read or written, and trying again does not help.
    #[error("the log failed")]
    Log(#[from] LogError),
    /// Told to stop; the next pass resumes.
    #[error("stopped before its end; the next run resumes")]
    Stopped,
    /// Another process took over.
    #[error("stopped: another process harvests this source now")]
    LeaseLost,
    /// What is to be remembered cannot be written as JSON.
    #[error("the state of harvesting cannot be encoded")]
    State(#[source] serde_json::Error),
}

/// Fires when the pass must end: told so, or the lease is lost.
pub(super) struct Halt {
    token: CancellationToken,
    _ends_with_this: DropGuard,
}

impl Halt {
    pub(super) fn new(stop: &CancellationToken, lost: CancellationToken) -> Self {
        let token = stop.child_token();
        let watched = token.clone();
        tokio::spawn(async move {
            if watched
                .run_until_cancelled(lost.cancelled())
                .await
                .is_some()
            {
                watched.cancel();
            }
        });
        Self {
            _ends_with_this: token.clone().drop_guard(),
            token,
        }
    }

    pub(super) fn token(&self) -> &CancellationToken {
        &self.token
    }
}
