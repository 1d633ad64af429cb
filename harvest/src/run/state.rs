//! What the runner remembers between two passes, in the log's key-value store.

use super::HarvestError;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use whence_contract::{TicketKey, Timestamp};

/// Of one source.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct State {
    /// The source's own.
    pub(super) cursor: Option<Value>,
    /// The last pass left nothing to do: everything was listed, and all that
    /// was gone is removed. Else an unchanged source is listed again.
    pub(super) settled: bool,
    /// Tickets of the last whole listing.
    #[serde(default)]
    pub(super) listed: u64,
    /// Absent from the last listing for the first time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) absent: Vec<TicketKey>,
    /// When the last sweep that came to its end began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) swept_at: Option<Timestamp>,
}

impl State {
    /// A state that this binary cannot read counts as none: everything is
    /// listed again, and nothing is lost.
    pub(super) fn decode(value: Value) -> Self {
        serde_json::from_value(value).unwrap_or_default()
    }

    pub(super) fn encode(&self) -> Result<Value, HarvestError> {
        serde_json::to_value(self).map_err(HarvestError::State)
    }
}

/// Of one claimed scope.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Claimed {
    pub(super) owner: String,
    /// All sources that filled it for its owners: `wiki:docs` and `wiki:./docs`
    /// are one folder, so either may remove what the other published.
    pub(super) sources: Vec<String>,
}

impl Claimed {
    /// What is stored, else unclaimed and free for `owner`.
    pub(super) fn decode(stored: Option<Value>, owner: &str) -> Self {
        stored
            .and_then(|value| serde_json::from_value(value).ok())
            .unwrap_or_else(|| Self {
                owner: owner.to_owned(),
                sources: Vec::new(),
            })
    }

    pub(super) fn with(mut self, owner: &str, source: &str) -> Self {
        owner.clone_into(&mut self.owner);
        if !self.sources.iter().any(|known| known == source) {
            self.sources.push(source.to_owned());
        }
        self
    }

    pub(super) fn encode(&self) -> Result<Value, HarvestError> {
        serde_json::to_value(self).map_err(HarvestError::State)
    }
}
