//! Who a GitLab token is, and what it may do.

use super::api::Api;
use crate::{Identity, SourceError, upstream::CallError};
use serde_json::Value;
use whence_contract::Timestamp;

/// Asks for the account, the token, and for each thing that a pass reads.
pub(super) async fn identify(api: &Api, path: &str) -> Result<Identity, SourceError> {
    let user = api.get("the token's account", "/user", &[]).await?;
    let mut identity = Identity {
        account: text(user.value(), "username").unwrap_or_default(),
        ..Identity::default()
    };
    let about = api
        .get("the token", "/personal_access_tokens/self", &[])
        .await;
    match about {
        Ok(token) => {
            let token = token.value();
            let scopes = token["scopes"].as_array().into_iter().flatten();
            identity.may = scopes
                .filter_map(|scope| scope.as_str().map(str::to_owned))
                .collect();
            identity.may_write = Some(identity.may.iter().any(|scope| scope == "api"));
            // The date is the token's last day.
            identity.expires = text(token, "expires_at")
                .and_then(|day| format!("{day}T00:00:00Z").parse::<Timestamp>().ok());
        }
        // Project and group tokens and OAuth have no such page.
        Err(CallError::Denied { .. } | CallError::Missing { .. }) => {
            identity
                .warnings
                .push("GitLab does not say which scopes the token has".to_owned());
        }
        Err(error) => return Err(error.into()),
    }
    let project = api.project(path).await?;
    for (what, list) in [("issues", "issues"), ("merge requests", "merge_requests")] {
        let place = format!("/projects/{}/{list}", project.id);
        let named = format!("the {what} of {path}");
        let reply = api.get(&named, &place, &[("per_page", "1")]).await?;
        let first = reply.value().as_array().and_then(|list| list.first());
        // Issues of a public project can be read by anyone, notes cannot.
        if let Some(iid) = first.and_then(|ticket| ticket["iid"].as_u64()) {
            let notes = format!("{place}/{iid}/discussions");
            api.get(&format!("the notes of {what} of {path}"), &notes, &[])
                .await?;
        }
    }
    Ok(identity)
}

fn text(value: &Value, field: &str) -> Option<String> {
    value[field].as_str().map(str::to_owned)
}
