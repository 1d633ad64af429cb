//! What the runner makes of a tracker: changes, sweeps, wishes, and what it
//! does not believe.

use crate::{
    fixture::clock,
    runner::{live, log},
};
use async_trait::async_trait;
use serde_json::{json, value::RawValue};
use std::{collections::BTreeMap, sync::Mutex, time::Duration};
use tokio_util::sync::CancellationToken;
use whence_contract::{Dialect, Provenance, RawTicket, TicketKey};
use whence_harvest::{
    Batch, Batches, Census, Coverage, Fetched, Identity, Item, Listing, RunOptions, Scope,
    Sighting, Sightings, Since, Source, SourceError, Tracker, Unreadable, Wanted, grant_wishes,
    run_once,
};
use whence_log::{Log, RunRecord, RunStatus, Want, WantAnswer};

const NAME: &str = "fake:acme";

#[derive(Clone)]
struct Ticket {
    name: String,
    body: String,
    /// Position in the order of changes.
    time: u64,
    comments: u64,
}

/// A service in memory, with switches for its moods.
#[derive(Default)]
struct Fake {
    tickets: Mutex<BTreeMap<u64, Ticket>>,
    moods: Mutex<Moods>,
}

#[derive(Clone, Default)]
struct Moods {
    /// Nothing can be read at all.
    denied: bool,
    /// The census leaves these out, though they are there.
    hidden: Vec<u64>,
    /// A fetch of these fails.
    broken: Vec<u64>,
    /// These cannot be read.
    garbled: Vec<u64>,
    /// Under these numbers the service gives the ticket of another.
    moved: BTreeMap<u64, u64>,
    fetches: u64,
}

fn key(number: u64) -> TicketKey {
    TicketKey {
        provenance: Provenance::Upstream,
        source: "fake".into(),
        scope: "fake.example".into(),
        ticket: format!("id-{number}"),
    }
}

fn number(key: &TicketKey) -> u64 {
    key.ticket.trim_start_matches("id-").parse().unwrap()
}

impl Fake {
    fn with(numbers: std::ops::RangeInclusive<u64>) -> Self {
        let fake = Self::default();
        for number in numbers {
            fake.put(number, "first", number);
        }
        fake
    }

    fn put(&self, number: u64, body: &str, time: u64) {
        let ticket = Ticket {
            name: format!("ACME-{number}"),
            body: body.to_owned(),
            time,
            comments: 0,
        };
        self.tickets.lock().unwrap().insert(number, ticket);
    }

    fn change(&self, number: u64, change: impl Fn(&mut Ticket)) {
        change(self.tickets.lock().unwrap().get_mut(&number).unwrap());
    }

    fn drop(&self, number: u64) {
        self.tickets.lock().unwrap().remove(&number);
    }

    fn mood(&self, change: impl Fn(&mut Moods)) {
        change(&mut self.moods.lock().unwrap());
    }

    fn item(&self, number: u64, ticket: &Ticket) -> Item {
        if self.moods.lock().unwrap().garbled.contains(&number) {
            return Item::Unreadable(Unreadable {
                key: Some(key(number)),
                location: ticket.name.clone(),
                causes: vec!["garbled".into()],
                bytes: Vec::new(),
                size: 0,
            });
        }
        let payload = json!({"body": ticket.body, "comments": ticket.comments});
        let payload = RawValue::from_string(payload.to_string()).unwrap();
        let mut raw = RawTicket::new(Dialect::WhenceDocument, NAME, clock(), payload);
        raw.names = vec![ticket.name.clone()];
        raw.mark = Some(mark(ticket));
        Item::Ticket {
            key: key(number),
            raw,
        }
    }

    fn denied(&self) -> Result<(), SourceError> {
        match self.moods.lock().unwrap().denied {
            true => Err(refused("401")),
            false => Ok(()),
        }
    }
}

fn mark(ticket: &Ticket) -> String {
    format!("{}/{}", ticket.time, ticket.comments)
}

fn refused(what: &str) -> SourceError {
    SourceError::Unavailable {
        what: what.to_owned(),
        source: None,
    }
}

#[async_trait]
impl Source for Fake {
    fn name(&self) -> &str {
        NAME
    }

    async fn check(&self) -> Result<(), SourceError> {
        self.denied()
    }

    async fn list(&self, since: Since, out: &Batches) -> Result<Listing, SourceError> {
        self.denied()?;
        let from = match since.whole {
            true => 0,
            false => since.cursor.and_then(|c| c.as_u64()).unwrap_or(0),
        };
        let mut changed: Vec<(u64, Ticket)> = self
            .tickets
            .lock()
            .unwrap()
            .iter()
            .filter(|(_, ticket)| ticket.time >= from)
            .map(|(number, ticket)| (*number, ticket.clone()))
            .collect();
        changed.sort_by_key(|(number, ticket)| (ticket.time, *number));
        let mut last = from;
        for (number, ticket) in changed {
            last = ticket.time;
            out.send(Batch {
                items: vec![self.item(number, &ticket)],
                cursor: Some(json!(last)),
            })
            .await?;
        }
        Ok(Listing {
            coverage: Coverage::Changes,
            cursor: json!(last),
            ..Listing::default()
        })
    }

    fn tracker(&self) -> Option<&dyn Tracker> {
        Some(self)
    }
}

#[async_trait]
impl Tracker for Fake {
    fn covers(&self, name: &str) -> bool {
        name.starts_with("ACME-")
    }

    async fn fetch(&self, wanted: &Wanted) -> Result<Fetched, SourceError> {
        self.denied()?;
        self.mood(|moods| moods.fetches += 1);
        let asked = match &wanted.key {
            Some(key) => number(key),
            None => wanted.names[0].trim_start_matches("ACME-").parse().unwrap(),
        };
        let moods = self.moods.lock().unwrap().clone();
        if moods.broken.contains(&asked) {
            return Err(refused("500"));
        }
        let number = moods.moved.get(&asked).copied().unwrap_or(asked);
        let ticket = self.tickets.lock().unwrap().get(&number).cloned();
        Ok(match ticket {
            Some(ticket) => Fetched::Present(self.item(number, &ticket)),
            None => Fetched::Gone,
        })
    }

    async fn census(&self, out: &Sightings) -> Result<Census, SourceError> {
        self.denied()?;
        let hidden = self.moods.lock().unwrap().hidden.clone();
        let tickets = self.tickets.lock().unwrap().clone();
        for (number, ticket) in tickets {
            if !hidden.contains(&number) {
                out.send(vec![Sighting {
                    key: key(number),
                    mark: mark(&ticket),
                    name: ticket.name,
                    comments: Some(ticket.comments),
                }])
                .await?;
            }
        }
        Ok(Census {
            scopes: vec![Scope {
                provenance: Provenance::Upstream,
                source: "fake".into(),
                scope: "fake.example".into(),
            }],
            warnings: Vec::new(),
        })
    }

    async fn identify(&self) -> Result<Identity, SourceError> {
        self.denied().map(|()| Identity::default())
    }
}

async fn run(log: &Log, fake: &Fake, sweep: bool) -> RunRecord {
    let options = RunOptions {
        sweep_after: if sweep { Duration::ZERO } else { Duration::MAX },
        ..RunOptions::default()
    };
    let stop = CancellationToken::new();
    run_once(log, fake, &options, &stop, &|_| ()).await.unwrap()
}

async fn body(log: &Log, number: u64) -> Option<String> {
    let raw = log.raw(&key(number)).await.unwrap()?;
    Some(raw.payload.get().to_owned())
}

#[tokio::test]
async fn a_pass_takes_changes_and_a_sweep_what_moved_no_time() {
    let (log, _servers) = log().await;
    let fake = Fake::with(1..=30);
    let first = run(&log, &fake, false).await;
    assert_eq!(
        (first.counts.published, first.status),
        (30, RunStatus::Succeeded)
    );
    // Only what is at the cursor comes again.
    let idle = run(&log, &fake, false).await;
    assert_eq!((idle.counts.listed, idle.counts.published), (1, 0));

    fake.put(7, "edited", 31);
    let edited = run(&log, &fake, false).await;
    assert_eq!((edited.counts.listed, edited.counts.published), (2, 1));

    // A comment is gone, and no time moved.
    fake.change(9, |ticket| ticket.comments = 5);
    assert_eq!(run(&log, &fake, false).await.counts.published, 0);
    fake.mood(|moods| moods.fetches = 0);
    assert_eq!(run(&log, &fake, true).await.counts.published, 1);
    assert!(body(&log, 9).await.unwrap().contains('5'));
    assert_eq!(
        fake.moods.lock().unwrap().fetches,
        1,
        "one differed, one is fetched"
    );

    // Deleted: no pass sees it, the sweep asks and removes.
    fake.drop(3);
    assert_eq!(run(&log, &fake, false).await.counts.deleted, 0);
    assert_eq!(run(&log, &fake, true).await.counts.deleted, 1);
    assert_eq!(live(&log).await.len(), 29);
}

#[tokio::test]
async fn a_sweep_removes_only_what_the_service_says_is_gone() {
    let (log, _servers) = log().await;
    let fake = Fake::with(1..=30);
    run(&log, &fake, true).await;

    // The census lacks one that is there: it stays.
    fake.mood(|moods| moods.hidden = vec![4]);
    let lacking = run(&log, &fake, true).await;
    assert_eq!((lacking.counts.deleted, live(&log).await.len()), (0, 30));
    // Far fewer than known, or none: not believed.
    fake.mood(|moods| moods.hidden = (1..=20).collect());
    let short = run(&log, &fake, true).await;
    assert!(short.warnings[0].contains("20 of 30") && short.warnings[0].contains("--max-prune"));
    fake.mood(|moods| moods.hidden = (1..=30).collect());
    let empty = run(&log, &fake, true).await;
    assert!(empty.warnings[0].contains("30 of 30"), "{empty:?}");
    fake.mood(|moods| {
        *moods = Moods {
            denied: true,
            ..Moods::default()
        }
    });
    let denied = run(&log, &fake, true).await;
    assert_eq!(
        (denied.status, denied.counts.deleted),
        (RunStatus::Failed, 0)
    );
    assert_eq!(live(&log).await.len(), 30);

    // One that cannot be asked for stays, and the next sweep asks again.
    fake.mood(|moods| {
        *moods = Moods {
            broken: vec![5],
            ..Moods::default()
        }
    });
    fake.drop(5);
    fake.drop(6);
    let half = run(&log, &fake, true).await;
    assert_eq!((half.status, half.counts.deleted), (RunStatus::Failed, 1));
    fake.mood(|moods| *moods = Moods::default());
    assert_eq!(
        run(&log, &fake, false).await.counts.deleted,
        1,
        "the sweep is still due"
    );
    assert_eq!(live(&log).await.len(), 28);
}

#[tokio::test]
async fn what_cannot_be_read_is_tried_again_and_holds_nothing_up() {
    let (log, _servers) = log().await;
    let fake = Fake::with(1..=5);
    fake.mood(|moods| moods.garbled = vec![2]);
    let first = run(&log, &fake, false).await;
    assert_eq!((first.counts.published, first.counts.unreadable), (4, 1));
    let letters = async || log.dead_letters(&Default::default()).await.unwrap().len();
    assert_eq!(letters().await, 1);
    fake.mood(|moods| *moods = Moods::default());
    let healed = run(&log, &fake, true).await;
    assert_eq!(healed.counts.published, 1);
    assert_eq!((letters().await, live(&log).await.len()), (0, 5));
    // Known before, garbled later: the old state stands until it can be read.
    fake.mood(|moods| moods.garbled = vec![3]);
    fake.put(3, "second", 9);
    run(&log, &fake, false).await;
    assert!(letters().await == 1 && body(&log, 3).await.unwrap().contains("first"));
    fake.mood(|moods| *moods = Moods::default());
    fake.put(4, "and on", 10);
    run(&log, &fake, false).await;
    run(&log, &fake, false).await;
    assert!(letters().await == 0 && body(&log, 3).await.unwrap().contains("second"));
}

#[tokio::test]
async fn a_ticket_with_a_new_identity_stays_one_and_keeps_its_names() {
    let (log, _servers) = log().await;
    let fake = Fake::with(1..=10);
    run(&log, &fake, true).await;
    // Renamed: the same identity under another name.
    fake.change(2, |ticket| ticket.name = "OTHER-2".into());
    run(&log, &fake, true).await;
    let names = async |number| {
        let known = log.known_ticket(&key(number)).await.unwrap().unwrap();
        (known.live, known.names)
    };
    assert_eq!(
        names(2).await,
        (true, vec!["ACME-2".into(), "OTHER-2".into()])
    );
    assert_eq!(log.raw(&key(2)).await.unwrap().unwrap().names.len(), 2);
    // Moved: the service gives it another identity.
    fake.drop(3);
    fake.put(77, "first", 40);
    fake.mood(|moods| moods.moved = BTreeMap::from([(3, 77)]));
    run(&log, &fake, true).await;
    assert!(!names(3).await.0);
    assert_eq!(
        names(77).await,
        (true, vec!["ACME-3".into(), "ACME-77".into()])
    );
    assert_eq!(live(&log).await.len(), 10);
}

#[tokio::test]
async fn wishes_and_worked_tickets_are_fetched_whatever_their_times_say() {
    let (log, _servers) = log().await;
    let fake = Fake::with(1..=5);
    run(&log, &fake, true).await;
    let want = |name: &str| Want {
        source: NAME.into(),
        name: name.into(),
        asked_at: whence_contract::Timestamp::now(),
        answer: None,
    };
    fake.change(2, |ticket| ticket.body = "changed in silence".into());
    for name in ["acme-2", "ACME-99"] {
        log.want(&want(name)).await.unwrap();
    }
    let (options, stop) = (RunOptions::default(), CancellationToken::new());
    let counts = grant_wishes(&log, &fake, &options, &stop).await.unwrap();
    assert_eq!(counts.published, 1);
    let answer = async |name: &str| {
        log.wanted(NAME, name)
            .await
            .unwrap()
            .unwrap()
            .answer
            .unwrap()
    };
    assert!(matches!(answer("acme-2").await, WantAnswer::Fetched { .. }));
    assert_eq!(answer("ACME-99").await, WantAnswer::Unknown);
    assert!(log.wants(NAME).await.unwrap().is_empty());
    assert!(body(&log, 2).await.unwrap().contains("silence"));
    // Refused: said, and nothing is taken for deleted.
    fake.mood(|moods| moods.denied = true);
    log.want(&want("ACME-3")).await.unwrap();
    grant_wishes(&log, &fake, &options, &stop).await.unwrap();
    assert!(matches!(answer("ACME-3").await, WantAnswer::Failed { why } if why.contains("401")));
    fake.mood(|moods| moods.denied = false);
    assert_eq!(live(&log).await.len(), 5);

    fake.change(4, |ticket| ticket.body = "worked on".into());
    let worked = RunOptions {
        worked: vec!["ACME-4".into(), "PROJ-1".into()],
        sweep_after: Duration::MAX,
        ..RunOptions::default()
    };
    let run = run_once(&log, &fake, &worked, &stop, &|_| ())
        .await
        .unwrap();
    assert_eq!(run.counts.published, 1);
    assert!(body(&log, 4).await.unwrap().contains("worked on"));
}
