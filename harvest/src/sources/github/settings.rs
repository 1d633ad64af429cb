//! The table `[github]` and what becomes of it.

use crate::{Secret, SourceError, upstream::base_url};
use reqwest::Url;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// As many as GitHub gives at once.
const LARGEST_PAGE: u32 = 100;

/// Settings of the kind `github`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(super) struct GithubSettings {
    /// Where GitHub is: `https://github.com`, or the address of a GitHub
    /// Enterprise server as people open it, `https://ghe.acme.org`.
    pub(super) base_url: String,
    /// Read-only token; the variable `GITHUB_TOKEN` wins over it.
    pub(super) token: Secret,
    /// A certificate authority of one's own, as a PEM file.
    pub(super) ca_file: Option<PathBuf>,
    /// Most requests a second, spread evenly; 0 for no limit.
    pub(super) requests_per_second: f64,
    /// Most tickets asked for in one request, 1 to 100. Halved by itself for
    /// pages that are too heavy for the service.
    pub(super) page_size: u32,
    /// Keep reviews that are not submitted yet, which GitHub shows to their
    /// author alone, and mark them. Else they are left out. GitHub has no other
    /// confidential tickets or comments.
    pub(super) confidential: bool,
    /// The secret of the repository's webhook; none: webhooks are refused.
    pub(super) webhook_secret: Secret,
}

impl Default for GithubSettings {
    fn default() -> Self {
        Self {
            base_url: "https://github.com".to_owned(),
            token: Secret::default(),
            ca_file: None,
            requests_per_second: 1.0,
            page_size: 25,
            confidential: false,
            webhook_secret: Secret::default(),
        }
    }
}

impl GithubSettings {
    /// The page size within its bounds.
    ///
    /// # Errors
    /// When it is out of them.
    pub(super) fn page_size(&self) -> Result<u32, SourceError> {
        match self.page_size {
            size @ 1..=LARGEST_PAGE => Ok(size),
            size => Err(SourceError::bare(format!(
                "github.page_size is {size}; it may be 1 to {LARGEST_PAGE}"
            ))),
        }
    }
}

/// Where the two interfaces of one GitHub are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Scheme, host and port of the interfaces.
    pub(super) origin: String,
    /// Path of GraphQL on it.
    pub(super) graphql: &'static str,
    /// What stands before every REST path.
    pub(super) rest: &'static str,
    /// The host as people know it: the scope of all keys.
    pub(super) scope: String,
}

impl Place {
    /// GitHub itself and its tenants (`acme.ghe.com`) have their interfaces on a
    /// host of their own; an Enterprise server has them below `/api`.
    ///
    /// # Errors
    /// When the text is no address of a GitHub.
    pub(super) fn parse(text: &str) -> Result<Self, SourceError> {
        let url = base_url("github.base_url", text)?;
        let path = url.path().trim_end_matches('/');
        if !["", "/api/v3", "/api/graphql", "/graphql"].contains(&path) {
            return Err(SourceError::bare(format!(
                "github.base_url {text:?}: write only the host, such as https://ghe.acme.org"
            )));
        }
        let host = url.host_str().unwrap_or_default().to_owned();
        let people = host.strip_prefix("api.").unwrap_or(&host).to_owned();
        let hosted = people == "github.com" || people.ends_with(".ghe.com");
        if hosted {
            return Ok(Self {
                origin: format!("https://api.{people}"),
                graphql: "/graphql",
                rest: "",
                scope: people,
            });
        }
        Ok(Self {
            origin: url.origin().ascii_serialization(),
            graphql: "/api/graphql",
            rest: "/api/v3",
            scope: authority(&url),
        })
    }
}

fn authority(url: &Url) -> String {
    let host = url.host_str().unwrap_or_default();
    match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    }
}

/// A repository as it is written: `owner/repo`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Repository {
    pub(super) owner: String,
    pub(super) name: String,
}

impl Repository {
    /// # Errors
    /// What is wrong with the text.
    pub(super) fn parse(place: &str) -> Result<Self, String> {
        let wrong = || format!("{place:?} is no repository; write owner/repo");
        let (owner, name) = place.split_once('/').ok_or_else(wrong)?;
        let plain = |part: &str| {
            !part.is_empty()
                && part
                    .chars()
                    .all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
                && !part.chars().all(|c| c == '.')
        };
        match plain(owner) && plain(name) {
            true => Ok(Self {
                owner: owner.to_owned(),
                name: name.to_owned(),
            }),
            false => Err(wrong()),
        }
    }

    pub(super) fn path(&self) -> String {
        format!("{}/{}", self.owner, self.name)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn each_github_has_its_interfaces_where_it_documents_them() {
        let place = |text| {
            let place = Place::parse(text).unwrap();
            (
                format!("{}{}", place.origin, place.graphql),
                format!("{}{}", place.origin, place.rest),
                place.scope,
            )
        };
        let github = (
            "https://api.github.com/graphql".to_owned(),
            "https://api.github.com".to_owned(),
            "github.com".to_owned(),
        );
        for text in [
            "https://github.com",
            "https://api.github.com/",
            "https://api.github.com/graphql",
        ] {
            assert_eq!(place(text), github);
        }
        assert_eq!(place("https://acme.ghe.com").1, "https://api.acme.ghe.com");
        let enterprise = place("https://ghe.acme.org:8443/api/v3");
        assert_eq!(enterprise.0, "https://ghe.acme.org:8443/api/graphql");
        assert_eq!(enterprise.1, "https://ghe.acme.org:8443/api/v3");
        assert_eq!(enterprise.2, "ghe.acme.org:8443");
        assert!(Place::parse("https://github.com/acme/kiln").is_err());
    }

    #[test]
    fn only_repositories() {
        assert_eq!(Repository::parse("acme/kiln.rs").unwrap().name, "kiln.rs");
        for wrong in ["acme", "acme/", "/kiln", "a/b/c", "a/..", "a b/c", "a/b#7"] {
            assert!(Repository::parse(wrong).is_err(), "{wrong}");
        }
    }
}
