//! Asking the query service over HTTP, on loopback.

use crate::{
    config::{Config, Query, Secret},
    print::clean,
    project::Project,
};
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::{
    fmt,
    net::{IpAddr, Ipv4Addr, Ipv6Addr},
    time::Duration,
};
use url::Url;

const TIMEOUT: Duration = Duration::from_secs(60);

/// A client of the service that the configuration names, or the repository.
pub(crate) struct Client {
    http: reqwest::Client,
    base: String,
    token: Option<Secret>,
}

impl Client {
    pub(crate) fn new(config: &Config) -> Result<Self> {
        let http = reqwest::Client::builder()
            .timeout(TIMEOUT)
            // A proxy for the outside has no business with loopback.
            .no_proxy()
            .build()
            .context("cannot make an HTTP client")?;
        let (base, token) = service(&config.query, Project::here()?.as_ref())?;
        let base = base.trim_end_matches('/').to_owned();
        Ok(Self { http, base, token })
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
        let mut url =
            Url::parse(&self.base).with_context(|| format!("{} is no address", self.base))?;
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

    async fn answer(&self, mut request: reqwest::RequestBuilder) -> Result<Value> {
        if let Some(token) = &self.token {
            request = request.bearer_auth(token.expose());
        }
        let response = match request.send().await {
            Ok(response) => response,
            Err(e) if e.is_connect() => bail!(
                "no query service answers at {}; start one with `whence up`, or name its address \
                 with query.endpoint",
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

/// Where to ask, and with which token. The user's own configuration goes before
/// the repository's file, which may be anybody's: it can name a service on
/// loopback only, and never gets the token of another one.
fn service(query: &Query, project: Option<&Project>) -> Result<(String, Option<Secret>)> {
    let own = match (&query.endpoint, query.listen) {
        (Some(endpoint), _) => endpoint.clone(),
        (None, listen) => {
            let mut address = listen;
            if address.ip().is_unspecified() {
                address.set_ip(match address.ip() {
                    IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
                    IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
                });
            }
            format!("http://{address}")
        }
    };
    let chosen = query.endpoint.is_some() || query.listen != Query::default().listen;
    let theirs = project.and_then(|project| project.endpoint.clone());
    let Some(theirs) = theirs.filter(|_| !chosen) else {
        return Ok((own, query.token.clone()));
    };
    let url = Url::parse(&theirs)
        .with_context(|| format!("the endpoint {theirs:?} of .project-conf.toml is no address"))?;
    let loopback = match url.host() {
        Some(url::Host::Domain(name)) => name == "localhost",
        Some(url::Host::Ipv4(ip)) => ip.is_loopback(),
        Some(url::Host::Ipv6(ip)) => ip.is_loopback(),
        None => false,
    };
    if !loopback {
        bail!(
            ".project-conf.toml names the service {theirs:?}, which is not on this machine; if \
             you trust it with your questions, set query.endpoint to it in whence.toml"
        );
    }
    let token = (theirs.trim_end_matches('/') == own).then(|| query.token.clone());
    Ok((theirs, token.flatten()))
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_repository_cannot_send_questions_or_tokens_elsewhere() {
        let project = Project::naming;
        let secret: Secret = serde_json::from_str("\"0123456789abcdef\"").unwrap();
        let mut query = Query {
            token: Some(secret),
            ..Query::default()
        };
        let ask = |query: &Query, project: Option<Project>| {
            service(query, project.as_ref()).map(|(base, token)| (base, token.is_some()))
        };
        let own = ("http://127.0.0.1:7777".to_owned(), true);
        assert_eq!(ask(&query, None).unwrap(), own);
        let same = ask(&query, Some(project("http://127.0.0.1:7777/"))).unwrap();
        assert!(same.1, "{same:?}");
        let other = ask(&query, Some(project("http://127.0.0.1:9999"))).unwrap();
        assert_eq!(other, ("http://127.0.0.1:9999".to_owned(), false));
        for evil in [
            "http://evil.example",
            "http://127.0.0.1.evil.example",
            "file:///x",
            "x",
        ] {
            assert!(ask(&query, Some(project(evil))).is_err(), "{evil}");
        }
        query.endpoint = Some("http://whence.team:7777".to_owned());
        let team = ask(&query, Some(project("http://evil.example"))).unwrap();
        assert_eq!(team, ("http://whence.team:7777".to_owned(), true));
        query = Query {
            listen: "0.0.0.0:7001".parse().unwrap(),
            ..Query::default()
        };
        assert_eq!(ask(&query, None).unwrap().0, "http://127.0.0.1:7001");
    }
}
