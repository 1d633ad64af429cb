//! `gitlab:group/project`: issues and merge requests of GitLab with all their
//! notes and changed files, over the REST API v4.
//!
//! What finds what: a pass asks for tickets that changed since the cursor, less
//! an overlap, because a note within a minute of the last one moves no time. The
//! sweep compares times, counts of notes and labels, and so finds that note
//! when the overlap is past, deleted notes, and renamed labels. A thread that is
//! resolved moves nothing and is seen with the ticket's next change.

mod api;
mod hook;
mod identity;
mod settings;
mod ticket;
mod walk;

use super::{Kind as SourceKind, Opening};
use crate::{
    Batch, Batches, Census, Coverage, Fetched, Identity, Item, Listing, Scope, Sighting, Sightings,
    Since, Source, SourceError, Tracker, Wanted, settings::SettingsKind,
};
use api::{Api, Project};
use async_trait::async_trait;
use futures::{StreamExt, TryStreamExt, stream};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use settings::GitlabSettings;
use std::time::Duration;
use ticket::{Tickets, mark};
use walk::{By, Kind, Walk};
use whence_contract::{Provenance, Timestamp};

pub(super) const KIND: SourceKind = SourceKind {
    name: "gitlab",
    usage: "gitlab:<group/project>",
    check,
    open,
    settings: Some(SettingsKind::of::<GitlabSettings>()),
    hook: Some(hook::read),
};

/// Passes overlap by this: longer than GitLab's pause between two moves of a
/// ticket's time, and than clocks of its servers differ.
const OVERLAP: Duration = Duration::from_secs(180);
/// Tickets whose parts are fetched at a time; the pace bounds their requests.
const AT_A_TIME: usize = 4;

struct Gitlab {
    name: String,
    path: String,
    settings: GitlabSettings,
    api: Api,
}

/// Up to where each list was taken.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Cursor {
    issues: Option<String>,
    merge_requests: Option<String>,
}

impl Cursor {
    fn of(&mut self, kind: Kind) -> &mut Option<String> {
        match kind {
            Kind::Issue => &mut self.issues,
            Kind::MergeRequest => &mut self.merge_requests,
        }
    }

    fn encode(&self) -> Result<Value, SourceError> {
        serde_json::to_value(self)
            .map_err(|error| SourceError::because("cannot encode the cursor", error))
    }
}

fn check(place: &str) -> Result<(), String> {
    let parts: Vec<&str> = place.split('/').collect();
    let is_part = |part: &&str| {
        !part.is_empty()
            && part
                .chars()
                .all(|c| c.is_alphanumeric() || "._-+".contains(c))
    };
    match parts.len() >= 2 && parts.iter().all(is_part) {
        true => Ok(()),
        false => Err("write it as gitlab:group/project, without an address".to_owned()),
    }
}

fn open(name: &str, place: &str, opening: &Opening) -> Result<Box<dyn Source>, SourceError> {
    let (settings, token) = GitlabSettings::read(&opening.settings)?;
    Ok(Box::new(Gitlab {
        name: name.to_owned(),
        path: place.to_owned(),
        api: Api::new(name, &settings, &token, opening)?,
        settings,
    }))
}

#[async_trait]
impl Source for Gitlab {
    fn name(&self) -> &str {
        &self.name
    }

    async fn check(&self) -> Result<(), SourceError> {
        self.api.project(&self.path).await.map(drop)
    }

    async fn list(&self, since: Since, out: &Batches) -> Result<Listing, SourceError> {
        let project = self.api.project(&self.path).await?;
        let mut cursor: Cursor = since
            .cursor
            .filter(|_| !since.whole)
            .and_then(|cursor| serde_json::from_value(cursor).ok())
            .unwrap_or_default();
        for kind in Kind::ALL {
            let from = cursor.of(kind).as_deref().map(earlier);
            let size = self.settings.page_size;
            let mut walk = Walk::new(&self.api, &project, kind, By::Updated, size, from);
            while let Some((reply, entries)) = walk.next().await? {
                let items = self.whole(&project, kind, entries, reply.asked_at).await?;
                // Never back: the overlap begins before what was reached.
                let reached = walk.reached().map(str::to_owned);
                let place = cursor.of(kind);
                *place = reached.max(place.take());
                out.send(Batch {
                    items,
                    cursor: Some(cursor.encode()?),
                })
                .await?;
            }
        }
        Ok(Listing {
            coverage: Coverage::Changes,
            cursor: cursor.encode()?,
            ..Listing::default()
        })
    }

    fn tracker(&self) -> Option<&dyn Tracker> {
        Some(self)
    }
}

impl Gitlab {
    fn tickets<'a>(&'a self, project: &'a Project) -> Tickets<'a> {
        Tickets {
            api: &self.api,
            project,
            settings: &self.settings,
            origin: &self.name,
        }
    }

    /// The tickets of list entries, whole and in their order.
    async fn whole(
        &self,
        project: &Project,
        kind: Kind,
        entries: Vec<Value>,
        asked_at: Timestamp,
    ) -> Result<Vec<Item>, SourceError> {
        let tickets = &self.tickets(project);
        let items: Vec<Option<Item>> = stream::iter(entries)
            .map(|entry| async move { tickets.whole(kind, entry, asked_at).await })
            .buffered(AT_A_TIME)
            .try_collect()
            .await?;
        Ok(items.into_iter().flatten().collect())
    }

    /// The kind and number in a name like `group/project#7`.
    fn parse(name: &str) -> Option<(&str, Kind, u64)> {
        let at = name.rfind(['#', '!'])?;
        let kind = match name.get(at..=at)? {
            "#" => Kind::Issue,
            _ => Kind::MergeRequest,
        };
        Some((name.get(..at)?, kind, name.get(at + 1..)?.parse().ok()?))
    }
}

#[async_trait]
impl Tracker for Gitlab {
    fn covers(&self, name: &str) -> bool {
        Self::parse(name).is_some_and(|(path, ..)| path.eq_ignore_ascii_case(&self.path))
    }

    async fn fetch(&self, wanted: &Wanted) -> Result<Fetched, SourceError> {
        // Asked first: a project that cannot be read says nothing of its tickets.
        let project = self.api.project(&self.path).await?;
        let Some((_, kind, iid)) = wanted.names.last().and_then(|name| Self::parse(name)) else {
            return Ok(Fetched::Gone);
        };
        let iid = iid.to_string();
        let query = [
            ("iids[]", iid.as_str()),
            ("scope", "all"),
            ("with_labels_details", "true"),
        ];
        let path = format!("/projects/{}/{}", project.id, kind.path());
        let what = format!("{}{}{iid}", project.path, kind.sign());
        let reply = self
            .api
            .get_judged(&what, &path, &query, api::judge_list)
            .await?;
        let entries = reply.value().as_array().cloned().unwrap_or_default();
        let tickets = self.tickets(&project);
        let ours = |entry: &Value| {
            let key = entry["id"].as_u64().map(|id| tickets.key(kind, id));
            match &wanted.key {
                Some(wanted) => key.as_ref() == Some(wanted),
                None => entry["iid"].as_u64().is_some_and(|n| n.to_string() == iid),
            }
        };
        let Some(entry) = entries.into_iter().find(ours) else {
            return Ok(Fetched::Gone);
        };
        let item = tickets.whole(kind, entry, reply.asked_at).await?;
        Ok(item.map_or(Fetched::Gone, Fetched::Present))
    }

    async fn census(&self, out: &Sightings) -> Result<Census, SourceError> {
        let project = self.api.project(&self.path).await?;
        let tickets = self.tickets(&project);
        for kind in Kind::ALL {
            let size = self.settings.page_size;
            let mut walk = Walk::new(&self.api, &project, kind, By::Created, size, None);
            while let Some((_, entries)) = walk.next().await? {
                let sightings = entries
                    .iter()
                    .filter(|entry| tickets.is_kept(entry))
                    .filter_map(|entry| {
                        Some(Sighting {
                            key: tickets.key(kind, entry["id"].as_u64()?),
                            name: tickets.name(kind, entry),
                            mark: mark(entry),
                            // GitLab counts internal notes too, which may be left out.
                            comments: entry["user_notes_count"]
                                .as_u64()
                                .filter(|_| self.settings.confidential),
                        })
                    });
                out.send(sightings.collect()).await?;
            }
        }
        Ok(Census {
            scopes: vec![Scope {
                provenance: Provenance::Upstream,
                source: "gitlab".to_owned(),
                scope: self.api.host(),
            }],
            warnings: Vec::new(),
        })
    }

    async fn identify(&self) -> Result<Identity, SourceError> {
        identity::identify(&self.api, &self.path).await
    }
}

/// A time less the overlap; as it is where it cannot be read.
fn earlier(time: &str) -> String {
    time.parse::<Timestamp>()
        .ok()
        .and_then(|at| at.checked_sub(OVERLAP).ok())
        .map_or_else(|| time.to_owned(), |at| at.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_and_names() {
        for right in ["group/project", "group/sub/project.x", "a-b/c_d"] {
            assert_eq!(check(right), Ok(()));
        }
        for wrong in ["project", "https://gitlab.com/a/b", "a//b", "a/b c", "/a/b"] {
            assert!(check(wrong).is_err(), "{wrong}");
        }
        assert_eq!(
            Gitlab::parse("a/b/c!12"),
            Some(("a/b/c", Kind::MergeRequest, 12))
        );
        assert_eq!(Gitlab::parse("a/b#7"), Some(("a/b", Kind::Issue, 7)));
        assert_eq!(Gitlab::parse("PROJ-7"), None);
        assert_eq!(
            earlier("2024-01-02T03:04:05.678Z"),
            "2024-01-02T03:01:05.678Z"
        );
    }
}
