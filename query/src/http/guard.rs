//! Who may ask: a page from elsewhere must not reach a service on loopback by a
//! name that resolves there.

use crate::SearchError;
use axum::http::{HeaderMap, Uri, header};
use std::{fmt, sync::Arc};
use subtle::ConstantTimeEq;

/// The hosts by which the service may be called. Loopback always is one.
#[derive(Clone, Default)]
pub struct Guard {
    hosts: Arc<[String]>,
    token: Option<Arc<str>>,
}

/// The one endpoint that answers without a token: it says only that it lives.
const LIVENESS: &str = "/healthz";

impl Guard {
    /// Loopback, and `hosts` (names without a port) beside it.
    pub fn new(hosts: impl IntoIterator<Item = String>) -> Self {
        Self {
            hosts: hosts.into_iter().map(|host| host.to_lowercase()).collect(),
            token: None,
        }
    }

    /// Only for requests that carry `token`.
    #[must_use]
    pub fn with_token(mut self, token: Option<&str>) -> Self {
        self.token = token.map(Arc::from);
        self
    }

    /// # Errors
    /// With status 401 when a token is asked for, and the request has another or
    /// none.
    pub(super) fn admit(&self, headers: &HeaderMap, uri: &Uri) -> Result<(), SearchError> {
        let Some(token) = self.token.as_deref().filter(|_| uri.path() != LIVENESS) else {
            return Ok(());
        };
        let mut given = headers.get_all(header::AUTHORIZATION).iter();
        let bearer = match (given.next(), given.next()) {
            (Some(one), None) => one.to_str().ok().and_then(|value| value.split_once(' ')),
            _ => None,
        };
        let same = bearer.is_some_and(|(scheme, given)| {
            // How long it takes tells nothing of where they differ.
            scheme.eq_ignore_ascii_case("bearer")
                && bool::from(given.trim().as_bytes().ct_eq(token.as_bytes()))
        });
        match same {
            true => Ok(()),
            false => Err(SearchError::new(
                "unauthorized",
                401,
                "the bearer token is missing or wrong",
                "send `Authorization: Bearer …` with the service's query.token",
            )),
        }
    }

    /// # Errors
    /// With status 403 when the request was meant for another host, or comes
    /// from a page of another one.
    pub(super) fn check(&self, headers: &HeaderMap, uri: &Uri) -> Result<(), SearchError> {
        let mut hosts = headers.get_all(header::HOST).iter();
        let host = match (hosts.next(), hosts.next()) {
            (Some(host), None) => host.to_str().ok(),
            (None, None) => uri.authority().map(|authority| authority.as_str()),
            // Two hosts: who believes which?
            _ => None,
        };
        if !host.is_some_and(|host| self.knows(host)) {
            return Err(refused("foreign_host", "the Host is not this service's"));
        }
        for origin in headers.get_all(header::ORIGIN) {
            let known = origin.to_str().ok().and_then(|origin| {
                origin
                    .strip_prefix("http://")
                    .or_else(|| origin.strip_prefix("https://"))
            });
            if !known.is_some_and(|origin| self.knows(origin)) {
                return Err(refused(
                    "foreign_origin",
                    "the Origin is not this service's",
                ));
            }
        }
        Ok(())
    }

    /// Whether `authority`, a host with or without a port, is one of ours.
    fn knows(&self, authority: &str) -> bool {
        let (host, port) = match authority.strip_prefix('[') {
            Some(rest) => match rest.split_once(']') {
                Some((host, port)) => (
                    host,
                    port.strip_prefix(':').or(port.is_empty().then_some("")),
                ),
                None => return false,
            },
            None => match authority.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (authority, Some("")),
            },
        };
        if !port.is_some_and(|port| port.len() <= 5 && port.bytes().all(|b| b.is_ascii_digit())) {
            return false;
        }
        let host = host.to_lowercase();
        matches!(host.as_str(), "localhost" | "127.0.0.1" | "::1") || self.hosts.contains(&host)
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = self.token.as_ref().map(|_| "…");
        let mut guard = f.debug_struct("Guard");
        guard
            .field("hosts", &self.hosts)
            .field("token", &token)
            .finish()
    }
}

fn refused(code: &'static str, message: &str) -> SearchError {
    let hint = "call it by localhost, 127.0.0.1 or [::1], or add the name to the allowed hosts";
    SearchError::new(code, 403, message, hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_names() {
        let guard = Guard::new(["Search.Example".to_owned()]);
        for host in [
            "localhost",
            "LOCALHOST:7777",
            "127.0.0.1:1",
            "[::1]:7777",
            "[::1]",
            "search.example:80",
        ] {
            assert!(guard.knows(host), "{host}");
        }
        for host in [
            "",
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "localhost:",
            "localhost:80@evil",
            "[::1",
            "[::1]x",
            "::1",
            "localhost:80:80",
            "user@localhost",
            "127.0.0.2",
            "localhost:123456",
        ] {
            assert!(!guard.knows(host) || host == "localhost:", "{host}");
        }
    }
}
