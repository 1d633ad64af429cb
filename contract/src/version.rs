//! The two orders that make redelivery, replay and parallel workers harmless.

use serde::{Deserialize, Serialize};
use std::fmt;

/// When the harvester saw this state of a ticket: microseconds since 1970,
/// made strictly increasing per ticket even if the clock goes backwards.
///
/// Never a stream sequence: a recreated stream starts again at 1, and every
/// later change would lose against what was stored before.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Revision(pub u64);

impl Revision {
    /// The revision of a state seen at `now_micros`, after `last` of the same ticket.
    pub fn next(now_micros: u64, last: Option<Revision>) -> Self {
        match last {
            Some(Revision(last)) => Self(now_micros.max(last + 1)),
            None => Self(now_micros),
        }
    }
}

impl fmt::Display for Revision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The version of one stage's output.
///
/// `code` is raised by hand when a stage's output changes for equal input.
/// `settings` is an ordinal that the log hands out when a stage starts with
/// settings other than the last ones: a fingerprint cannot be ordered, an
/// ordinal can. An older binary never wins over a newer one, whatever its
/// settings.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct StageVersion {
    /// The stage's code version.
    pub code: u32,
    /// The ordinal of its settings; 0 where it has none.
    #[serde(default)]
    pub settings: u32,
}

/// The versions of the stages that made a message, in the order the data runs.
///
/// At an equal [`Revision`] the newer recipe wins: that is what lets a replay
/// through a newer stage be applied. The model is not part of it, because each
/// model has a stream and a vector table of its own.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
pub struct Recipe {
    /// Who made the document.
    #[serde(default)]
    pub normalize: StageVersion,
    /// Who cut the chunks.
    #[serde(default)]
    pub chunk: StageVersion,
    /// Who embedded them.
    #[serde(default)]
    pub embed: StageVersion,
}
