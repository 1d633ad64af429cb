//! `[gitlab]`: address, token, pace, and what is kept.

use crate::{Secret, Settings, SourceError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// GitLab, the hosted one or one of your own.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct GitlabSettings {
    /// Where GitLab is.
    pub(super) base_url: String,
    /// A certificate authority of your own, as a PEM file.
    pub(super) ca_file: Option<PathBuf>,
    /// A token with the scope `read_api`; the variable wins over it.
    pub(super) token: Option<Secret>,
    /// The variable of the environment that holds the token.
    pub(super) token_env: String,
    /// Requests a second; 0 for no limit.
    pub(super) requests_per_second: f64,
    /// Tickets of a page, 1 to 100.
    pub(super) page_size: u16,
    /// Keep confidential issues and internal notes too, marked as such.
    pub(super) confidential: bool,
    /// The secret token of the project's webhook; absent, webhooks are refused.
    pub(super) webhook_secret: Option<Secret>,
}

impl Default for GitlabSettings {
    fn default() -> Self {
        Self {
            base_url: "https://gitlab.com".to_owned(),
            ca_file: None,
            token: None,
            token_env: "GITLAB_TOKEN".to_owned(),
            requests_per_second: 1.0,
            page_size: 100,
            confidential: false,
            webhook_secret: None,
        }
    }
}

impl GitlabSettings {
    /// The table, checked, and its token.
    pub(super) fn read(settings: &Settings) -> Result<(Self, Secret), SourceError> {
        let table: Self = settings.of("gitlab")?;
        if !(1..=100).contains(&table.page_size) {
            return Err(SourceError::bare(format!(
                "gitlab.page_size is {}; it must be 1 to 100",
                table.page_size
            )));
        }
        let stored = table.token.as_ref().map(Secret::expose);
        let token = settings.env_or(&table.token_env, stored).ok_or_else(|| {
            SourceError::bare(format!(
                "there is no token for GitLab: set {} or [gitlab] token in .harvester.toml; \
                 docs/sources/gitlab.md says how to get one that can only read",
                table.token_env
            ))
        })?;
        Ok((table, Secret::new(&token)))
    }
}
