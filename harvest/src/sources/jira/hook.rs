//! Jira's webhooks: which issue an event is about.

use super::settings::JiraSettings;
use crate::{
    Secret, Settings,
    hook::{HookError, HookRequest},
};
use hmac::{Hmac, Mac};
use serde_json::Value;
use sha2::Sha256;
use whence_contract::lenient_json;

/// The issue's key, and of a moved issue its former one too.
pub(super) fn read(
    request: &HookRequest<'_>,
    settings: &Settings,
) -> Result<Vec<String>, HookError> {
    let table: JiraSettings = settings
        .of("jira")
        .map_err(|_| HookError::Off { kind: "jira" })?;
    let file = Some(table.webhook_secret.expose());
    let secret = settings.env_or("JIRA_WEBHOOK_SECRET", file);
    let secret = secret.ok_or(HookError::Off { kind: "jira" })?;
    verify(request, &Secret::new(&secret))?;

    let text = std::str::from_utf8(request.body);
    let text = text.map_err(|_| HookError::Malformed("not UTF-8".to_owned()))?;
    let body = lenient_json(text).map_err(|error| HookError::Malformed(error.to_string()))?;
    let event = body.get("webhookEvent").and_then(Value::as_str);
    let event = event.ok_or_else(|| HookError::Malformed("no `webhookEvent`".to_owned()))?;
    if !event.starts_with("jira:issue_") && !event.starts_with("comment_") {
        return Ok(Vec::new());
    }
    let key = body.pointer("/issue/key").and_then(Value::as_str);
    let key = key.ok_or_else(|| HookError::Malformed("no `issue.key`".to_owned()))?;
    let mut names = vec![key.to_owned()];
    let changes = body.pointer("/changelog/items").and_then(Value::as_array);
    for change in changes.into_iter().flatten() {
        let text = |field: &str| change.get(field).and_then(Value::as_str);
        if text("field") == Some("Key")
            && let Some(former) = text("fromString")
        {
            names.push(former.to_owned());
        }
    }
    Ok(names)
}

/// `X-Hub-Signature: sha256=…`, the HMAC of the body; compared in constant time.
fn verify(request: &HookRequest<'_>, secret: &Secret) -> Result<(), HookError> {
    let signature = request
        .header("x-hub-signature")
        .and_then(|value| value.trim().strip_prefix("sha256="))
        .and_then(|digits| hex::decode(digits).ok())
        .ok_or(HookError::Forged)?;
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes())
        .map_err(|_| HookError::Forged)?;
    mac.update(request.body);
    mac.verify_slice(&signature).map_err(|_| HookError::Forged)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;
    use std::collections::BTreeMap;

    fn settings(secret: &str) -> Settings {
        let table = json!({ "webhook_secret": secret });
        Settings::new(BTreeMap::from([("jira".to_owned(), table)])).with_env(|_| None)
    }

    fn signed(body: &str, secret: &str) -> Vec<(String, String)> {
        let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
        mac.update(body.as_bytes());
        let signature = format!("sha256={}", hex::encode(mac.finalize().into_bytes()));
        vec![("x-hub-signature".to_owned(), signature)]
    }

    fn names(body: &Value, key: &str) -> Result<Vec<String>, HookError> {
        let body = body.to_string();
        let headers = signed(&body, key);
        let request = HookRequest {
            headers: &headers,
            body: body.as_bytes(),
        };
        read(&request, &settings("quokka"))
    }

    #[test]
    fn an_event_names_its_issue() {
        for event in [
            "jira:issue_created",
            "jira:issue_deleted",
            "comment_updated",
        ] {
            let body = json!({"webhookEvent": event, "issue": {"id": "7", "key": "MAZ-7"}});
            assert_eq!(names(&body, "quokka").unwrap(), ["MAZ-7"]);
        }
        let moved = json!({"webhookEvent": "jira:issue_updated", "issue": {"key": "NEW-1"},
            "changelog": {"items": [{"field": "Key", "fromString": "MAZ-7"}]}});
        assert_eq!(names(&moved, "quokka").unwrap(), ["NEW-1", "MAZ-7"]);
        let other = json!({"webhookEvent": "sprint_started"});
        assert_eq!(names(&other, "quokka").unwrap(), [""; 0]);
        let broken = json!({"webhookEvent": "comment_created"});
        assert!(matches!(
            names(&broken, "quokka"),
            Err(HookError::Malformed(_))
        ));
    }

    #[test]
    fn an_event_without_a_good_signature_is_nothing() {
        let body = json!({"webhookEvent": "comment_created", "issue": {"key": "MAZ-7"}});
        assert_eq!(names(&body, "wombat"), Err(HookError::Forged));
        let unsigned = HookRequest {
            headers: &[],
            body: b"{}",
        };
        assert_eq!(read(&unsigned, &settings("quokka")), Err(HookError::Forged));
        let off = read(&unsigned, &settings(""));
        assert_eq!(off, Err(HookError::Off { kind: "jira" }));
    }
}
