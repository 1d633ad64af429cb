//! Which tickets are gone, and when the listing is not to be believed.

use super::{HarvestError, Run, pass::Taken, record::Record, state::State};
use crate::{Absence, Listing};
use std::collections::HashSet;
use whence_contract::TicketKey;
use whence_log::{KnownTicket, Selection};

/// So many may always go at once.
const ALWAYS_REMOVED: usize = 5;

/// What to do in one scope.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Plan {
    /// These are gone; perhaps none.
    Remove(Vec<TicketKey>),
    /// So many of so many would go: nothing is removed.
    Refuse { absent: usize, known: usize },
}

/// Decides for one scope. `known` are the tickets that live there now by any
/// source; only those of `origins` are ours to remove.
pub(super) fn plan(
    known: &[KnownTicket],
    origins: &[String],
    seen: &HashSet<TicketKey>,
    max_percent: u8,
) -> Plan {
    let ours: Vec<&KnownTicket> = known
        .iter()
        .filter(|ticket| ticket.live && origins.contains(&ticket.origin))
        .collect();
    let absent: Vec<TicketKey> = ours
        .iter()
        .filter(|ticket| !seen.contains(&ticket.key))
        .map(|ticket| ticket.key.clone())
        .collect();
    let all_gone = absent.len() == ours.len() && !absent.is_empty();
    let many =
        absent.len() > ALWAYS_REMOVED && absent.len() * 100 > ours.len() * usize::from(max_percent);
    if many || (all_gone && max_percent < 100) {
        return Plan::Refuse {
            absent: absent.len(),
            known: ours.len(),
        };
    }
    Plan::Remove(absent)
}

impl Run<'_> {
    /// Removes from each scope what a complete listing lacks.
    pub(super) async fn remove(
        &self,
        record: &mut Record,
        after: &mut State,
        listing: &Listing,
        taken: &Taken,
        origins: &[String],
    ) -> Result<(), HarvestError> {
        let seen_before: HashSet<TicketKey> = after.absent.drain(..).collect();
        for scope in &listing.scopes {
            let selection = Selection {
                provenance: Some(scope.provenance),
                source: Some(scope.source.clone()),
                scope: Some(scope.scope.clone()),
                ticket: None,
            };
            let known = self.persist.run(|| self.log.known(&selection)).await?;
            let percent = self.options.max_prune_percent;
            let absent = match plan(&known, origins, &taken.seen, percent) {
                Plan::Remove(absent) => absent,
                Plan::Refuse { absent, known } => {
                    after.settled = false;
                    record.warn([refusal(&scope.to_string(), absent, known, percent)]);
                    continue;
                }
            };
            for key in absent {
                if listing.absence == Absence::SecondSight && !seen_before.contains(&key) {
                    after.settled = false;
                    after.absent.push(key);
                    continue;
                }
                let now = (self.options.clock)();
                let gone = self.persist.run(|| self.log.tombstone(&key, now)).await?;
                record.counts.deleted += u64::from(gone.is_some());
                (self.progress)(record.counts);
            }
        }
        Ok(())
    }
}

/// Why nothing was removed, and what to do.
pub(super) fn refusal(place: &str, absent: usize, known: usize, percent: u8) -> String {
    format!(
        "{place}: {absent} of {known} known tickets are not there any more; none was removed, \
         because that is all of them or more than {percent} %. If they are really gone, harvest \
         again with --max-prune {}",
        needed_percent(absent, known)
    )
}

/// The least percentage that allows `absent` of `known`.
fn needed_percent(absent: usize, known: usize) -> usize {
    (absent * 100).div_ceil(known.max(1)).min(100)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use proptest::prelude::*;
    use whence_contract::{Provenance, Revision};

    fn known(number: usize, origin: &str) -> KnownTicket {
        KnownTicket {
            key: TicketKey {
                provenance: Provenance::Upstream,
                source: "github".into(),
                scope: "acme/kiln".into(),
                ticket: number.to_string(),
            },
            live: true,
            origin: origin.into(),
            revision: Revision(1),
            names: Vec::new(),
            mark: None,
        }
    }

    proptest! {
        #[test]
        fn never_more_than_allowed_and_never_what_is_seen_or_another_s(
            ours in 0_usize..60, theirs in 0_usize..20, seen in 0_usize..60, percent in 0_u8..=100,
        ) {
            let mut all: Vec<_> = (0..ours).map(|n| known(n, "a")).collect();
            all.extend((0..theirs).map(|n| known(100 + n, "b")));
            let there: HashSet<_> = all.iter().take(seen.min(ours)).map(|t| t.key.clone()).collect();
            let absent = ours - there.len();
            match plan(&all, &["a".to_owned()], &there, percent) {
                Plan::Remove(gone) => {
                    prop_assert_eq!(gone.len(), absent);
                    prop_assert!(gone.iter().all(|key| !there.contains(key)));
                    prop_assert!(absent <= ALWAYS_REMOVED || absent * 100 <= ours * usize::from(percent));
                    prop_assert!(absent == 0 || absent < ours || percent == 100);
                }
                Plan::Refuse { absent: refused, known } => {
                    prop_assert_eq!((refused, known), (absent, ours));
                    // The flag that the warning names is enough.
                    let enough = u8::try_from(needed_percent(absent, known)).unwrap();
                    let again = plan(&all, &["a".to_owned()], &there, enough);
                    prop_assert!(matches!(again, Plan::Remove(_)));
                }
            }
        }
    }
}
