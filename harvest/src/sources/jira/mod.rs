//! `jira:PROJ`: a project of Jira Cloud, or of Jira Server or Data Center.
//!
//! A pass searches for what changed (ids and times only), then asks for those
//! issues whole: a search may answer from an index that lags, the issue itself
//! does not. `docs/sources/jira.md` lists the calls.

mod api;
mod census;
mod cursor;
mod fetch;
mod hook;
mod identify;
mod item;
mod judge;
mod listing;
mod pages;
mod payload;
mod search;
mod settings;
mod walk;
mod whole;

use super::Kind;
use crate::{
    Batches, Census, Fetched, Identity, Listing, Opening, Sightings, Since, Source, SourceError,
    Tracker, Wanted, settings::SettingsKind,
};
use api::Api;
use async_trait::async_trait;
use settings::JiraSettings;

pub(super) const KIND: Kind = Kind {
    name: "jira",
    usage: "jira:PROJ",
    check,
    open,
    settings: Some(SettingsKind::of::<JiraSettings>()),
    hook: Some(hook::read),
};

fn check(place: &str) -> Result<(), String> {
    let place = place.trim();
    let fits = place.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match fits && place.starts_with(|c: char| c.is_ascii_alphabetic()) {
        true => Ok(()),
        false => Err(format!("{place:?} is no project key, such as PROJ")),
    }
}

fn open(name: &str, place: &str, opening: &Opening) -> Result<Box<dyn Source>, SourceError> {
    let settings: JiraSettings = opening.settings.of("jira")?;
    Ok(Box::new(Jira {
        api: Api::new(name, place, &settings, opening)?,
    }))
}

struct Jira {
    api: Api,
}

#[async_trait]
impl Source for Jira {
    fn name(&self) -> &str {
        &self.api.origin
    }

    async fn check(&self) -> Result<(), SourceError> {
        self.api.project().await?;
        Ok(())
    }

    async fn list(&self, since: Since, out: &Batches) -> Result<Listing, SourceError> {
        self.api.list_changes(since, out).await
    }

    fn tracker(&self) -> Option<&dyn Tracker> {
        Some(self)
    }
}

#[async_trait]
impl Tracker for Jira {
    fn covers(&self, name: &str) -> bool {
        name.trim().rsplit_once('-').is_some_and(|(key, number)| {
            key.eq_ignore_ascii_case(&self.api.project_key)
                && !number.is_empty()
                && number.chars().all(|c| c.is_ascii_digit())
        })
    }

    async fn fetch(&self, wanted: &Wanted) -> Result<Fetched, SourceError> {
        self.api.fetch_one(wanted).await
    }

    async fn census(&self, out: &Sightings) -> Result<Census, SourceError> {
        self.api.count_all(out).await
    }

    async fn identify(&self) -> Result<Identity, SourceError> {
        self.api.who().await
    }
}
