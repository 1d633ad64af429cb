//! `ticket:<file.json>`: one document in Whence's own shape, or a list of them.

use super::{Kind, Opening};
use crate::{Batches, Clock, Item, Listing, Scope, Since, Source, SourceError, Unreadable};
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::{collections::BTreeSet, path::PathBuf};
use whence_contract::{Dialect, Document, Provenance, RawTicket, TicketKey, TicketKind};

pub(super) const KIND: Kind = Kind {
    name: "ticket",
    usage: "ticket:<file.json>",
    check: |_| Ok(()),
    open,
    settings: None,
    hook: None,
};

fn open(name: &str, place: &str, opening: &Opening) -> Result<Box<dyn Source>, SourceError> {
    Ok(Box::new(Ticket {
        name: name.to_owned(),
        path: PathBuf::from(place),
        clock: opening.clock,
    }))
}

/// A file for trying things out is not larger.
const LARGEST_FILE: u64 = 64 << 20;

struct Ticket {
    name: String,
    path: PathBuf,
    clock: Clock,
}

/// Which scopes the file spoke for: tickets that left it are gone from these.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Cursor {
    path: String,
    scopes: BTreeSet<Scope>,
}

impl Ticket {
    async fn read(&self) -> Result<Vec<u8>, SourceError> {
        let shown = self.path.display();
        let unreadable = |error| {
            SourceError::because(
                format!("cannot read {shown}; does it exist, and may this user read it?"),
                error,
            )
        };
        let found = tokio::fs::metadata(&self.path).await.map_err(unreadable)?;
        if !found.is_file() {
            return Err(SourceError::bare(format!("{shown} is not a file")));
        }
        let size = found.len();
        if size > LARGEST_FILE {
            return Err(SourceError::bare(format!(
                "{shown} has {size} bytes; a ticket file may have {LARGEST_FILE}"
            )));
        }
        tokio::fs::read(&self.path).await.map_err(unreadable)
    }

    /// The file's documents as JSON texts.
    fn split<'a>(&self, bytes: &'a [u8]) -> Result<Vec<&'a RawValue>, SourceError> {
        let failed = |error| {
            SourceError::because(format!("{} is not valid JSON", self.path.display()), error)
        };
        let whole: &RawValue = serde_json::from_slice(bytes).map_err(failed)?;
        match whole.get().as_bytes().first() {
            Some(b'{') => Ok(vec![whole]),
            Some(b'[') => serde_json::from_str(whole.get()).map_err(failed),
            _ => Err(SourceError::bare(format!(
                "{} holds neither an object nor a list of objects",
                self.path.display()
            ))),
        }
    }

    fn item(&self, index: usize, json: &RawValue) -> Item {
        let mut reader = serde_json::Deserializer::from_str(json.get());
        let read: Result<Document, _> = serde_path_to_error::deserialize(&mut reader);
        match read {
            Ok(document) => Item::Ticket {
                key: key(&document),
                raw: RawTicket {
                    location: Some(self.path.display().to_string()),
                    ..RawTicket::new(
                        Dialect::WhenceDocument,
                        &self.name,
                        (self.clock)(),
                        json.to_owned(),
                    )
                },
            },
            Err(error) => Item::Unreadable(Unreadable {
                key: key_of_bad(json),
                location: format!("{}, [{index}]", self.path.display()),
                causes: vec![
                    format!("field `{}` is not as a document has it", error.path()),
                    error.inner().to_string(),
                ],
                bytes: json.get().as_bytes().to_vec(),
                size: json.get().len() as u64,
            }),
        }
    }
}

#[async_trait]
impl Source for Ticket {
    fn name(&self) -> &str {
        &self.name
    }

    async fn check(&self) -> Result<(), SourceError> {
        let bytes = self.read().await?;
        self.split(&bytes).map(drop)
    }

    async fn list(&self, since: Since, out: &Batches) -> Result<Listing, SourceError> {
        let shown = self.path.display();
        let bytes = self.read().await?;
        let path = tokio::fs::canonicalize(&self.path)
            .await
            .map_err(|error| SourceError::because(format!("cannot read {shown}"), error))?
            .display()
            .to_string();
        let before: Cursor = since
            .cursor
            .and_then(|cursor| serde_json::from_value(cursor).ok())
            .filter(|cursor: &Cursor| cursor.path == path)
            .unwrap_or_default();
        let mut scopes = before.scopes;
        let mut listing = Listing::default();
        let mut items = Vec::new();
        for (index, json) in self.split(&bytes)?.into_iter().enumerate() {
            let item = self.item(index, json);
            match &item {
                Item::Ticket { key, .. } => {
                    scopes.insert(Scope {
                        provenance: key.provenance,
                        source: key.source.clone(),
                        scope: key.scope.clone(),
                    });
                }
                Item::Unreadable(bad) if bad.key.is_none() => {
                    listing.incomplete(format!("{}: {}", bad.location, bad.causes.join(": ")));
                }
                Item::Unreadable(_) | Item::Withdrawn { .. } => {}
            }
            items.push(item);
        }
        if items.is_empty() {
            listing.warnings.push(format!("{shown}: the list is empty"));
        }
        out.send(crate::Batch {
            items,
            cursor: None,
        })
        .await?;
        listing.scopes = scopes.iter().cloned().collect();
        listing.cursor = serde_json::to_value(Cursor { path, scopes })
            .map_err(|error| SourceError::because("cannot encode the cursor", error))?;
        Ok(listing)
    }
}

fn key(document: &Document) -> TicketKey {
    TicketKey {
        provenance: provenance(document.kind),
        source: document.source.clone(),
        scope: document.project.clone(),
        ticket: document.id.clone(),
    }
}

fn provenance(kind: TicketKind) -> Provenance {
    match kind {
        TicketKind::Issue | TicketKind::MergeRequest => Provenance::Upstream,
        TicketKind::Note => Provenance::Wiki,
        TicketKind::Local => Provenance::Local,
    }
}

/// The key of a document that is wrong elsewhere, so that its last good state
/// is not taken for deleted.
fn key_of_bad(json: &RawValue) -> Option<TicketKey> {
    #[derive(Deserialize)]
    struct Identity {
        source: String,
        project: String,
        id: String,
        kind: TicketKind,
    }
    let identity: Identity = serde_json::from_str(json.get()).ok()?;
    Some(TicketKey {
        provenance: provenance(identity.kind),
        source: identity.source,
        scope: identity.project,
        ticket: identity.id,
    })
}
