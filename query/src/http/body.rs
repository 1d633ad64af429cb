//! Bodies, and errors as bodies.

use crate::SearchError;
use axum::{
    body::Bytes,
    extract::{FromRequest, Request},
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde::{Serialize, de::DeserializeOwned};
use std::error::Error;

/// A JSON body. Its content type is not asked for: clients forget it, and a
/// foreign page is kept out by its origin.
pub(super) struct Json<T>(pub(super) T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Json<T> {
    type Rejection = Failure;

    async fn from_request(request: Request, state: &S) -> Result<Self, Failure> {
        let path = request.uri().path().to_owned();
        let bytes = Bytes::from_request(request, state)
            .await
            .map_err(|rejection| {
                if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE {
                    let message =
                        format!("the body is larger than {} bytes", super::MAX_BODY_BYTES);
                    SearchError::new("body_too_large", 413, message, "ask with less")
                } else {
                    SearchError::bad_request("the body could not be read", "send it whole")
                }
            })?;
        let body = serde_json::from_slice(&bytes).map_err(|error| {
            let hint = takes(&path);
            SearchError::bad_request(format!("the body is not a request: {error}"), hint)
        })?;
        Ok(Self(body))
    }
}

/// What the endpoint that was asked takes.
fn takes(path: &str) -> &'static str {
    match path {
        "/invalidate" => {
            r#"POST /invalidate takes {"source": "…", "ticket_id": "…", "wait": true}"#
        }
        "/local/sync" => {
            r#"POST /local/sync takes {"source": "…", "ticket_id": "…", "findings_md": "…"}"#
        }
        "/similar" => {
            r#"POST /similar takes {"id": "…"} or {"text": "…"}, and {"k": 10, "filters": {…}}"#
        }
        _ => r#"POST /search takes {"query": "…", "k": 10, "filters": {…}}"#,
    }
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.0) {
            Ok(body) => ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
            Err(error) => {
                tracing::error!(%error, "a response could not be written as JSON");
                StatusCode::INTERNAL_SERVER_ERROR.into_response()
            }
        }
    }
}

/// An error on its way out.
pub(super) struct Failure(pub(super) SearchError);

impl From<SearchError> for Failure {
    fn from(error: SearchError) -> Self {
        Self(error)
    }
}

impl IntoResponse for Failure {
    fn into_response(self) -> Response {
        let error = self.0;
        if error.status >= 500 {
            let cause = error.source().map(ToString::to_string).unwrap_or_default();
            tracing::warn!(code = error.code, cause, "{error}");
        }
        let status =
            StatusCode::from_u16(error.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let mut response = (status, Json(error.body())).into_response();
        if error.code == "unauthorized" {
            let bearer = header::HeaderValue::from_static("Bearer");
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, bearer);
        }
        response
    }
}
