//! Asking the query service over HTTP, on loopback.

use crate::config::Config;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::time::Duration;

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
        match part("hint") {
            hint if hint.is_empty() => bail!("{}", part("message")),
            hint => bail!("{}; {hint}", part("message")),
        }
    }
}
