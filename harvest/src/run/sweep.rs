//! The sweep: everything a service has, compared with everything the log holds.
//!
//! It finds what no listing of changes shows: deleted tickets, deleted comments,
//! changes that moved no time. A ticket is removed in two steps: the census
//! lacks it, and the service, asked for it, says that it has none.

use super::{
    HarvestError, Run,
    deletions::{self, Plan},
    fetch::wanted,
    item::STAGE,
    record::Record,
};
use crate::{Census, Sighting, Sightings, SourceError, Tracker, Wanted};
use std::collections::{HashMap, HashSet};
use whence_contract::TicketKey;
use whence_log::{KnownTicket, RunCounts, Selection};

/// Pages of a census that may wait.
const ROOM: usize = 4;
/// Tickets that may fail to be fetched before the sweep is given up.
const MOST_FAILURES: usize = 3;

impl Run<'_> {
    /// Compares and mends. `letters` are the keys of this source's dead letters
    /// from before, `tried` of those that this very pass could not read.
    pub(super) async fn sweep(
        &self,
        tracker: &dyn Tracker,
        letters: &HashSet<TicketKey>,
        tried: &HashSet<TicketKey>,
        record: &mut Record,
    ) -> Result<(), HarvestError> {
        // A place that cannot be read at all would look empty.
        let check = self.source.check();
        let halt = self.persist.halt().token();
        halt.run_until_cancelled(check)
            .await
            .unwrap_or(Err(SourceError::Stopped))
            .map_err(listing_failed)?;
        let (census, sightings) = self.count(tracker).await?;
        record.warn(census.warnings.iter().cloned());
        let mut known = HashMap::new();
        for scope in &census.scopes {
            let selection = Selection {
                provenance: Some(scope.provenance),
                source: Some(scope.source.clone()),
                scope: Some(scope.scope.clone()),
                ticket: None,
            };
            let there = self.persist.run(|| self.log.known(&selection)).await?;
            known.extend(there.into_iter().map(|ticket| (ticket.key.clone(), ticket)));
        }
        let mut failures = Failures::default();
        for sighting in &sightings {
            let key = &sighting.key;
            let is_fine = is_current(sighting, known.get(key)) && !letters.contains(key);
            if is_fine || tried.contains(key) {
                continue;
            }
            let wanted = Wanted {
                key: Some(sighting.key.clone()),
                names: vec![sighting.name.clone()],
            };
            self.mend(tracker, wanted, record, &mut failures).await?;
        }
        self.remove_absent(tracker, &sightings, &known, record, &mut failures)
            .await?;
        let seen: HashSet<&TicketKey> = sightings.iter().map(|s| &s.key).collect();
        for key in letters.iter().filter(|key| !seen.contains(key)) {
            self.persist
                .run(|| self.log.resolve_dead(STAGE, key))
                .await?;
        }
        failures.outcome()
    }

    async fn count(&self, tracker: &dyn Tracker) -> Result<(Census, Vec<Sighting>), HarvestError> {
        let (out, mut pages) = Sightings::channel(ROOM);
        let listing = async {
            let out = out;
            let counted = tracker.census(&out);
            let halted = self
                .persist
                .halt()
                .token()
                .run_until_cancelled(counted)
                .await;
            halted.unwrap_or(Err(SourceError::Stopped))
        };
        let taking = async {
            let mut sightings = Vec::new();
            while let Some(page) = pages.recv().await {
                sightings.extend(page);
            }
            sightings
        };
        let (census, sightings) = tokio::join!(listing, taking);
        Ok((census.map_err(listing_failed)?, sightings))
    }

    /// Asks for every ticket that the census lacks, unless they are too many.
    async fn remove_absent(
        &self,
        tracker: &dyn Tracker,
        sightings: &[Sighting],
        known: &HashMap<TicketKey, KnownTicket>,
        record: &mut Record,
        failures: &mut Failures,
    ) -> Result<(), HarvestError> {
        let seen: HashSet<TicketKey> = sightings.iter().map(|s| s.key.clone()).collect();
        let all: Vec<KnownTicket> = known.values().cloned().collect();
        let origins = [self.source.name().to_owned()];
        let percent = self.options.max_prune_percent;
        let mut absent = match deletions::plan(&all, &origins, &seen, percent) {
            Plan::Remove(absent) => absent,
            Plan::Refuse { absent, known } => {
                record.warn([deletions::refusal(
                    self.source.name(),
                    absent,
                    known,
                    percent,
                )]);
                return Ok(());
            }
        };
        absent.sort();
        for key in absent {
            let wanted = known.get(&key).map(wanted).unwrap_or_default();
            self.mend(tracker, wanted, record, failures).await?;
        }
        Ok(())
    }

    async fn mend(
        &self,
        tracker: &dyn Tracker,
        wanted: Wanted,
        record: &mut Record,
        failures: &mut Failures,
    ) -> Result<(), HarvestError> {
        match self.refetch(tracker, wanted, &mut record.counts).await {
            Ok(_) => Ok(()),
            Err(HarvestError::Source(error)) => failures.add(error),
            Err(error) => Err(error),
        }
    }

    /// Tries again what could not be read before, one ticket at a time.
    pub(super) async fn retry_letters(
        &self,
        tracker: &dyn Tracker,
        letters: &HashSet<TicketKey>,
        counts: &mut RunCounts,
    ) -> Result<(), HarvestError> {
        for key in letters {
            let Some(known) = self.persist.run(|| self.log.known_ticket(key)).await? else {
                // Never read so far: the next sweep knows its name.
                continue;
            };
            match self.refetch(tracker, wanted(&known), counts).await {
                Ok(_) | Err(HarvestError::Source(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn is_current(sighting: &Sighting, known: Option<&KnownTicket>) -> bool {
    known.is_some_and(|known| {
        known.live
            && known.mark.as_deref() == Some(sighting.mark.as_str())
            && known.names.last() == Some(&sighting.name)
    })
}

fn listing_failed(error: SourceError) -> HarvestError {
    match error {
        SourceError::Stopped => HarvestError::Stopped,
        other => HarvestError::Source(other),
    }
}

/// Tickets that could not be fetched: some are passed over, so that one does
/// not hold up all, and the sweep counts as failed.
#[derive(Default)]
struct Failures {
    count: usize,
    first: Option<SourceError>,
}

impl Failures {
    fn add(&mut self, error: SourceError) -> Result<(), HarvestError> {
        self.count += 1;
        if self.count >= MOST_FAILURES {
            return Err(HarvestError::Source(error));
        }
        self.first.get_or_insert(error);
        Ok(())
    }

    fn outcome(self) -> Result<(), HarvestError> {
        match self.first {
            None => Ok(()),
            Some(error) => Err(HarvestError::Source(error)),
        }
    }
}
