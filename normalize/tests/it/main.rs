//! The readers from outside: snapshots of small fixtures, laws over generated
//! payloads, and whole real archives where they are at hand.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

mod archives;
mod github;
mod gitlab;
mod jira;
mod laws;
mod linear;
mod refused;
mod snapshots;

use serde_json::value::RawValue;
use whence_contract::{Dialect, Document, Provenance, RawTicket, TicketKey};
use whence_normalize::{NormalizeError, normalize};

fn raw(dialect: Dialect, payload: &str) -> RawTicket {
    let fetched_at = "2024-05-01T10:00:00Z".parse().unwrap();
    let payload = RawValue::from_string(payload.to_owned()).unwrap();
    RawTicket {
        location: Some("tickets/archive.json".to_owned()),
        ..RawTicket::new(dialect, "archive:tickets", fetched_at, payload)
    }
}

fn key(dialect: Dialect, scope: &str, ticket: &str) -> TicketKey {
    let (provenance, source) = match dialect {
        Dialect::MarkdownNote => (Provenance::Wiki, "wiki"),
        _ => (Provenance::Upstream, "github"),
    };
    TicketKey {
        provenance,
        source: source.to_owned(),
        scope: scope.to_owned(),
        ticket: ticket.to_owned(),
    }
}

/// The document of `payload` as ticket 7 of `acme/kiln`, or as a note of `docs`.
fn read(dialect: Dialect, payload: &str) -> Result<Document, NormalizeError> {
    let key = match dialect {
        Dialect::MarkdownNote => key(dialect, "docs", "guide/firing.md"),
        _ => key(dialect, "acme/kiln", "7"),
    };
    normalize(&raw(dialect, payload), &key)
}
