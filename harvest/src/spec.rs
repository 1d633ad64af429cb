//! A source as people write it: `kind:place`.

use crate::{Clock, Source, sources::KINDS};
use serde::{Deserialize, Serialize};
use std::{fmt, str::FromStr};
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

impl SourceSpec {
    /// The source itself; touches nothing outside.
    ///
    /// # Errors
    /// None for a value that [`FromStr`] gave.
    pub fn open(&self, clock: Clock) -> Result<Box<dyn Source>, SpecError> {
        let refused = |problem: String| SpecError {
            input: self.0.clone(),
            problem,
        };
        let (kind, place) = self
            .0
            .split_once(':')
            .ok_or_else(|| refused("it does not say what kind it is".to_owned()))?;
        let known = KINDS
            .iter()
            .find(|known| known.name == kind)
            .ok_or_else(|| refused(format!("{kind:?} is no kind of source")))?;
        if place.trim().is_empty() {
            return Err(refused("it names no place".to_owned()));
        }
        (known.open)(&self.0, place, clock).map_err(refused)
    }

    /// As it was written.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SourceSpec {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        let spec = Self(text.trim().to_owned());
        spec.open(jiff::Timestamp::now).map(|_| spec)
    }
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
