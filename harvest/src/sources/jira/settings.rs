//! The table `[jira]`, and what becomes of it: where requests go and what they
//! carry.

use crate::{
    Secret, Settings, SourceError,
    upstream::{Target, base_url},
};
use base64::{Engine, prelude::BASE64_STANDARD};
use reqwest::{
    Url,
    header::{ACCEPT, AUTHORIZATION, HeaderMap, HeaderName, HeaderValue},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Most issues of one page: `search/jql` and `issue/bulkfetch` give no more
/// where fields are asked for.
const LARGEST_PAGE: u32 = 100;

/// Jira: where it is, who reads, and how fast.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct JiraSettings {
    /// The address that people open: `https://your-site.atlassian.net`. Also `JIRA_BASE_URL`.
    pub(super) base_url: Option<String>,
    /// Where requests go where that is another address: `https://api.atlassian.com/ex/jira/CLOUD-ID` for tokens with scopes.
    pub(super) api_url: Option<String>,
    /// `cloud`, or `server` for Jira Server and Data Center.
    pub(super) flavor: Flavor,
    /// The account's e-mail address, on Cloud. Also `JIRA_EMAIL`.
    pub(super) email: Option<String>,
    /// The account's API token, on Cloud. Also `JIRA_API_TOKEN`.
    pub(super) api_token: Secret,
    /// A personal access token, on Server and Data Center. Also `JIRA_PERSONAL_TOKEN`.
    pub(super) personal_token: Secret,
    /// A certificate authority of one's own, as a PEM file.
    pub(super) ca_file: Option<PathBuf>,
    /// Most requests a second; 0 for no limit.
    pub(super) requests_per_second: f64,
    /// Issues asked for at a time, from 1 to 100.
    pub(super) page_size: u32,
    /// Keep issues with a security level, restricted comments and internal notes, marked as such.
    pub(super) confidential: bool,
    /// The secret of the webhook, without which none is taken. Also `JIRA_WEBHOOK_SECRET`.
    pub(super) webhook_secret: Secret,
}

impl Default for JiraSettings {
    fn default() -> Self {
        Self {
            base_url: None,
            api_url: None,
            flavor: Flavor::Cloud,
            email: None,
            api_token: Secret::default(),
            personal_token: Secret::default(),
            ca_file: None,
            requests_per_second: 1.0,
            page_size: LARGEST_PAGE,
            confidential: false,
            webhook_secret: Secret::default(),
        }
    }
}

/// Which product answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Flavor {
    /// Jira Cloud: REST v3, documents, account ids.
    #[default]
    Cloud,
    /// Jira Server and Data Center: REST v2, wiki markup, user names.
    Server,
}

/// The settings with everything that a request needs.
pub(super) struct Access {
    /// As people open it.
    pub(super) site: Url,
    pub(super) target: Target,
}

impl JiraSettings {
    pub(super) fn page_size(&self) -> usize {
        self.page_size.clamp(1, LARGEST_PAGE) as usize
    }

    /// # Errors
    /// When an address or a secret is missing or wrong; names where to set it.
    pub(super) fn access(&self, settings: &Settings) -> Result<Access, SourceError> {
        let site = given(
            settings,
            "JIRA_BASE_URL",
            self.base_url.as_deref(),
            "base_url",
        )?;
        let site = base_url("jira.base_url", &site)?;
        let base = match &self.api_url {
            Some(api) => base_url("jira.api_url", api)?,
            None => site.clone(),
        };
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        // Some servers take any POST for a form without it.
        headers.insert(
            HeaderName::from_static("x-atlassian-token"),
            HeaderValue::from_static("no-check"),
        );
        headers.insert(AUTHORIZATION, self.authorization(settings)?);
        Ok(Access {
            site,
            target: Target {
                base,
                headers,
                ca_file: self.ca_file.clone(),
            },
        })
    }

    fn authorization(&self, settings: &Settings) -> Result<HeaderValue, SourceError> {
        let text = match self.flavor {
            Flavor::Cloud => {
                let email = given(settings, "JIRA_EMAIL", self.email.as_deref(), "email")?;
                let file = Some(self.api_token.expose());
                let token = given(settings, "JIRA_API_TOKEN", file, "api_token")?;
                format!(
                    "Basic {}",
                    BASE64_STANDARD.encode(format!("{email}:{token}"))
                )
            }
            Flavor::Server => {
                let file = Some(self.personal_token.expose());
                let token = given(settings, "JIRA_PERSONAL_TOKEN", file, "personal_token")?;
                format!("Bearer {token}")
            }
        };
        let mut value = HeaderValue::from_str(&text)
            .map_err(|_| SourceError::bare("jira: the token holds what no token holds"))?;
        value.set_sensitive(true);
        Ok(value)
    }
}

fn given(
    settings: &Settings,
    variable: &str,
    file: Option<&str>,
    key: &str,
) -> Result<String, SourceError> {
    settings.env_or(variable, file).ok_or_else(|| {
        SourceError::bare(format!(
            "jira: set {variable}, or `{key}` in [jira] of .harvester.toml; \
             docs/sources/jira.md says how to get it"
        ))
    })
}
