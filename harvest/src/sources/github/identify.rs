//! Who the token is, and whether it may read what a pass reads.

use super::{
    Github,
    entry::Kind,
    pages::{Order, Pages},
    queries::{Reader, reader},
    verdict::Asked,
};
use crate::{
    Identity, SourceError,
    upstream::{CallError, PageSize},
};
use jiff::fmt::strtime;
use whence_contract::Timestamp;

impl Github {
    pub(super) async fn who(&self) -> Result<Identity, SourceError> {
        let asked = Asked {
            smallest: true,
            ..Asked::default()
        };
        let what = "the token's account";
        let reader = self
            .api
            .graphql::<Reader>(what, reader::Variables {}, asked, |_| None)
            .await;
        let mut identity = Identity::default();
        match reader {
            Ok(reply) => {
                let login = reply.value()["data"]["viewer"]["login"].as_str();
                identity.account = login.unwrap_or("unknown").to_owned();
                let scopes = reply.header("x-oauth-scopes").map(scopes);
                identity.may_write = scopes.as_ref().map(|s| s.iter().any(|s| writes(s)));
                identity.may = scopes.unwrap_or_default();
                identity.expires = reply
                    .header("github-authentication-token-expiration")
                    .and_then(expiry);
            }
            // An app's token has no account; it is good for the rest.
            Err(CallError::Denied { why, .. }) if !why.starts_with("HTTP 401") => {
                identity.account = "an app".to_owned();
            }
            Err(error) => return Err(error.into()),
        }
        if identity.may_write.is_none() {
            identity.warnings.push(
                "GitHub does not say whether this token may write; look at its permissions"
                    .to_owned(),
            );
        }
        self.try_calls(&mut identity).await?;
        Ok(identity)
    }

    /// The calls of a pass, each once.
    async fn try_calls(&self, identity: &mut Identity) -> Result<(), SourceError> {
        self.repository().await?;
        for (kind, name) in [(Kind::Issue, "issues"), (Kind::Pull, "pull requests")] {
            let page = Pages::new(&self.api, kind, Order::Updated, None)
                .next()
                .await?;
            let entries = page.map(|page| page.entries).unwrap_or_default();
            let first: Vec<_> = entries.into_iter().take(1).collect();
            self.gather(&first, &mut PageSize::new(1)).await?;
            identity.may.push(format!("read {name}"));
            if kind == Kind::Pull {
                let Some(pull) = first.first() else { continue };
                let path = format!(
                    "/repos/{}/pulls/{}/files?per_page=1",
                    self.present(),
                    pull.number
                );
                match self.api.rest("the files of a pull request", &path).await {
                    Ok(_) => identity.may.push("read files".to_owned()),
                    Err(CallError::Denied { why, .. }) => identity.warnings.push(format!(
                        "former names of renamed files cannot be read: {why}"
                    )),
                    Err(error) => return Err(error.into()),
                }
            }
        }
        Ok(())
    }
}

/// `X-OAuth-Scopes: read:org, repo`; fine-grained tokens have no such header.
fn scopes(header: &str) -> Vec<String> {
    let scopes = header.split(',').map(str::trim);
    scopes
        .filter(|scope| !scope.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Every scope but the reading ones can change something.
fn writes(scope: &str) -> bool {
    !scope.starts_with("read:") && !matches!(scope, "user:email" | "repo:status" | "read")
}

/// `2027-03-01 12:00:00 UTC` or `2027-03-01 12:00:00 +0100`.
fn expiry(header: &str) -> Option<Timestamp> {
    let text = header.trim().replace(" UTC", " +0000");
    let parsed = strtime::parse("%Y-%m-%d %H:%M:%S %z", text).ok()?;
    parsed.to_timestamp().ok()
}
