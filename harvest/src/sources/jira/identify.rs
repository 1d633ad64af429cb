//! Who the token is, what its account may do in the project, and whether each
//! call that a pass needs is answered.

use super::{
    api::{ACCOUNT, Api},
    search::Place,
    whole::Found,
};
use crate::{Identity, SourceError};
use serde_json::Value;

/// Asked of the project; the first is all that Whence needs.
const READ: &str = "BROWSE_PROJECTS";
const WRITE: [&str; 8] = [
    "CREATE_ISSUES",
    "EDIT_ISSUES",
    "ADD_COMMENTS",
    "DELETE_ISSUES",
    "EDIT_ALL_COMMENTS",
    "TRANSITION_ISSUES",
    "ADMINISTER_PROJECTS",
    "ADMINISTER",
];

impl Api {
    pub(super) async fn who(&self) -> Result<Identity, SourceError> {
        let reply = self.get("the account", "/myself", &[], ACCOUNT).await?;
        let text = |field: &str| reply.value().get(field).and_then(Value::as_str);
        let name = text(ACCOUNT).unwrap_or_default();
        let mut identity = Identity {
            account: match text("emailAddress").or_else(|| text("name")) {
                Some(more) if !more.is_empty() => format!("{name} ({more})"),
                _ => name.to_owned(),
            },
            ..Identity::default()
        };
        if let Some(zone) = text("timeZone") {
            identity.may.push(format!("reads times as in {zone}"));
        }
        let project = self.project().await?;
        self.permissions(&mut identity).await?;

        let jql = format!("project = {} ORDER BY updated ASC, key ASC", project.id);
        let page = self.search(&jql, &["updated"], &Place::Start).await?;
        let names = self.field_names().await?;
        if names.is_empty() {
            identity.warnings.push("no field has a name".to_owned());
        }
        let Some(first) = page.rows.first() else {
            let none = format!("project {} shows no issue to this account", project.key);
            identity.warnings.push(none);
            return Ok(identity);
        };
        let ids = [first.id.clone()];
        for (_, found) in self.whole(&ids).await? {
            match found {
                Found::Issue { issue, .. } => {
                    self.comments(&issue, project.desk).await?;
                    self.changelog(&issue).await?;
                }
                Found::Unreadable(why) => identity.warnings.push(why),
                Found::Absent => identity
                    .warnings
                    .push(format!("{} is listed and cannot be read", first.key)),
            }
        }
        // A long list is asked for page by page, by a call of its own.
        let path = format!("/issue/{}/comment", first.id);
        let what = format!("the comments of {}", first.key);
        let query = [("startAt", "0"), ("maxResults", "1")];
        self.get(&what, &path, &query, "comments").await?;
        Ok(identity)
    }

    /// Permissions are the account's; a token with scopes may do less, and Jira
    /// does not say which scopes it has.
    async fn permissions(&self, identity: &mut Identity) -> Result<(), SourceError> {
        let asked = format!("{READ},{}", WRITE.join(","));
        let query = [
            ("projectKey", self.project_key.as_str()),
            ("permissions", asked.as_str()),
        ];
        let what = "the account's permissions";
        let reply = self
            .get(what, "/mypermissions", &query, "permissions")
            .await?;
        let has = |permission: &str| {
            let path = format!("/permissions/{permission}/havePermission");
            reply.value().pointer(&path) == Some(&Value::Bool(true))
        };
        let held = [READ].into_iter().chain(WRITE).filter(|p| has(p));
        identity.may.extend(held.map(str::to_owned));
        if !has(READ) {
            let cannot = format!("it may not browse project {}", self.project_key);
            identity.warnings.push(cannot);
        }
        let may_write = WRITE.iter().any(|permission| has(permission));
        identity.may_write = match (may_write, self.scoped) {
            (true, true) => None,
            (may_write, _) => Some(may_write),
        };
        if identity.may_write.is_none() {
            identity.warnings.push(
                "the account may write; whether the token may, its scopes decide, which Jira \
                 does not tell"
                    .to_owned(),
            );
        }
        Ok(())
    }
}
