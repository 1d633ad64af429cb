//! Requests to a model's server, with its key, bounded in size and time.

use super::{
    Endpoint, Key,
    address::Address,
    verdict::{CallError, judge, tell},
};
use crate::ModelError;
use futures::StreamExt;
use reqwest::{
    Response,
    header::{AUTHORIZATION, HeaderMap, HeaderValue},
    redirect,
};
use serde_json::Value;
use std::time::Duration;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// As much of an error's body is read; less of it is told.
const LARGEST_ERROR: usize = 16 << 10;

/// Requests to one server.
#[derive(Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    address: Address,
    key: Option<Key>,
}

impl Client {
    /// # Errors
    /// When address or key cannot be used.
    pub(crate) fn new(endpoint: &Endpoint) -> Result<Self, ModelError> {
        let address = Address::parse(&endpoint.url)?;
        // The process may have chosen a provider already; either is fine.
        let _chosen_before = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("whence/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers(endpoint.key.as_ref()).map_err(|why| address.unusable(why))?)
            .connect_timeout(CONNECT_TIMEOUT)
            // Texts and key go to nobody but the one who was named.
            .redirect(redirect::Policy::none());
        if address.loopback {
            // A proxy for the outside has no business with loopback.
            builder = builder.no_proxy();
        }
        let http = builder
            .build()
            .map_err(|e| ModelError::runtime("preparing requests", e))?;
        Ok(Self {
            http,
            address,
            key: endpoint.key.clone(),
        })
    }

    /// The server's address, for people and without anything secret.
    pub(crate) fn server(&self) -> &str {
        &self.address.shown
    }

    /// Whether the address is a bare host: then the usual path is appended.
    pub(crate) fn is_bare(&self) -> bool {
        self.address.url.path() == "/"
    }

    /// The body of a successful answer of at most `most` bytes. `path` is appended
    /// to the address.
    ///
    /// # Errors
    /// When none came within `timeout`; dropping the future gives the request up.
    pub(crate) async fn post(
        &self,
        path: &str,
        body: &Value,
        most: usize,
        timeout: Duration,
    ) -> Result<Vec<u8>, CallError> {
        let request = self
            .http
            .post(self.address.below(path))
            .json(body)
            .timeout(timeout);
        let response = request.send().await.map_err(broken_off)?;
        let (status, headers) = (response.status(), response.headers().clone());
        if status.is_success() {
            return whole(response, most).await;
        }
        let told = beginning(response).await;
        let secret = self.key.as_ref().map(|key| key.0.as_str());
        Err(judge(status, &headers, &tell(&told, secret)))
    }
}

fn headers(key: Option<&Key>) -> Result<HeaderMap, &'static str> {
    let mut headers = HeaderMap::new();
    if let Some(key) = key {
        let mut value = HeaderValue::from_str(&format!("Bearer {}", key.0))
            .map_err(|_| "its key holds characters that no key has, such as a line end")?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
    }
    Ok(headers)
}

async fn whole(response: Response, most: usize) -> Result<Vec<u8>, CallError> {
    let mut body = Vec::new();
    let mut pieces = response.bytes_stream();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(broken_off)?;
        if body.len() + piece.len() > most {
            let why = format!("the answer is larger than the {most} bytes that it can need");
            return Err(CallError::Broken(why));
        }
        body.extend_from_slice(&piece);
    }
    Ok(body)
}

/// What there is of an error's body: its status matters more.
async fn beginning(response: Response) -> Vec<u8> {
    let mut body = Vec::new();
    let mut pieces = response.bytes_stream();
    while let Some(Ok(piece)) = pieces.next().await {
        body.extend_from_slice(&piece);
        if body.len() >= LARGEST_ERROR {
            body.truncate(LARGEST_ERROR);
            break;
        }
    }
    body
}

/// No whole answer. Without the address, which stands in the error around it.
fn broken_off(error: reqwest::Error) -> CallError {
    let mut why = match (error.is_timeout(), error.is_connect()) {
        (true, _) => "no answer in time".to_owned(),
        (_, true) => "no connection".to_owned(),
        _ => "the connection broke off".to_owned(),
    };
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        why += &format!(": {error}");
        cause = error.source();
    }
    CallError::Busy { why, wait: None }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_key_is_not_shown() {
        let endpoint = |key: &str| Endpoint {
            url: "https://host".to_owned(),
            key: Some(Key::new(key)),
        };
        let client = Client::new(&endpoint("sk-secret")).unwrap();
        assert!(!format!("{client:?}").contains("sk-secret"));
        let error = Client::new(&endpoint("sk-secret\n")).unwrap_err();
        let text = format!("{error} {error:?}");
        assert!(
            text.contains("line end") && !text.contains("sk-secret"),
            "{text}"
        );
    }
}
