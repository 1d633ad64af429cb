//! All kinds of sources: one folder and one line here for each.

mod archive;
mod github;
mod gitlab;
mod jira;
mod linear;
mod ticket;
mod wiki;

use crate::{Opening, Source, SourceError, hook::Hook, settings::SettingsKind};

/// One kind of source.
pub(crate) struct Kind {
    /// What stands before the colon, in tickets' keys and in the configuration.
    pub(crate) name: &'static str,
    /// How it is written, for messages.
    pub(crate) usage: &'static str,
    /// Says what is wrong with the text after the colon; reads nothing.
    pub(crate) check: fn(place: &str) -> Result<(), String>,
    /// Makes one of the source's whole text and what stands after the colon.
    /// Fails where settings are missing or wrong; reads nothing else yet.
    pub(crate) open: Open,
    /// Its table of the configuration, where it has one.
    pub(crate) settings: Option<SettingsKind>,
    /// How it reads a webhook, where the service sends such.
    pub(crate) hook: Option<Hook>,
}

/// See [`Kind::open`].
type Open = fn(name: &str, place: &str, opening: &Opening) -> Result<Box<dyn Source>, SourceError>;

/// The registry.
pub(crate) const KINDS: &[Kind] = &[
    github::KIND,
    gitlab::KIND,
    jira::KIND,
    linear::KIND,
    archive::KIND,
    wiki::KIND,
    ticket::KIND,
];
