//! The way to a service: its address, its credentials, and nothing that could
//! carry them elsewhere.

use super::{Reply, SendError};
use crate::{Clock, SourceError};
use futures::StreamExt;
use reqwest::{Certificate, Method, Url, header::HeaderMap, redirect};
use serde_json::Value;
use std::{
    path::{Path, PathBuf},
    time::Duration,
};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// Between two pieces of an answer.
const READ_TIMEOUT: Duration = Duration::from_secs(60);
const MOST_REDIRECTS: usize = 5;
/// An answer is refused beyond this: no page of tickets is larger.
pub(crate) const LARGEST_BODY: usize = 128 << 20;

/// Where requests go and what they carry.
pub(crate) struct Target {
    /// What every path is appended to.
    pub(crate) base: Url,
    /// Sent with every request; secrets among them are marked as such.
    pub(crate) headers: HeaderMap,
    /// A certificate authority of one's own, as a PEM file.
    pub(crate) ca_file: Option<PathBuf>,
}

/// Requests to one service.
pub(crate) struct Client {
    http: reqwest::Client,
    base: Url,
    clock: Clock,
}

/// The address of a service as configured.
///
/// # Errors
/// When it is none, or would send a token over an open network.
pub(crate) fn base_url(key: &str, text: &str) -> Result<Url, SourceError> {
    let wrong = |problem: &str| SourceError::bare(format!("{key} {text:?}: {problem}"));
    let url = Url::parse(text.trim().trim_end_matches('/'))
        .map_err(|_| wrong("it is no address; write it as https://host"))?;
    let loopback = match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        None => return Err(wrong("it names no host")),
    };
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong(
            "it holds a user or a password; set the token instead",
        ));
    }
    match url.scheme() {
        "https" => Ok(url),
        "http" if loopback => Ok(url),
        _ => Err(wrong("use https: the token would travel in the open")),
    }
}

impl Client {
    /// # Errors
    /// When the certificate file cannot be used.
    pub(crate) fn new(target: Target, clock: Clock) -> Result<Self, SourceError> {
        let http = http(target.headers, target.ca_file.as_deref())?;
        Ok(Self {
            http,
            base: target.base,
            clock,
        })
    }

    /// An address below the base; `path` is percent-encoded already, and the
    /// query's parts are encoded here.
    pub(crate) fn url(&self, path: &str, query: &[(&str, &str)]) -> Url {
        let mut url = self.base.clone();
        url.set_path(&format!("{}{path}", self.base.path().trim_end_matches('/')));
        if !query.is_empty() {
            url.query_pairs_mut().extend_pairs(query);
        }
        url
    }

    /// # Errors
    /// When no whole answer came.
    pub(crate) async fn get(&self, url: Url) -> Result<Reply, SendError> {
        self.send(Method::GET, url, None).await
    }

    /// Sends JSON.
    ///
    /// # Errors
    /// When no whole answer came.
    pub(crate) async fn post(&self, url: Url, body: &Value) -> Result<Reply, SendError> {
        self.send(Method::POST, url, Some(body)).await
    }

    async fn send(
        &self,
        method: Method,
        url: Url,
        body: Option<&Value>,
    ) -> Result<Reply, SendError> {
        let asked_at = (self.clock)();
        let mut request = self.http.request(method, url);
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await.map_err(|e| broken(&e))?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let mut body = Vec::new();
        let mut pieces = response.bytes_stream();
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(|e| broken(&e))?;
            if body.len() + piece.len() > LARGEST_BODY {
                return Err(SendError::Refused(format!(
                    "the answer is larger than {LARGEST_BODY} bytes"
                )));
            }
            body.extend_from_slice(&piece);
        }
        Ok(Reply::new(status, headers, &body, asked_at))
    }
}

/// What every way to a service goes through: certificates, patience, and no
/// redirect to another origin.
///
/// # Errors
/// When the certificate file cannot be used.
pub(crate) fn http(
    headers: HeaderMap,
    ca_file: Option<&Path>,
) -> Result<reqwest::Client, SourceError> {
    // The process may have chosen a provider already; either is fine.
    let _chosen_before = rustls::crypto::ring::default_provider().install_default();
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("whence/", env!("CARGO_PKG_VERSION")))
        .default_headers(headers)
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(READ_TIMEOUT)
        .redirect(redirect::Policy::custom(|attempt| {
            let first = attempt.previous().first();
            let same = first.is_some_and(|first| first.origin() == attempt.url().origin());
            if attempt.previous().len() > MOST_REDIRECTS {
                attempt.error("too many redirects")
            } else if same {
                attempt.follow()
            } else {
                // The answer itself comes back: the token goes nowhere.
                attempt.stop()
            }
        }));
    if let Some(path) = ca_file {
        let failed = |error: Box<dyn std::error::Error + Send + Sync>| {
            SourceError::because(format!("ca_file {} cannot be used", path.display()), error)
        };
        let pem = std::fs::read(path).map_err(|e| failed(e.into()))?;
        let certificates = Certificate::from_pem_bundle(&pem).map_err(|e| failed(e.into()))?;
        for certificate in certificates {
            builder = builder.add_root_certificate(certificate);
        }
    }
    builder
        .build()
        .map_err(|error| SourceError::because("cannot prepare requests", error))
}

/// Without the address: a query may hold what is not for logs.
pub(crate) fn broken(error: &reqwest::Error) -> SendError {
    let mut text = "no whole answer".to_owned();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        text += &format!(": {error}");
        cause = error.source();
    }
    if error.is_timeout() {
        text += " (timed out)";
    }
    SendError::Broken(text)
}
