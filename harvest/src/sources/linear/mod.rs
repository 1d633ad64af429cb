//! `linear:TEAM`: the issues of one team of Linear, by GraphQL.
//!
//! What finds what: a pass lists issues and comments that changed since the
//! cursor ([`walk`]). The sweep compares every issue's time and labels and every
//! comment's time ([`census`]), and so finds deleted comments, renamed labels and
//! issues that are gone.

mod api;
mod census;
mod hook;
mod identify;
mod mark;
mod pages;
mod parts;
mod queries;
mod settings;
mod ticket;
mod verdict;
mod walk;

use super::{Kind, Opening};
use crate::{
    Batches, Census, Fetched, Identity, Listing, Sightings, Since, Source, SourceError, Tracker,
    Wanted, settings::SettingsKind,
};
use api::Api;
use async_trait::async_trait;
use settings::LinearSettings;
use whence_contract::{Provenance, TicketKey};

pub(super) const KIND: Kind = Kind {
    name: "linear",
    usage: "linear:TEAM",
    check,
    open,
    settings: Some(SettingsKind::of::<LinearSettings>()),
    hook: Some(hook::read),
};

fn check(place: &str) -> Result<(), String> {
    let fits = !place.is_empty() && place.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match fits {
        true => Ok(()),
        false => Err(format!("{place:?} is no key of a team, such as ENG")),
    }
}

fn open(name: &str, place: &str, opening: &Opening) -> Result<Box<dyn Source>, SourceError> {
    let (settings, secret) = LinearSettings::read(&opening.settings)?;
    Ok(Box::new(Linear {
        name: name.to_owned(),
        page_size: settings.page_size,
        api: Api::new(name, place, &settings, &secret, opening)?,
    }))
}

struct Linear {
    name: String,
    page_size: u32,
    api: Api,
}

impl Linear {
    fn key(&self, id: &str) -> TicketKey {
        TicketKey {
            provenance: Provenance::Upstream,
            source: KIND.name.to_owned(),
            scope: self.api.host(),
            ticket: id.to_owned(),
        }
    }
}

#[async_trait]
impl Source for Linear {
    fn name(&self) -> &str {
        &self.name
    }

    async fn check(&self) -> Result<(), SourceError> {
        self.api.team().await.map(drop)
    }

    async fn list(&self, since: Since, out: &Batches) -> Result<Listing, SourceError> {
        self.walk(since, out).await
    }

    fn tracker(&self) -> Option<&dyn Tracker> {
        Some(self)
    }
}

#[async_trait]
impl Tracker for Linear {
    fn covers(&self, name: &str) -> bool {
        name.trim().rsplit_once('-').is_some_and(|(key, number)| {
            key.eq_ignore_ascii_case(&self.api.key)
                && !number.is_empty()
                && number.chars().all(|c| c.is_ascii_digit())
        })
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
