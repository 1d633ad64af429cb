//! `[linear]`: address, key, pace, and how much is asked for at once.

use crate::{Secret, Settings, SourceError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Linear.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct LinearSettings {
    /// Where Linear's API is.
    pub(super) base_url: String,
    /// A personal API key with the scope Read; `LINEAR_API_KEY` wins over it.
    pub(super) api_key: Secret,
    /// Requests a second; 0 for no limit.
    pub(super) requests_per_second: f64,
    /// Issues asked for at a time, 1 to 100; fewer where so many would cost more than one query may.
    pub(super) page_size: u32,
    /// The signing secret of the webhook, without which none is taken.
    pub(super) webhook_secret: Secret,
}

impl Default for LinearSettings {
    fn default() -> Self {
        Self {
            base_url: "https://api.linear.app".to_owned(),
            api_key: Secret::default(),
            requests_per_second: 1.0,
            page_size: 100,
            webhook_secret: Secret::default(),
        }
    }
}

impl LinearSettings {
    /// The table, checked, and its key.
    pub(super) fn read(settings: &Settings) -> Result<(Self, Secret), SourceError> {
        let table: Self = settings.of(super::KIND.name)?;
        if !(1..=100).contains(&table.page_size) {
            return Err(SourceError::bare(format!(
                "linear.page_size is {}; it must be 1 to 100",
                table.page_size
            )));
        }
        let stored = Some(table.api_key.expose()).filter(|key| !key.is_empty());
        let key = settings
            .env_or("LINEAR_API_KEY", stored)
            .ok_or_else(|| {
                SourceError::bare(
                    "there is no key for Linear: set LINEAR_API_KEY, or `api_key` in [linear] of \
                     .harvester.toml; docs/sources/linear.md says how to get one that can only read",
                )
            })?;
        Ok((table, Secret::new(&key)))
    }
}
