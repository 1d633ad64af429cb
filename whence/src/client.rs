//! Asking the query service over HTTP, on loopback.

use crate::{config::Config, print::clean};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::{fmt, time::Duration};

const TIMEOUT: Duration = Duration::from_secs(60);

/// A client of the service that the configuration names.
pub(crate) struct Client {
    http: reqwest::Client,
    base: String,
}

impl Client {
    pub(crate) fn new(config: &Config) -> Result<Self> {
        let http = reqwest::Client::builder()
            .timeout(TIMEOUT)
            // A proxy for the outside has no business with loopback.
            .no_proxy()
            .build()
            .context("cannot make an HTTP client")?;
        Ok(Self {
            http,
            base: format!("http://{}", config.query.listen),
        })
    }

    pub(crate) async fn post(&self, path: &str, body: &Value) -> Result<Value> {
        self.answer(self.http.post(self.url(path)).json(body)).await
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value> {
        self.answer(self.http.get(self.url(path))).await
    }

    /// `GET` of the path made of `parts` with `parameters`, all of them encoded.
    pub(crate) async fn ask(
        &self,
        parts: &[&str],
        parameters: &[(String, String)],
    ) -> Result<Value> {
        let mut url = reqwest::Url::parse(&self.base)
            .with_context(|| format!("{} is no address", self.base))?;
        url.path_segments_mut()
            .map_err(|()| anyhow::anyhow!("{} is no address of a service", self.base))?
            .pop_if_empty()
            .extend(parts);
        if !parameters.is_empty() {
            url.query_pairs_mut().extend_pairs(parameters);
        }
        self.answer(self.http.get(url)).await
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.base)
    }

    async fn answer(&self, request: reqwest::RequestBuilder) -> Result<Value> {
        let response = match request.send().await {
            Ok(response) => response,
            Err(e) if e.is_connect() => bail!(
                "no query service answers at {}; start one with `whence up`, or name its address \
                 with query.listen",
                self.base
            ),
            Err(e) if e.is_timeout() => {
                bail!(
                    "{} did not answer within {} s",
                    self.base,
                    TIMEOUT.as_secs()
                )
            }
            Err(e) => return Err(e).context(format!("cannot ask {}", self.base)),
        };
        let status = response.status();
        let body = response.bytes().await.context("the answer broke off")?;
        let value: Value = serde_json::from_slice(&body).with_context(|| {
            format!(
                "{} answered {status} with something that is not JSON; is it whence?",
                self.base
            )
        })?;
        if status.is_success() {
            return Ok(value);
        }
        let part = |name: &str| value["error"][name].as_str().unwrap_or_default().to_owned();
        Err(Refused {
            code: part("code"),
            message: part("message"),
            hint: part("hint"),
        }
        .into())
    }
}

/// An error that the service answered.
#[derive(Debug)]
pub(crate) struct Refused {
    code: String,
    message: String,
    hint: String,
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The message may quote what a ticket says.
        write!(f, "{}", clean(&self.message))?;
        if !self.hint.is_empty() {
            write!(f, "; {}", clean(&self.hint))?;
        }
        Ok(())
    }
}

impl std::error::Error for Refused {}

/// Whether the service said that there is no such thing.
pub(crate) fn is_not_found(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<Refused>()
        .is_some_and(|refused| refused.code == "not_found")
}
