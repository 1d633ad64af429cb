//! A source as people write it: `kind:place`.

use crate::{
    Clock, Settings, Source, SourceError,
    sources::{KINDS, Kind},
};
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr, sync::Arc};
use thiserror::Error;

/// A source as configured, checked for its form only: nothing is opened yet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SourceSpec(String);

/// Text that names no source.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("source {input:?}: {problem}; possible are {}", usages())]
pub struct SpecError {
    /// The text.
    pub input: String,
    /// What is wrong with it.
    pub problem: String,
}

fn usages() -> String {
    let usages: Vec<&str> = KINDS.iter().map(|kind| kind.usage).collect();
    usages.join(", ")
}

/// What a source is opened with.
#[derive(Clone)]
pub struct Opening {
    /// Where it takes the time from.
    pub clock: Clock,
    /// What the configuration says of its kind.
    pub settings: Settings,
    /// Told what the source waits for, in one line, and the empty text when it
    /// goes on. Called often; must not block.
    pub notice: Notice,
}

/// See [`Opening::notice`].
pub type Notice = Arc<dyn Fn(&str) + Send + Sync>;

impl Opening {
    /// With this clock, without settings, telling nobody.
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            settings: Settings::default(),
            notice: Arc::new(|_| ()),
        }
    }
}

impl SourceSpec {
    /// The source itself; touches nothing outside but the environment.
    ///
    /// # Errors
    /// When its settings are wrong, or lack what it cannot do without.
    pub fn open(&self, opening: &Opening) -> Result<Box<dyn Source>, SourceError> {
        let (kind, place) = parse(&self.0).map_err(|error| SourceError::bare(error.to_string()))?;
        (kind.open)(&self.0, place, opening)
    }

    /// What stands before the colon.
    pub fn kind(&self) -> &str {
        self.0.split_once(':').map_or("", |(kind, _)| kind)
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SourceSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let text = text.trim();
        parse(text).map(|_| Self(text.to_owned()))
    }
}

/// The kind and the place, checked for their form.
fn parse(text: &str) -> Result<(&'static Kind, &str), SpecError> {
    let refused = |problem: String| SpecError {
        input: text.to_owned(),
        problem,
    };
    let (kind, place) = text
        .split_once(':')
        .ok_or_else(|| refused("it does not say what kind it is".to_owned()))?;
    let known = KINDS
        .iter()
        .find(|known| known.name == kind)
        .ok_or_else(|| refused(format!("{kind:?} is no kind of source")))?;
    if place.trim().is_empty() {
        return Err(refused("it names no place".to_owned()));
    }
    (known.check)(place).map_err(refused)?;
    Ok((known, place))
}

impl TryFrom<String> for SourceSpec {
    type Error = SpecError;

    fn try_from(text: String) -> Result<Self, SpecError> {
        text.parse()
    }
}

impl From<SourceSpec> for String {
    fn from(spec: SourceSpec) -> Self {
        spec.0
    }
}

impl fmt::Display for SourceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
