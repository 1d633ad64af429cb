//! The address of a model's server as it was configured.

use crate::ModelError;
use reqwest::Url;
use std::net::IpAddr;

/// An address that may be asked.
#[derive(Clone)]
pub(crate) struct Address {
    pub(crate) url: Url,
    /// For people: without query, which may hold a key.
    pub(crate) shown: String,
    /// Whether nothing leaves this machine.
    pub(crate) loopback: bool,
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.shown)
    }
}

impl Address {
    /// Reads it, and warns of one over which everything travels in the open.
    ///
    /// # Errors
    /// When it is none, or holds a password.
    pub(crate) fn parse(text: &str) -> Result<Self, ModelError> {
        let wrong = |why: &str| ModelError::Unusable {
            server: "at the configured address".to_owned(),
            why: why.to_owned(),
        };
        let url = Url::parse(text.trim())
            .map_err(|_| wrong("the address cannot be read; write it as https://host"))?;
        let loopback = match url.host_str().unwrap_or_default() {
            "" => return Err(wrong("the address names no host")),
            "localhost" => true,
            host => {
                let ip: Result<IpAddr, _> = host.trim_matches(['[', ']']).parse();
                ip.is_ok_and(|ip| ip.is_loopback())
            }
        };
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong(
                "the address holds a user or a password; name the variable that holds the key \
                 instead",
            ));
        }
        let mut shown = url.clone();
        shown.set_query(None);
        shown.set_fragment(None);
        let shown = shown.as_str().trim_end_matches('/').to_owned();
        match url.scheme() {
            "https" => {}
            "http" if loopback => {}
            "http" => tracing::warn!(
                server = shown,
                "texts and key go to this model server in the open; use https where you can"
            ),
            _ => return Err(wrong("the address must begin with https:// or http://")),
        }
        Ok(Self {
            url,
            shown,
            loopback,
        })
    }

    /// The address with `path` appended to its own.
    pub(crate) fn below(&self, path: &str) -> Url {
        let mut url = self.url.clone();
        url.set_path(&format!("{}{path}", self.url.path().trim_end_matches('/')));
        url
    }

    /// An error that names the server.
    pub(crate) fn unusable(&self, why: &str) -> ModelError {
        ModelError::Unusable {
            server: self.shown.clone(),
            why: why.to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn an_address_is_https_or_plain_http_and_holds_no_password() {
        for (text, loopback) in [
            ("https://host", false),
            ("http://host", false),
            ("http://127.0.0.1:1", true),
            ("http://localhost:1", true),
            (" http://[::1]:1/v1 ", true),
        ] {
            assert_eq!(Address::parse(text).unwrap().loopback, loopback, "{text}");
        }
        for text in [
            "host",
            "ftp://host",
            "",
            "https://me:secret@host",
            "me:secret@host",
        ] {
            let error = Address::parse(text).unwrap_err().to_string();
            assert!(error.contains("cannot be used"), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn paths_are_appended_and_a_query_is_kept_and_not_shown() {
        let address = Address::parse("https://host/openai/?api-version=2&key=secret").unwrap();
        assert_eq!(
            address.below("/embeddings").as_str(),
            "https://host/openai/embeddings?api-version=2&key=secret"
        );
        assert_eq!(format!("{address:?}"), "https://host/openai");
        let bare = Address::parse("http://127.0.0.1:1").unwrap();
        assert_eq!(bare.below("/embed").as_str(), "http://127.0.0.1:1/embed");
    }
}
