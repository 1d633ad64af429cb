//! The way to GitHub: octocrab's layers for the address and the token, over the
//! one HTTP client that all trackers use.
//!
//! octocrab's own client knows no certificate authority of one's own; so the
//! shared client stands below it, with `ca_file`, the time-outs and the rule that
//! no redirect leads to another host. octocrab adds no retries: the caller owns
//! them.

use super::settings::Place;
use crate::{
    Clock, Secret, SourceError,
    upstream::{LARGEST_BODY, Reply, SendError, broken, http},
};
use ::http::{HeaderMap, HeaderValue, Response, Uri, uri::InvalidUri};
use http_body_util::{BodyExt, Limited};
use octocrab::{
    AuthState, Octocrab, OctocrabBuilder,
    service::middleware::{
        auth_header::AuthHeaderLayer, base_uri::BaseUriLayer, reqwest_connector::ReqwestConnector,
    },
};
use serde_json::Value;
use std::{error::Error, path::Path, sync::OnceLock};
use whence_contract::Timestamp;

/// Requests to one GitHub with one token.
pub(super) struct Transport {
    http: reqwest::Client,
    token: HeaderValue,
    base: Uri,
    /// Made at the first request: it needs the runtime that requests run on.
    octocrab: OnceLock<Octocrab>,
    clock: Clock,
}

impl Transport {
    /// # Errors
    /// When the certificate file, the address or the token cannot be used.
    pub(super) fn new(
        place: &Place,
        token: &Secret,
        ca_file: Option<&Path>,
        clock: Clock,
    ) -> Result<Self, SourceError> {
        // Without a cause: it would hold the token.
        let mut token =
            HeaderValue::from_str(&format!("Bearer {}", token.expose())).map_err(|_| {
                SourceError::bare("the token for GitHub holds characters that none has")
            })?;
        token.set_sensitive(true);
        let base: Uri = place.origin.parse().map_err(|error: InvalidUri| {
            SourceError::because(format!("cannot use the address {}", place.origin), error)
        })?;
        Ok(Self {
            http: http(HeaderMap::new(), ca_file)?,
            token,
            base,
            octocrab: OnceLock::new(),
            clock,
        })
    }

    fn octocrab(&self) -> &Octocrab {
        self.octocrab.get_or_init(|| {
            let base = self.base.clone();
            let token = Some(self.token.clone());
            // The token is added to what goes to this address, and to nothing else.
            let built = OctocrabBuilder::new_empty()
                .with_service(ReqwestConnector::new(self.http.clone()))
                .with_layer(&BaseUriLayer::new(base.clone()))
                .with_layer(&AuthHeaderLayer::new(token, base.clone(), base))
                .with_auth(AuthState::None)
                .build();
            match built {
                Ok(octocrab) => octocrab,
                Err(never) => match never {},
            }
        })
    }

    /// # Errors
    /// When no whole answer came.
    pub(super) async fn get(&self, path: &str) -> Result<Reply, SendError> {
        let asked_at = (self.clock)();
        let response = self.octocrab()._get(path).await;
        Self::reply(response, asked_at).await
    }

    /// # Errors
    /// When no whole answer came.
    pub(super) async fn post(&self, path: &str, body: &Value) -> Result<Reply, SendError> {
        let asked_at = (self.clock)();
        let response = self.octocrab()._post(path, Some(body)).await;
        Self::reply(response, asked_at).await
    }

    async fn reply<B>(
        response: octocrab::Result<Response<B>>,
        asked_at: Timestamp,
    ) -> Result<Reply, SendError>
    where
        B: BodyExt,
        B::Error: Into<Box<dyn Error + Send + Sync>>,
    {
        let (head, body) = response.map_err(|error| failed(&error))?.into_parts();
        let whole = Limited::new(body, LARGEST_BODY).collect().await;
        let body = whole.map_err(|error| failed(&*error))?.to_bytes();
        Ok(Reply::new(
            head.status.as_u16(),
            head.headers,
            &body,
            asked_at,
        ))
    }
}

/// The part of an error that says what happened on the way, without the address.
fn failed(error: &(dyn Error + 'static)) -> SendError {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<reqwest::Error>() {
            return broken(error);
        }
        if error.is::<http_body_util::LengthLimitError>() {
            return SendError::Refused(format!("the answer is larger than {LARGEST_BODY} bytes"));
        }
        cause = error.source();
    }
    SendError::Broken("no whole answer".to_owned())
}
