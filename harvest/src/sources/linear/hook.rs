//! Linear's webhooks: which issue an event is about, if its signature is good.
//!
//! An event that is sent again by someone else only fetches an issue once more,
//! so its time is not checked: a clock that is wrong would lose good ones.

use super::settings::LinearSettings;
use crate::{HookError, HookRequest, Settings};
use hmac::{Hmac, Mac};
use serde_json::Value;
use sha2::Sha256;
use whence_contract::lenient_json;

/// See [`crate::hook::Hook`].
pub(super) fn read(
    request: &HookRequest<'_>,
    settings: &Settings,
) -> Result<Vec<String>, HookError> {
    let off = HookError::Off { kind: "linear" };
    let table: LinearSettings = settings.of("linear").map_err(|_| off.clone())?;
    let secret = table.webhook_secret.expose();
    if secret.is_empty() {
        return Err(off);
    }
    let signature = request.header("linear-signature");
    let signature = signature.and_then(|text| hex::decode(text.trim()).ok());
    let signature = signature.ok_or(HookError::Forged)?;
    let mut mac =
        Hmac::<Sha256>::new_from_slice(secret.as_bytes()).map_err(|_| HookError::Forged)?;
    mac.update(request.body);
    mac.verify_slice(&signature)
        .map_err(|_| HookError::Forged)?;
    let malformed = |error: String| HookError::Malformed(error);
    let text = std::str::from_utf8(request.body).map_err(|e| malformed(e.to_string()))?;
    let event = lenient_json(text).map_err(|e| malformed(e.to_string()))?;
    Ok(name(&event).into_iter().collect())
}

/// Events of an issue, or of something on one, whose address begins with the
/// issue's: `https://linear.app/acme/issue/ENG-7/title#comment-…`.
fn name(event: &Value) -> Option<String> {
    let data = &event["data"];
    let stated = match event["type"].as_str()? {
        "Issue" => &data["identifier"],
        _ => &data["issue"]["identifier"],
    };
    let from_address = || {
        let (_, rest) = event["url"].as_str()?.split_once("/issue/")?;
        rest.split(['/', '#', '?']).next()
    };
    let name = stated.as_str().or_else(from_address)?;
    (!name.is_empty()).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;
    use std::collections::BTreeMap;

    fn ask(secret: &str, event: &Value, signature: Option<&str>) -> Result<Vec<String>, HookError> {
        let table = json!({"webhook_secret": secret});
        let tables = BTreeMap::from([("linear".to_owned(), table)]);
        let settings = Settings::new(tables).with_env(|_| None);
        let body = event.to_string();
        let mut mac = Hmac::<Sha256>::new_from_slice(b"s3cret").unwrap();
        mac.update(body.as_bytes());
        let good = hex::encode(mac.finalize().into_bytes());
        let signature = signature.unwrap_or(&good).to_owned();
        let headers = [("linear-signature".to_owned(), signature)];
        let request = HookRequest {
            headers: &headers,
            body: body.as_bytes(),
        };
        read(&request, &settings)
    }

    #[test]
    fn only_a_good_signature_is_believed() {
        let issue = json!({"type": "Issue", "data": {"identifier": "ENG-7"}});
        assert_eq!(ask("s3cret", &issue, None).unwrap(), ["ENG-7"]);
        for wrong in ["", "zz", "00ff"] {
            assert_eq!(ask("s3cret", &issue, Some(wrong)), Err(HookError::Forged));
        }
        assert_eq!(ask("other", &issue, None), Err(HookError::Forged));
        assert_eq!(
            ask("", &issue, None),
            Err(HookError::Off { kind: "linear" })
        );
        let comment = json!({"type": "Comment", "data": {"issueId": "…"},
            "url": "https://linear.app/acme/issue/ENG-8/a-title#comment-1"});
        assert_eq!(ask("s3cret", &comment, None).unwrap(), ["ENG-8"]);
        let other = json!({"type": "Cycle", "data": {}, "url": "https://linear.app/acme/cycle/1"});
        assert!(ask("s3cret", &other, None).unwrap().is_empty());
    }
}
