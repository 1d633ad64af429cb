//! One pass over the files of an archive source.

use super::{
    SYSTEM, item,
    place::{ArchiveFile, Files},
    scan::{Broken, Piece, Scanner},
    survey::{self, Survey},
};
use crate::{Absence, Batches, Item, Listing, Scope, Since, SourceError, Unreadable};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use whence_contract::{Provenance, RawTicket, Timestamp};

/// Items of a batch.
const BATCH: usize = 64;
/// As much of a bad item as is handed on.
const KEPT_BYTES: usize = 256 << 10;

/// What the next pass gets back. Files are compared by content, never by time:
/// a copied or checked-out file is as old as its copy.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Cursor {
    root: String,
    files: BTreeMap<String, Known>,
    /// Every repository that was ever found here: one that is not here any more
    /// is gone, and stays in question until its tickets are removed.
    #[serde(default)]
    repos: BTreeSet<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Known {
    sha256: String,
    /// The repository it held; none where it was no archive.
    repo: Option<String>,
}

/// What one pass needs.
pub(super) struct Pass {
    pub(super) origin: String,
    pub(super) fetched_at: Timestamp,
    pub(super) out: Batches,
}

impl Pass {
    /// Sends all tickets of all files, unless no file has changed.
    pub(super) fn run(self, place: &Files, since: &Since) -> Result<Listing, SourceError> {
        let before: Cursor = since
            .cursor
            .clone()
            .and_then(|cursor| serde_json::from_value(cursor).ok())
            .filter(|cursor: &Cursor| cursor.root == place.root)
            .unwrap_or_default();
        let mut cursor = Cursor {
            root: place.root.clone(),
            files: BTreeMap::new(),
            repos: before.repos.clone(),
        };
        for file in &place.files {
            let known = Known {
                sha256: survey::hash(&file.path).map_err(|error| {
                    SourceError::because(format!("cannot read {}", file.shown), error)
                })?,
                repo: before.files.get(&file.shown).and_then(|f| f.repo.clone()),
            };
            cursor.files.insert(file.shown.clone(), known);
        }
        if !since.whole && before == cursor {
            return Ok(Listing {
                unchanged: true,
                cursor: encode(&cursor)?,
                ..Listing::default()
            });
        }

        let mut listing = Listing {
            absence: Absence::AtOnce,
            ..Listing::default()
        };
        let mut archives = BTreeMap::new();
        for file in &place.files {
            match survey::survey(&file.path) {
                Ok(survey) => self.choose(&mut archives, file, survey, &mut listing),
                Err(cause) if place.is_folder => {
                    self.refuse(file, &cause)?;
                    // It may be the remains of an archive that is known.
                    let held = cursor
                        .files
                        .get(&file.shown)
                        .is_some_and(|f| f.repo.is_some());
                    if held {
                        listing.incomplete(format!("{}: {cause}", file.shown));
                    }
                }
                Err(cause) => return Err(SourceError::bare(format!("{}: {cause}", file.shown))),
            }
        }
        for (repo, (file, survey)) in &archives {
            self.send(file, survey, &mut listing)?;
            cursor.repos.insert(repo.clone());
            if let Some(known) = cursor.files.get_mut(&file.shown) {
                known.repo = Some(repo.clone());
            }
        }
        self.changed_meanwhile(place, &cursor, &mut listing)?;
        listing.scopes = cursor.repos.iter().map(|repo| scope(repo)).collect();
        listing.cursor = encode(&cursor)?;
        Ok(listing)
    }

    /// Of two archives of one repository the one made later counts.
    fn choose<'a>(
        &self,
        archives: &mut BTreeMap<String, (&'a ArchiveFile, Survey)>,
        file: &'a ArchiveFile,
        survey: Survey,
        listing: &mut Listing,
    ) {
        let repo = survey.repo.clone();
        let Some((other, standing)) = archives.remove(&repo) else {
            archives.insert(repo, (file, survey));
            return;
        };
        let kept = if survey.timestamp >= standing.timestamp {
            (file, survey)
        } else {
            (other, standing)
        };
        listing.warnings.push(format!(
            "{} and {} both hold {repo}: {} was made later and counts, the other is passed over",
            other.shown, file.shown, kept.0.shown
        ));
        archives.insert(repo, kept);
    }

    fn send(
        &self,
        file: &ArchiveFile,
        survey: &Survey,
        listing: &mut Listing,
    ) -> Result<(), SourceError> {
        let reader = survey::open(&file.path)
            .map_err(|error| SourceError::because(format!("cannot read {}", file.shown), error))?;
        let mut scanner = Scanner::new(reader, item::LISTS);
        let mut batch = Vec::new();
        let mut ordinal = 0;
        let broken = loop {
            match scanner.next() {
                Ok(None) => break None,
                Err(broken) => break Some(broken),
                Ok(Some(Piece::Field { .. })) => {}
                Ok(Some(Piece::Item { list, index, bytes })) => {
                    if let Some(item) =
                        self.item(file, survey, list, index, ordinal, &bytes, listing)
                    {
                        batch.push(item);
                    }
                    ordinal += 1;
                    if batch.len() == BATCH {
                        self.out.send_blocking(std::mem::take(&mut batch))?;
                    }
                }
            }
        };
        if survey.repeated > 0 {
            listing.warnings.push(format!(
                "{}: {} numbers come again further down; the last of each counts",
                file.shown, survey.repeated
            ));
        }
        if ordinal == 0 {
            listing.warnings.push(format!(
                "{}: {} has neither issues nor pull requests in it",
                file.shown, survey.repo
            ));
        }
        if let Some(Broken { byte, cause }) = broken {
            let cause = format!("it breaks off at byte {byte}, after {ordinal} items: {cause}");
            listing.incomplete(format!("{}: {cause}", file.shown));
            batch.push(Item::Unreadable(Unreadable {
                key: None,
                location: file.shown.clone(),
                causes: vec![cause],
                bytes: Vec::new(),
                size: 0,
            }));
        }
        self.out.send_blocking(batch)
    }

    #[expect(
        clippy::too_many_arguments,
        reason = "the place of one item, spelled out"
    )]
    fn item(
        &self,
        file: &ArchiveFile,
        survey: &Survey,
        list: &str,
        index: u64,
        ordinal: u64,
        bytes: &[u8],
        listing: &mut Listing,
    ) -> Option<Item> {
        let location = format!("{}, {list}[{index}]", file.shown);
        match item::read(bytes) {
            Ok((_, number)) if survey.last.get(&number).is_some_and(|last| *last > ordinal) => None,
            Ok((json, number)) => Some(Item::Ticket {
                key: item::key(&survey.repo, number),
                raw: RawTicket {
                    location: Some(file.shown.clone()),
                    ..RawTicket::new(
                        item::dialect(list),
                        &self.origin,
                        self.fetched_at,
                        item::payload(json),
                    )
                },
            }),
            Err(cause) => {
                // Perhaps a known ticket: then its absence means nothing.
                listing.incomplete(format!("{location}: {cause}"));
                Some(Item::Unreadable(Unreadable {
                    key: None,
                    location,
                    causes: vec![cause],
                    bytes: bytes.get(..KEPT_BYTES).unwrap_or(bytes).to_vec(),
                    size: bytes.len() as u64,
                }))
            }
        }
    }

    /// A file of the folder that is no archive.
    fn refuse(&self, file: &ArchiveFile, cause: &str) -> Result<(), SourceError> {
        self.out.send_blocking(vec![Item::Unreadable(Unreadable {
            key: None,
            location: file.shown.clone(),
            causes: vec![cause.to_owned()],
            bytes: Vec::new(),
            size: std::fs::metadata(&file.path).map_or(0, |m| m.len()),
        })])
    }

    /// A file written to while it was read is half of each state.
    fn changed_meanwhile(
        &self,
        place: &Files,
        cursor: &Cursor,
        listing: &mut Listing,
    ) -> Result<(), SourceError> {
        for file in &place.files {
            let now = survey::hash(&file.path).map_err(|error| {
                SourceError::because(format!("cannot read {}", file.shown), error)
            })?;
            if cursor.files.get(&file.shown).map(|f| &f.sha256) != Some(&now) {
                listing.incomplete(format!("{} changed while it was read", file.shown));
            }
        }
        Ok(())
    }
}

fn scope(repo: &str) -> Scope {
    Scope {
        provenance: Provenance::Upstream,
        source: SYSTEM.to_owned(),
        scope: repo.to_owned(),
    }
}

fn encode(cursor: &Cursor) -> Result<serde_json::Value, SourceError> {
    serde_json::to_value(cursor)
        .map_err(|error| SourceError::because("cannot encode the cursor", error))
}
