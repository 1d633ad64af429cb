//! Which ticket a message is about, and where it lies in a stream.

use crate::token::{TokenError, decode_token, encode_token};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Which path owns a ticket's rows. Paths never touch each other's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provenance {
    /// Harvested from a ticket system.
    Upstream,
    /// A note of a Markdown wiki.
    Wiki,
    /// Pushed by a person or a skill, beside the upstream ticket.
    Local,
}

impl Provenance {
    /// As it is spelled in subjects, rows and filters.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Upstream => "upstream",
            Self::Wiki => "wiki",
            Self::Local => "local",
        }
    }

    /// The reverse of [`Provenance::as_str`].
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Upstream, Self::Wiki, Self::Local]
            .into_iter()
            .find(|p| p.as_str() == text)
    }
}

/// The unit everywhere: one whole ticket of one provenance.
///
/// `ticket` is the identity that never changes within `scope`; what people
/// type (`owner/repo#7`) is [`crate::Document::id`], which may.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TicketKey {
    /// Which path owns the rows.
    pub provenance: Provenance,
    /// The kind of system: `github`, `gitlab`, `jira`, `linear`, `wiki`.
    pub source: String,
    /// Repository, project, team or wiki name.
    pub scope: String,
    /// Identity within the scope.
    pub ticket: String,
}

impl TicketKey {
    /// The key's four subject tokens, `provenance.source.scope.ticket`.
    ///
    /// Prefixed with a stream's own token it is the subject of the ticket's one
    /// message there.
    pub fn tokens(&self) -> String {
        format!(
            "{}.{}.{}.{}",
            self.provenance.as_str(),
            encode_token(&self.source),
            encode_token(&self.scope),
            encode_token(&self.ticket)
        )
    }

    /// Reads the last four tokens of `subject`, whatever stands before them.
    ///
    /// # Errors
    /// When there are fewer than four tokens or one of them is not ours.
    pub fn from_subject(subject: &str) -> Result<Self, TokenError> {
        let refused = || TokenError {
            token: subject.to_owned(),
        };
        let mut tokens = subject.rsplit('.');
        let mut next = || tokens.next().ok_or_else(refused);
        let (ticket, scope, source, provenance) = (next()?, next()?, next()?, next()?);
        Ok(Self {
            provenance: Provenance::parse(provenance).ok_or_else(refused)?,
            source: decode_token(source)?,
            scope: decode_token(scope)?,
            ticket: decode_token(ticket)?,
        })
    }
}

impl fmt::Display for TicketKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}/{}", self.source, self.scope, self.ticket)?;
        match self.provenance {
            Provenance::Local => f.write_str(" (local)"),
            Provenance::Upstream | Provenance::Wiki => Ok(()),
        }
    }
}
