//! One ticket by its name, wherever it went.

use super::{
    Github,
    entry::{Entry, Kind},
    queries::{TicketAt, ticket_at},
    verdict::Asked,
};
use crate::{
    Fetched, Item, SourceError, Wanted,
    upstream::{CallError, PageSize},
};
use serde_json::Value;

/// The number in `owner/repo#7`, where that is this source's repository, under
/// its present name or the configured one.
pub(super) fn number(github: &Github, name: &str) -> Option<u64> {
    let (repository, number) = name.trim().rsplit_once('#')?;
    let ours = [github.api.repository.path(), github.present()];
    let ours = ours
        .iter()
        .any(|ours| ours.eq_ignore_ascii_case(repository));
    let digits = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit());
    number.parse().ok().filter(|_| ours && digits)
}

impl Github {
    pub(super) async fn fetch_one(&self, wanted: &Wanted) -> Result<Fetched, SourceError> {
        let latest = wanted.names.last().map_or("", String::as_str);
        let here = wanted
            .names
            .iter()
            .rev()
            .find_map(|name| number(self, name));
        // The repository was renamed since, and configured anew: numbers stay.
        let elsewhere = || latest.rsplit_once('#')?.1.parse().ok();
        let number = here
            .or_else(|| wanted.key.as_ref().and_then(|_| elsewhere()))
            .ok_or_else(|| {
                SourceError::bare(format!("{latest:?} is no ticket of {}", self.present()))
            })?;
        match self.entry_at(number).await? {
            Some(entry) => self.present_state(&entry).await,
            None => self.moved_or_gone(wanted, number).await,
        }
    }

    /// What stands under a number of this repository; `None` where nothing does,
    /// said by a GitHub that gives the repository.
    async fn entry_at(&self, number: u64) -> Result<Option<Entry>, SourceError> {
        let repository = self.api.repository.clone();
        let what = format!("{}#{number}", repository.path());
        let variables = ticket_at::Variables {
            owner: repository.owner,
            name: repository.name,
            number: i64::try_from(number).unwrap_or(i64::MAX),
        };
        let asked = Asked {
            smallest: true,
            may_be_absent: true,
            ..Asked::default()
        };
        let check = |data: &Value| match data["repository"]["nameWithOwner"].is_string() {
            true => None,
            false => Some("an answer without the repository".to_owned()),
        };
        let reply = self
            .api
            .graphql::<TicketAt>(&what, variables, asked, check)
            .await?;
        let found = &reply.value()["data"]["repository"];
        self.learn(found["nameWithOwner"].as_str().unwrap_or_default());
        let node = &found["issueOrPullRequest"];
        if node.is_null() {
            return Ok(None);
        }
        let entry = Kind::of(node).and_then(|kind| Entry::read(kind, node));
        entry.map(Some).ok_or_else(|| {
            SourceError::bare(format!("{what}: GitHub's answer lacks an id or a time"))
        })
    }

    async fn present_state(&self, entry: &Entry) -> Result<Fetched, SourceError> {
        let mut size = PageSize::new(1);
        let items = self.gather(std::slice::from_ref(entry), &mut size).await?;
        match items.into_iter().next() {
            Some(item) => Ok(Fetched::Present(item)),
            // It was there a moment ago: the next look will say what became of it.
            None => Err(SourceError::bare(format!(
                "{}#{} vanished while it was read",
                self.present(),
                entry.number
            ))),
        }
    }

    /// The REST address of an issue leads to where it was moved, on the same
    /// host; the way itself follows.
    async fn moved_or_gone(&self, wanted: &Wanted, number: u64) -> Result<Fetched, SourceError> {
        let path = format!("/repos/{}/issues/{number}", self.present());
        let what = format!("{}#{number}", self.present());
        let reply = match self.api.rest(&what, &path).await {
            Ok(reply) => reply,
            // The repository was given in the answer before.
            Err(CallError::Missing { .. }) => return Ok(Fetched::Gone),
            Err(error) => return Err(error.into()),
        };
        let place = place(reply.value()).ok_or_else(|| {
            SourceError::bare(format!("{what}: GitHub does not say where it is now"))
        })?;
        if place.0.eq_ignore_ascii_case(&self.present()) {
            if place.1 == number {
                return Err(SourceError::bare(format!(
                    "{what}: GitHub says both that it is there and that it is not"
                )));
            }
            if let Some(entry) = self.entry_at(place.1).await? {
                return self.present_state(&entry).await;
            }
        }
        Ok(match &wanted.key {
            None => Fetched::Gone,
            Some(key) => Fetched::Present(Item::Withdrawn {
                key: key.clone(),
                why: format!("moved to {}#{}", place.0, place.1),
            }),
        })
    }
}

/// The repository and number that an issue of the REST interface says it has.
fn place(issue: &Value) -> Option<(String, u64)> {
    let url = issue["repository_url"].as_str()?;
    let mut steps = url.trim_end_matches('/').rsplit('/');
    let (name, owner) = (steps.next()?, steps.next()?);
    Some((format!("{owner}/{name}"), issue["number"].as_u64()?))
}
