//! Webhooks: which ticket an event is about, if its signature is good.

use super::settings::GithubSettings;
use crate::{HookError, HookRequest, Settings};
use hmac::{Hmac, Mac};
use serde_json::Value;
use sha2::Sha256;

/// Events about a ticket, and where in the body it is.
const EVENTS: [(&str, &str); 5] = [
    ("issues", "issue"),
    ("issue_comment", "issue"),
    ("pull_request", "pull_request"),
    ("pull_request_review", "pull_request"),
    ("pull_request_review_comment", "pull_request"),
];

/// See [`crate::hook::Hook`].
pub(super) fn read(
    request: &HookRequest<'_>,
    settings: &Settings,
) -> Result<Vec<String>, HookError> {
    let settings: GithubSettings = settings
        .of(super::KIND.name)
        .map_err(|error| HookError::Malformed(error.to_string()))?;
    let secret = settings.webhook_secret.expose();
    if secret.is_empty() {
        return Err(HookError::Off {
            kind: super::KIND.name,
        });
    }
    verify(request, secret.as_bytes())?;
    let event = request.header("x-github-event").unwrap_or_default();
    let Some((_, holder)) = EVENTS.iter().find(|(known, _)| *known == event) else {
        // A ping, or an event that changes no ticket.
        return Ok(Vec::new());
    };
    let body: Value = serde_json::from_slice(request.body)
        .map_err(|error| HookError::Malformed(error.to_string()))?;
    let repository = body["repository"]["full_name"].as_str();
    let number = body[*holder]["number"].as_u64();
    match (repository, number) {
        (Some(repository), Some(number)) => Ok(vec![format!("{repository}#{number}")]),
        _ => Err(HookError::Malformed(format!(
            "an event {event:?} without its repository or number"
        ))),
    }
}

/// `X-Hub-Signature-256: sha256=…` over the body; compared in constant time.
fn verify(request: &HookRequest<'_>, secret: &[u8]) -> Result<(), HookError> {
    let signature = request.header("x-hub-signature-256");
    let signature = signature.and_then(|text| text.trim().strip_prefix("sha256="));
    let signature = signature.and_then(|text| hex::decode(text).ok());
    let signature = signature.ok_or(HookError::Forged)?;
    let mut mac = Hmac::<Sha256>::new_from_slice(secret).map_err(|_| HookError::Forged)?;
    mac.update(request.body);
    mac.verify_slice(&signature).map_err(|_| HookError::Forged)
}
