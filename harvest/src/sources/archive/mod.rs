//! `archive:<file|folder|https URL>`: the `archive.json` that IETF repositories
//! publish, with GitHub issues and pull requests in GitHub's GraphQL shape.
//! Needs no token. Plain or gzip, known by the first bytes.

mod download;
mod item;
mod list;
mod place;
mod scan;
mod survey;
#[cfg(test)]
mod tests;

use super::{Kind, Opening};
use crate::{Batches, Clock, Listing, Since, Source, SourceError};
use async_trait::async_trait;
use place::Place;

pub(super) const KIND: Kind = Kind {
    name: "archive",
    usage: "archive:<file, folder or https URL>",
    check: |place| Place::parse(place).map(drop),
    open,
    settings: None,
    hook: None,
};

fn open(name: &str, place: &str, opening: &Opening) -> Result<Box<dyn Source>, SourceError> {
    Ok(Box::new(Archive {
        name: name.to_owned(),
        place: Place::parse(place).map_err(SourceError::bare)?,
        clock: opening.clock,
    }))
}

/// The system that archives are made of.
const SYSTEM: &str = "github";

struct Archive {
    name: String,
    place: Place,
    clock: Clock,
}

#[async_trait]
impl Source for Archive {
    fn name(&self) -> &str {
        &self.name
    }

    async fn check(&self) -> Result<(), SourceError> {
        match &self.place {
            Place::Local(path) => place::files(path).map(drop),
            Place::Remote(url) => download::check(url).await,
        }
    }

    async fn list(&self, since: Since, out: &Batches) -> Result<Listing, SourceError> {
        let place = match &self.place {
            Place::Local(path) => place::files(path)?,
            Place::Remote(url) => download::fetch(url).await?,
        };
        let pass = list::Pass {
            origin: self.name.clone(),
            fetched_at: (self.clock)(),
            out: out.clone(),
        };
        // Reading and hashing block; they end at the first send after a stop.
        tokio::task::spawn_blocking(move || pass.run(&place, &since))
            .await
            .map_err(|error| SourceError::because("reading the archive was aborted", error))?
    }
}
