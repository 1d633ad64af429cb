//! Who the key is, and whether each call that a pass needs is answered.

use super::{
    Linear,
    pages::{EVER, List, Order, Page},
    queries::{Reader, reader},
};
use crate::{Identity, SourceError};
use serde_json::Value;

impl Linear {
    pub(super) async fn who(&self) -> Result<Identity, SourceError> {
        let check = |data: &Value| match data["viewer"].is_object() {
            true => None,
            false => Some("an answer without the account".to_owned()),
        };
        let reply = self
            .api
            .ask::<Reader>("the key's account", reader::Variables, true, check)
            .await?;
        let data = &reply.value()["data"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let mut identity = Identity {
            account: format!(
                "{} ({})",
                text(&data["viewer"]["displayName"]),
                text(&data["organization"]["urlKey"])
            ),
            ..Identity::default()
        };
        let team = self.api.team().await?;
        let (key, name) = (&team.key, &team.name);
        identity.may.push(format!("reads team {key} ({name})"));
        for list in [List::Issues, List::Comments, List::Labels] {
            let what = format!("what is in {key}");
            let page = Page {
                what: &what,
                team: &team,
                order: Order::Updated,
                since: EVER,
                first: 1,
                after: None,
            };
            let reply = page.ask(&self.api, list).await?;
            let first = &reply.value()["data"]["issues"]["nodes"][0]["id"];
            if let (List::Issues, Some(id)) = (list, first.as_str()) {
                let ids = [id.to_owned()];
                self.gather(&team, &ids, &mut self.batch()).await?;
            }
        }
        if data["viewer"]["admin"] == true {
            identity
                .warnings
                .push("the account administers the workspace".to_owned());
        }
        identity.warnings.push(
            "Linear does not say what a key may do: make it with the scope Read alone".to_owned(),
        );
        Ok(identity)
    }
}
