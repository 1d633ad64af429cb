//! The way to a model's server: its address, its key, and what its statuses mean.

use super::{Endpoint, Key};
use crate::ModelError;
use futures::StreamExt;
use reqwest::{
    Response, StatusCode, Url,
    header::{AUTHORIZATION, DATE, HeaderMap, HeaderValue, LOCATION, RETRY_AFTER},
    redirect,
};
use serde_json::Value;
use std::time::Duration;
use whence_contract::Timestamp;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// As much of an error's body is read; less of it is told.
const LARGEST_ERROR: usize = 16 << 10;
const TOLD: usize = 200;

/// Requests to one server.
#[derive(Debug)]
pub(crate) struct Client {
    http: reqwest::Client,
    base: Url,
    key: Option<Key>,
}

/// A request without a usable answer.
#[derive(Debug)]
pub(crate) enum CallError {
    /// The server is away or overloaded; it may have said for how long.
    Busy { why: String, wait: Option<Duration> },
    /// It failed on this request, or answered what cannot be read.
    Broken(String),
    /// It does not take what was sent.
    Refused(String),
    /// It takes nothing: address, key or model are wrong.
    Unusable(String),
}

impl Client {
    /// # Errors
    /// When address or key cannot be used.
    pub(crate) fn new(endpoint: &Endpoint) -> Result<Self, ModelError> {
        let wrong = |why: &str| ModelError::Unusable {
            server: format!("{:?}", endpoint.url),
            why: why.to_owned(),
        };
        let base = Url::parse(endpoint.url.trim())
            .map_err(|_| wrong("it is no address; write it as https://host"))?;
        let loopback = match base.host_str().unwrap_or_default() {
            "" => return Err(wrong("it names no host")),
            "localhost" => true,
            host => host
                .trim_matches(['[', ']'])
                .parse()
                .is_ok_and(|ip: std::net::IpAddr| ip.is_loopback()),
        };
        if !base.username().is_empty() || base.password().is_some() {
            // Not with the address: it holds what is not for logs.
            return Err(ModelError::Unusable {
                server: base.host_str().unwrap_or_default().to_owned(),
                why: "the address holds a user or a password; name the variable that holds the \
                      key instead"
                    .to_owned(),
            });
        }
        match base.scheme() {
            "https" => {}
            "http" if loopback => {}
            "http" => tracing::warn!(
                server = base.as_str(),
                "texts and key go to this model server in the open; use https where you can"
            ),
            _ => return Err(wrong("it must begin with https:// or http://")),
        }
        // The process may have chosen a provider already; either is fine.
        let _chosen_before = rustls::crypto::ring::default_provider().install_default();
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("whence/", env!("CARGO_PKG_VERSION")))
            .default_headers(headers(endpoint.key.as_ref()).map_err(wrong)?)
            .connect_timeout(CONNECT_TIMEOUT)
            // Texts and key go to nobody but the one who was named.
            .redirect(redirect::Policy::none());
        if loopback {
            // A proxy for the outside has no business with loopback.
            builder = builder.no_proxy();
        }
        let http = builder
            .build()
            .map_err(|e| ModelError::runtime("preparing requests", e))?;
        Ok(Self {
            http,
            base,
            key: endpoint.key.clone(),
        })
    }

    /// The server's address, for people.
    pub(crate) fn server(&self) -> &str {
        self.base.as_str().trim_end_matches('/')
    }

    /// Whether the address is a bare host: then the usual path is appended.
    pub(crate) fn is_bare(&self) -> bool {
        self.base.path() == "/"
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
        let mut url = self.base.clone();
        url.set_path(&format!("{}{path}", self.base.path().trim_end_matches('/')));
        let request = self.http.post(url).json(body).timeout(timeout);
        let response = request.send().await.map_err(broken_off)?;
        let (status, headers) = (response.status(), response.headers().clone());
        if status.is_success() {
            return whole(response, most).await;
        }
        let told = beginning(response).await;
        Err(judge(status, &headers, &self.tell(&told)))
    }

    /// The server's own words on one line, cut, and without the key.
    fn tell(&self, body: &[u8]) -> String {
        let text = match serde_json::from_slice::<Value>(body) {
            Ok(value) => words(&value).map_or_else(|| value.to_string(), str::to_owned),
            Err(_) => String::from_utf8_lossy(body).into_owned(),
        };
        let text = match &self.key {
            Some(key) if !key.0.is_empty() => text.replace(&key.0, "…"),
            _ => text,
        };
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        line.chars()
            .filter(|c| !c.is_control())
            .take(TOLD)
            .collect()
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

/// Where servers put what they have to say.
fn words(value: &Value) -> Option<&str> {
    let error = &value["error"];
    [
        &error["message"],
        error,
        &value["message"],
        &value["detail"],
    ]
    .into_iter()
    .find_map(Value::as_str)
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

/// What a status other than success means.
fn judge(status: StatusCode, headers: &HeaderMap, told: &str) -> CallError {
    let said = match told {
        "" => format!("HTTP {status}"),
        told => format!("HTTP {status}, {told:?}"),
    };
    match status.as_u16() {
        401..=403 => CallError::Unusable(format!(
            "{said}; check the key in the variable that key_env names"
        )),
        404 | 405 | 410 => CallError::Unusable(format!(
            "{said}; check the address, and that the server has the model"
        )),
        300..=399 => {
            let place = headers.get(LOCATION).and_then(|place| place.to_str().ok());
            let place = place.and_then(|place| Url::parse(place).ok());
            let place = place
                .as_ref()
                .and_then(Url::host_str)
                .unwrap_or("another place");
            CallError::Unusable(format!(
                "it redirects to {place}, and neither texts nor key follow; configure the final \
                 address"
            ))
        }
        408 | 425 | 429 | 502..=504 | 529 => CallError::Busy {
            why: said,
            wait: retry_after(headers),
        },
        // 424 is what TEI says when the model itself failed.
        424 | 500..=599 => CallError::Broken(said),
        _ => CallError::Refused(said),
    }
}

/// `Retry-After`, in seconds or as a date (RFC 9110, 10.2.3), which is compared
/// with the server's own clock.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name| headers.get(name)?.to_str().ok();
    let asked = text(RETRY_AFTER)?.trim();
    if let Ok(seconds) = asked.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = |text: &str| -> Option<Timestamp> {
        let zoned = jiff::fmt::rfc2822::parse(text).ok()?;
        Some(zoned.timestamp())
    };
    let ahead = date(asked)?.duration_since(date(text(DATE)?.trim())?);
    Duration::try_from(ahead).ok()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn client(url: &str) -> Result<Client, ModelError> {
        Client::new(&Endpoint {
            url: url.to_owned(),
            key: Some(Key::new("sk-secret")),
        })
    }

    #[test]
    fn an_address_is_https_or_plain_http_and_holds_no_password() {
        for url in [
            "https://host",
            "http://127.0.0.1:1",
            "http://[::1]:1/v1",
            "http://host",
        ] {
            client(url).unwrap();
        }
        for url in ["host", "ftp://host", "", "https://me:secret@host"] {
            let error = client(url).unwrap_err().to_string();
            assert!(error.contains("cannot be used"), "{error}");
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_key_is_not_shown() {
        let client = client("https://host").unwrap();
        assert!(!format!("{client:?}").contains("sk-secret"));
        let told = client.tell(b"{\"error\":{\"message\":\"bad key sk-secret\\u0007\\n given\"}}");
        assert_eq!(told, "bad key … given");
        assert_eq!(client.tell(&[b'x'; 9000]).len(), TOLD);
    }

    #[test]
    fn a_pause_is_asked_for_in_seconds_or_by_a_date() {
        let wait = |pairs: &[(&'static str, &'static str)]| {
            let headers = pairs
                .iter()
                .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)));
            retry_after(&headers.collect::<HeaderMap>())
        };
        assert_eq!(wait(&[("retry-after", "3")]), Some(Duration::from_secs(3)));
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT");
        let later = ("retry-after", "Sun, 06 Nov 1994 08:49:40 GMT");
        assert_eq!(wait(&[date, later]), Some(Duration::from_secs(3)));
        assert_eq!(wait(&[later]), None, "whose clock?");
        assert_eq!(wait(&[("retry-after", "soon")]), None);
        assert_eq!(wait(&[("retry-after", "-1")]), None);
    }
}
