//! `github:owner/repo`: issues and pull requests of GitHub or of a GitHub
//! Enterprise server, by GraphQL.
//!
//! **Two walks, each with a time of its own in the cursor.** A walk lists light
//! entries (id, number, time of change, counts; a hundred at a time) and fetches
//! the tickets themselves by id, in the order of their changes. `since` in the
//! cursor means: every change before it has been sent.
//!
//! - Issues: `filterBy.since`, longest unchanged first. An issue that is edited
//!   under way moves towards the end of the listing, where it is met again; its
//!   neighbours stay, because GitHub's positions hold a time and an id, not a
//!   number of rows.
//! - Pull requests have no such filter. The first walk goes like that of issues,
//!   through all of them. Later ones list the latest change first, down to what
//!   is older than `since`, and only then fetch what was listed, oldest change
//!   first. A pull request that is edited while the list is read moves up, out of
//!   the part that is still to come; but its new time is later than all that was
//!   listed, and so later than the new `since`: the next pass has it. What is
//!   edited after it was listed is fetched with the edit, and once more.
//! - Both begin [`OVERLAP`] earlier than they must: seconds are GitHub's smallest
//!   unit of time, and a replica may lag. What is sent again unchanged costs
//!   nothing. A pass that was killed goes on at the last batch's `since`.
//!
//! What moves no time (a deleted comment, a renamed label) shows in the census by
//! the figures of [`entry::mark`].

mod api;
mod census;
mod entry;
mod fetch;
mod hook;
mod identify;
mod joined;
mod pages;
mod parts;
mod payload;
mod queries;
mod renames;
mod replies;
mod settings;
mod ticket;
mod transport;
mod verdict;
mod walk;

#[cfg(test)]
mod tests;

use super::{Kind, Opening};
use crate::{
    Batches, Census, Fetched, Identity, Listing, Secret, Sightings, Since, Source, SourceError,
    Tracker, Wanted,
    settings::SettingsKind,
    upstream::{Caller, Pace},
};
use api::Api;
use async_trait::async_trait;
use queries::{RepositoryAt, repository_at};
use serde_json::Value;
use settings::{GithubSettings, Place, Repository};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;
use transport::Transport;
use verdict::Asked;
use whence_contract::{Provenance, TicketKey};

pub(super) const KIND: Kind = Kind {
    name: "github",
    usage: "github:<owner/repo>",
    check: |place| Repository::parse(place).map(drop),
    open,
    settings: Some(SettingsKind::of::<GithubSettings>()),
    hook: Some(hook::read),
};

/// How much earlier than where the last one ended a walk begins.
const OVERLAP: Duration = Duration::from_secs(5 * 60);

fn open(name: &str, place: &str, opening: &Opening) -> Result<Box<dyn Source>, SourceError> {
    let settings: GithubSettings = opening.settings.of(KIND.name)?;
    let file = settings.token.expose();
    let token = opening
        .settings
        .env_or("GITHUB_TOKEN", Some(file))
        .ok_or_else(|| {
            SourceError::bare(
                "there is no token for GitHub: set GITHUB_TOKEN, or `token` in [github] of \
                 .harvester.toml; docs/sources/github.md says how to get one",
            )
        })?;
    let repository = Repository::parse(place).map_err(SourceError::bare)?;
    let address = Place::parse(&settings.base_url)?;
    let token = Secret::new(&token);
    let transport = Transport::new(&address, &token, settings.ca_file.as_deref(), opening.clock)?;
    let caller = Caller::new(
        name,
        Pace::per_second(settings.requests_per_second),
        opening.notice.clone(),
        opening.clock,
    );
    let page_size = settings.page_size()?;
    // A pull request with what hangs on it costs about a point.
    let dearest = u64::from(page_size);
    Ok(Box::new(Github {
        name: name.to_owned(),
        page_size,
        keep_pending: settings.confidential,
        api: Api::new(transport, caller, address, repository, dearest),
        present: RwLock::new(None),
    }))
}

struct Github {
    name: String,
    page_size: u32,
    /// Reviews that are not submitted stay.
    keep_pending: bool,
    api: Api,
    /// `owner/repo` as GitHub calls the repository now, once it has said so.
    present: RwLock<Option<String>>,
}

impl Github {
    /// The repository's present name; as configured until GitHub has said.
    fn present(&self) -> String {
        let known = self.present.read().unwrap_or_else(PoisonError::into_inner);
        known.clone().unwrap_or_else(|| self.api.repository.path())
    }

    fn learn(&self, name: &str) {
        if !name.is_empty() {
            let mut known = self.present.write().unwrap_or_else(PoisonError::into_inner);
            *known = Some(name.to_owned());
        }
    }

    /// The names of a ticket of `repository`, the present one last.
    fn names(&self, repository: &str, number: u64) -> Vec<String> {
        let present = format!("{repository}#{number}");
        let configured = format!("{}#{number}", self.api.repository.path());
        match configured.eq_ignore_ascii_case(&present) || repository != self.present() {
            true => vec![present],
            // It was renamed: GitHub itself leads from the old name to the new.
            false => vec![configured, present],
        }
    }

    fn key(&self, ticket: &str) -> TicketKey {
        TicketKey {
            provenance: Provenance::Upstream,
            source: KIND.name.to_owned(),
            scope: self.api.scope().to_owned(),
            ticket: ticket.to_owned(),
        }
    }

    /// Asks for the repository itself; gives its id.
    async fn repository(&self) -> Result<String, SourceError> {
        let repository = self.api.repository.clone();
        let what = format!("the repository {}", repository.path());
        let variables = repository_at::Variables {
            owner: repository.owner,
            name: repository.name,
        };
        let check = |data: &Value| match data["repository"]["id"].is_string() {
            true => None,
            false => Some("an answer without the repository".to_owned()),
        };
        let asked = Asked {
            smallest: true,
            ..Asked::default()
        };
        let reply = self
            .api
            .graphql::<RepositoryAt>(&what, variables, asked, check)
            .await?;
        let found = &reply.value()["data"]["repository"];
        self.learn(found["nameWithOwner"].as_str().unwrap_or_default());
        Ok(found["id"].as_str().unwrap_or_default().to_owned())
    }
}

#[async_trait]
impl Source for Github {
    fn name(&self) -> &str {
        &self.name
    }

    async fn check(&self) -> Result<(), SourceError> {
        self.repository().await.map(drop)
    }

    async fn list(&self, since: Since, out: &Batches) -> Result<Listing, SourceError> {
        self.walk(since, out).await
    }

    fn tracker(&self) -> Option<&dyn Tracker> {
        Some(self)
    }
}

#[async_trait]
impl Tracker for Github {
    fn covers(&self, name: &str) -> bool {
        fetch::number(self, name).is_some()
    }

    async fn fetch(&self, wanted: &Wanted) -> Result<Fetched, SourceError> {
        self.fetch_one(wanted).await
    }

    async fn census(&self, out: &Sightings) -> Result<Census, SourceError> {
        self.count(out).await
    }

    async fn identify(&self) -> Result<Identity, SourceError> {
        self.who().await
    }
}
