//! `wiki:<folder>` and `wiki:NAME=<folder>`: every Markdown file below a folder
//! is a ticket, known by its path.

mod walk;

use super::{Kind, Opening};
use crate::{Batches, Claim, Clock, Item, Listing, Scope, Since, Source, SourceError, Unreadable};
use async_trait::async_trait;
use serde_json::{Value, value::RawValue};
use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};
use walk::{Found, Walk};
use whence_contract::{Dialect, Provenance, RawTicket, TicketKey, Timestamp};

pub(super) const KIND: Kind = Kind {
    name: "wiki",
    usage: "wiki:<folder> or wiki:NAME=<folder>",
    check: |place| match split(place) {
        (alias, folder)
            if alias.is_some_and(|alias| alias.trim().is_empty()) || folder.trim().is_empty() =>
        {
            Err("either the wiki's name or its folder is missing beside the `=`".into())
        }
        _ => Ok(()),
    },
    open,
    settings: None,
    hook: None,
};

fn open(name: &str, place: &str, opening: &Opening) -> Result<Box<dyn Source>, SourceError> {
    let (alias, folder) = split(place);
    Ok(Box::new(Wiki {
        name: name.to_owned(),
        alias: alias.map(str::to_owned),
        folder: PathBuf::from(folder),
        clock: opening.clock,
    }))
}

/// The wiki's name, where one is given, and its folder.
fn split(place: &str) -> (Option<&str>, &str) {
    match place.split_once('=') {
        // A folder may have `=` in its path.
        Some((alias, folder)) if !alias.contains(['/', '\\']) => (Some(alias), folder),
        _ => (None, place),
    }
}

/// The system that notes belong to.
const SYSTEM: &str = "wiki";
/// A note beyond this is no prose.
const LARGEST_NOTE: u64 = 10 << 20;
/// Notes of a batch.
const BATCH: usize = 32;

struct Wiki {
    name: String,
    alias: Option<String>,
    folder: PathBuf,
    clock: Clock,
}

impl Wiki {
    /// The folder by its one true path.
    fn root(&self) -> Result<PathBuf, SourceError> {
        let root = fs::canonicalize(&self.folder).map_err(|error| {
            SourceError::because(
                format!(
                    "cannot read the wiki folder {}; does it exist, and may this user read it?",
                    self.folder.display()
                ),
                error,
            )
        })?;
        if root.is_dir() {
            Ok(root)
        } else {
            Err(SourceError::bare(format!(
                "{} is a file; a wiki is a folder of Markdown files",
                self.folder.display()
            )))
        }
    }

    /// The wiki's name: as configured, else the folder's.
    fn scope(&self, root: &Path) -> Result<String, SourceError> {
        if let Some(alias) = &self.alias {
            return Ok(alias.clone());
        }
        let name = root.file_name().ok_or_else(|| {
            SourceError::bare(format!(
                "{} has no name of its own; write wiki:NAME={0}",
                root.display()
            ))
        })?;
        Ok(name.to_string_lossy().into_owned())
    }
}

#[async_trait]
impl Source for Wiki {
    fn name(&self) -> &str {
        &self.name
    }

    fn claim(&self) -> Result<Option<Claim>, SourceError> {
        let root = self.root()?;
        let scope = self.scope(&root)?;
        Ok(Some(Claim {
            what: format!("{SYSTEM}/{scope}"),
            owner: root.display().to_string(),
            remedy: format!(
                "give this one a name of its own: wiki:NAME={}",
                self.folder.display()
            ),
        }))
    }

    async fn check(&self) -> Result<(), SourceError> {
        let root = self.root()?;
        fs::read_dir(&root).map(drop).map_err(|error| {
            SourceError::because(format!("cannot read the folder {}", root.display()), error)
        })
    }

    async fn list(&self, _since: Since, out: &Batches) -> Result<Listing, SourceError> {
        let root = self.root()?;
        let pass = Pass {
            scope: self.scope(&root)?,
            root,
            shown: self.folder.clone(),
            origin: self.name.clone(),
            fetched_at: (self.clock)(),
            out: out.clone(),
        };
        tokio::task::spawn_blocking(move || pass.run())
            .await
            .map_err(|error| SourceError::because("reading the wiki was aborted", error))?
    }
}

struct Pass {
    scope: String,
    root: PathBuf,
    shown: PathBuf,
    origin: String,
    fetched_at: Timestamp,
    out: Batches,
}

impl Pass {
    fn run(self) -> Result<Listing, SourceError> {
        let mut listing = Listing {
            cursor: Value::Null,
            scopes: vec![Scope {
                provenance: Provenance::Wiki,
                source: SYSTEM.to_owned(),
                scope: self.scope.clone(),
            }],
            ..Listing::default()
        };
        let mut batch = Vec::new();
        let (mut notes, mut links) = (0_u64, 0_u64);
        for found in Walk::new(&self.root) {
            match found {
                Found::Note(path) => {
                    notes += 1;
                    batch.extend(self.note(&path, &mut listing.warnings));
                }
                Found::Link => links += 1,
                Found::Unreadable(path, error) => {
                    let location = self.shown.join(&path).display().to_string();
                    listing.incomplete(format!("{location}: {error}"));
                    batch.push(unreadable(None, location, error.to_string(), 0));
                }
            }
            if batch.len() >= BATCH {
                self.out.send_blocking(std::mem::take(&mut batch))?;
            }
        }
        self.out.send_blocking(batch)?;
        if links > 0 {
            listing.warnings.push(format!(
                "{}: {links} symbolic links were not followed",
                self.shown.display()
            ));
        }
        if notes == 0 {
            listing.warnings.push(format!(
                "{}: no *.md and no *.markdown lies below it",
                self.shown.display()
            ));
        }
        Ok(listing)
    }

    /// `None` where the file went away since it was seen.
    fn note(&self, path: &Path, warnings: &mut Vec<String>) -> Option<Item> {
        let ticket = slashed(path);
        let key = TicketKey {
            provenance: Provenance::Wiki,
            source: SYSTEM.to_owned(),
            scope: self.scope.clone(),
            ticket: ticket.clone(),
        };
        let location = self.shown.join(path).display().to_string();
        let full = self.root.join(path);
        let size = fs::metadata(&full).map_or(0, |m| m.len());
        if size > LARGEST_NOTE {
            let cause = format!("it has {size} bytes; a note may have {LARGEST_NOTE}");
            return Some(unreadable(Some(key), location, cause, size));
        }
        let bytes = match read_bounded(&full) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            Err(error) => {
                return Some(unreadable(Some(key), location, error.to_string(), size));
            }
        };
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                warnings.push(format!(
                    "{location}: not UTF-8 from byte {} on; such bytes show as \u{FFFD}",
                    error.utf8_error().valid_up_to()
                ));
                String::from_utf8_lossy(error.as_bytes()).into_owned()
            }
        };
        let payload = serde_json::json!({ "path": ticket, "text": text }).to_string();
        match RawValue::from_string(payload) {
            Ok(payload) => Some(Item::Ticket {
                key,
                raw: RawTicket {
                    location: Some(location),
                    ..RawTicket::new(
                        Dialect::MarkdownNote,
                        &self.origin,
                        self.fetched_at,
                        payload,
                    )
                },
            }),
            Err(error) => Some(unreadable(Some(key), location, error.to_string(), size)),
        }
    }
}

fn unreadable(key: Option<TicketKey>, location: String, cause: String, size: u64) -> Item {
    Item::Unreadable(Unreadable {
        key,
        location,
        causes: vec![cause],
        bytes: Vec::new(),
        size,
    })
}

/// A note's identity: its path below the root, the same on every system.
fn slashed(path: &Path) -> String {
    let parts: Vec<_> = path
        .components()
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    parts.join("/")
}

/// The file's bytes; a file that grows while it is read is cut at the bound.
fn read_bounded(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?
        .take(LARGEST_NOTE)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}
