//! All issues of a project in the order of their last change, page by page; and
//! a new beginning behind what is known where the chain of pages breaks.

use super::{
    api::{Api, Project},
    search::{Next, Place, Row},
    settings::Flavor,
};
use crate::{SourceError, upstream::CallError};
use jiff::tz::TimeZone;
use std::{collections::HashSet, time::Duration};
use whence_contract::Timestamp;

/// New beginnings at one and the same place before the walk is given up.
const MOST_RESTARTS: u32 = 5;
/// Pages with nothing in them, one after another, that are followed.
const MOST_EMPTY: u32 = 10;

/// How far the search may lag behind what it answers: Cloud's index has been
/// seen hours late. Nothing younger moves the mark behind which all was sent,
/// and every pass looks back so far.
pub(super) fn lag(flavor: Flavor) -> Duration {
    Duration::from_secs(match flavor {
        Flavor::Cloud => 12 * 60 * 60,
        Flavor::Server => 60 * 60,
    })
}

/// A walk under way.
pub(super) struct Walk<'a> {
    api: &'a Api,
    project: Project,
    fields: &'static [&'static str],
    /// The caller's zone, which Server reads times in.
    zone: Option<TimeZone>,
    /// Issues that changed before are not wanted.
    bound: Option<i64>,
    /// Everything that changed before has been given.
    settled: Option<i64>,
    /// What is younger settles nothing.
    young: i64,
    place: Option<Place>,
    tokens: HashSet<String>,
    restarts: u32,
    empty: u32,
    /// Results without an id.
    pub(super) nameless: usize,
}

impl<'a> Walk<'a> {
    /// From the first change at or after `since`, in milliseconds since 1970.
    pub(super) async fn begin(
        api: &'a Api,
        project: Project,
        fields: &'static [&'static str],
        since: Option<i64>,
    ) -> Result<Self, SourceError> {
        let zone = match api.flavor {
            Flavor::Cloud => None,
            Flavor::Server => api.zone().await?,
        };
        let young = api.now().as_millisecond() - as_millis(lag(api.flavor));
        Ok(Self {
            api,
            project,
            fields,
            zone,
            bound: since,
            settled: since,
            young,
            place: Some(Place::Start),
            tokens: HashSet::new(),
            restarts: 0,
            empty: 0,
            nameless: 0,
        })
    }

    /// The moment up to which everything has been given.
    pub(super) fn settled(&self) -> Option<i64> {
        self.settled
    }

    /// The next results, perhaps none; `None` at the end. After a new beginning
    /// some come again.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<Row>>, SourceError> {
        let Some(place) = self.place.take() else {
            return Ok(None);
        };
        let jql = self.jql();
        let page = self.api.search(&jql, self.fields, &place).await;
        let page = page.map_err(|error| no_search(error, &self.project))?;
        self.nameless += page.nameless;
        let old = page.rows.iter().filter_map(|row| row.updated);
        let old = old.filter(|updated| *updated < self.young).max();
        self.settled = self.settled.max(old);
        self.empty = match page.rows.is_empty() {
            true => self.empty + 1,
            false => 0,
        };
        self.place = match page.next {
            Next::End => None,
            Next::Page(Place::Token(token)) if !self.tokens.insert(token.clone()) => {
                Some(self.restart("a page leads to one that was read before")?)
            }
            Next::Page(_) if self.empty > MOST_EMPTY => {
                Some(self.restart("page after page is empty")?)
            }
            Next::Page(place) => Some(place),
            Next::Broken(why) => Some(self.restart(&why)?),
        };
        Ok(Some(page.rows))
    }

    fn restart(&mut self, why: &str) -> Result<Place, SourceError> {
        let further = self.settled > self.bound;
        self.restarts = match further {
            true => 0,
            false => self.restarts + 1,
        };
        if self.restarts >= MOST_RESTARTS {
            return Err(SourceError::bare(format!(
                "the issues of {}: {why}, again and again; the next pass goes on from here",
                self.project.key
            )));
        }
        tracing::debug!(project = self.project.key, why, "searching anew");
        self.bound = self.settled;
        self.empty = 0;
        self.tokens.clear();
        Ok(Place::Start)
    }

    fn jql(&self) -> String {
        let since = match (self.bound, self.api.flavor) {
            (None, _) => String::new(),
            (Some(bound), Flavor::Cloud) => format!(" AND updated >= {bound}"),
            (Some(bound), Flavor::Server) => {
                format!(" AND updated >= \"{}\"", minute(bound, self.zone.as_ref()))
            }
        };
        let project = &self.project.id;
        format!("project = {project}{since} ORDER BY updated ASC, key ASC")
    }
}

/// A moment as Server reads it: minutes in the caller's zone, and a time that
/// occurs twice when summer ends. An hour and a minute earlier is never too
/// late; where the zone is not known, nor is half a day and more.
fn minute(millis: i64, zone: Option<&TimeZone>) -> String {
    let early = match zone {
        Some(_) => 61 * 60 * 1000,
        None => 15 * 60 * 60 * 1000,
    };
    let moment = Timestamp::from_millisecond(millis.saturating_sub(early));
    let moment = moment.unwrap_or(Timestamp::UNIX_EPOCH);
    let zoned = moment.to_zoned(zone.cloned().unwrap_or(TimeZone::UTC));
    zoned.strftime("%Y/%m/%d %H:%M").to_string()
}

pub(super) fn as_millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// A project that vanished meanwhile is a wrong value of the query.
pub(super) fn no_search(error: CallError, project: &Project) -> SourceError {
    match error {
        CallError::Refused { what, why } if why.contains("for the field 'project'") => {
            CallError::Missing {
                what: format!("{what}, project {}", project.key),
                why,
            }
            .into()
        }
        error => error.into(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn minutes_are_the_callers_and_never_late() {
        let at = 1_780_128_059_999; // 2026-05-30T08:00:59.999Z
        let berlin = TimeZone::get("Europe/Berlin").unwrap();
        assert_eq!(minute(at, Some(&berlin)), "2026/05/30 08:59");
        assert_eq!(minute(at, None), "2026/05/29 17:00");
        assert_eq!(minute(i64::MIN, None), "1970/01/01 00:00");
    }
}
