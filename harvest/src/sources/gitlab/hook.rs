//! GitLab's webhooks: a shared token in a header, and which ticket it is about.

use super::settings::GitlabSettings;
use crate::{HookError, HookRequest, Settings};
use serde_json::Value;
use whence_contract::lenient_json;

/// The ticket that a webhook names; none for events of other things.
pub(super) fn read(
    request: &HookRequest<'_>,
    settings: &Settings,
) -> Result<Vec<String>, HookError> {
    let off = HookError::Off { kind: "gitlab" };
    let table: GitlabSettings = settings.of("gitlab").map_err(|_| off.clone())?;
    let secret = table.webhook_secret.ok_or(off)?;
    let given = request.header("x-gitlab-token").unwrap_or_default();
    if secret.expose().is_empty() || !same(secret.expose().as_bytes(), given.as_bytes()) {
        return Err(HookError::Forged);
    }
    let text = std::str::from_utf8(request.body)
        .map_err(|error| HookError::Malformed(error.to_string()))?;
    let event = lenient_json(text).map_err(|error| HookError::Malformed(error.to_string()))?;
    Ok(name(&event).into_iter().collect())
}

fn name(event: &Value) -> Option<String> {
    let project = event["project"]["path_with_namespace"].as_str()?;
    let attributes = &event["object_attributes"];
    let (sign, iid) = match event["object_kind"].as_str()? {
        "issue" | "work_item" => ('#', &attributes["iid"]),
        "merge_request" => ('!', &attributes["iid"]),
        "note" => match attributes["noteable_type"].as_str()? {
            "Issue" => ('#', &event["issue"]["iid"]),
            "MergeRequest" => ('!', &event["merge_request"]["iid"]),
            _ => return None,
        },
        _ => return None,
    };
    Some(format!("{project}{sign}{}", iid.as_u64()?))
}

/// Compared whole, whatever differs first: time must not tell how much is right.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |sum, (a, b)| sum | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;
    use std::collections::BTreeMap;

    fn settings(table: Value) -> Settings {
        Settings::new(BTreeMap::from([("gitlab".to_owned(), table)])).with_env(|_| None)
    }

    #[test]
    fn only_a_good_token_is_believed() {
        let body = json!({"object_kind": "note", "project": {"path_with_namespace": "acme/kiln"},
            "object_attributes": {"noteable_type": "MergeRequest"}, "merge_request": {"iid": 7}})
        .to_string();
        let ask = |table: Value, token: &str| {
            let headers = [("x-gitlab-token".to_owned(), token.to_owned())];
            let request = HookRequest {
                headers: &headers,
                body: body.as_bytes(),
            };
            read(&request, &settings(table))
        };
        let on = json!({"webhook_secret": "s3cret"});
        assert_eq!(ask(on.clone(), "s3cret").unwrap(), ["acme/kiln!7"]);
        for wrong in ["", "s3cre", "S3cret", "s3cret "] {
            assert_eq!(ask(on.clone(), wrong), Err(HookError::Forged));
        }
        assert_eq!(ask(json!({}), ""), Err(HookError::Off { kind: "gitlab" }));
        assert_eq!(
            ask(json!({"webhook_secret": ""}), ""),
            Err(HookError::Forged)
        );
    }
}
