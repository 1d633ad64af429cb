//! The timeline of a GitHub ticket: what happened, and to which others it is
//! linked.

use crate::{
    clean::{clean_line, clean_text},
    fields::{Fields, Notes},
    github::{objects, reference},
};
use serde_json::Value;
use std::collections::HashSet;
use whence_contract::{Document, Link, LinkKind, TicketEvent};

/// Fills events and links.
pub(crate) fn read(fields: &mut Fields, notes: &mut Notes, document: &mut Document) {
    let mut links = Vec::new();
    for issue in objects(fields, "closingIssuesReferences", notes) {
        if let Some(target) = reference(&issue.rest()) {
            links.push((LinkKind::Closes, target));
        }
    }
    for mut item in objects(fields, "timelineItems", notes) {
        let Some(kind) = item.line("__typename", notes) else {
            continue;
        };
        let actor = item.name("actor", "login", notes);
        let at = item.time("createdAt", notes);
        let rest = item.rest();
        link(&kind, &rest, &document.id, &mut links);
        document.events.push(TicketEvent {
            text: words(&kind, &rest),
            kind: kebab(kind.strip_suffix("Event").unwrap_or(&kind)),
            actor,
            at,
        });
    }
    let mut seen = HashSet::new();
    document.links = links
        .into_iter()
        .filter(|(_, target)| *target != document.id)
        .filter(|link| seen.insert(link.clone()))
        .map(|(kind, target)| Link { kind, target })
        .collect();
}

/// What an event says of another ticket. One that takes it back removes it.
fn link(kind: &str, event: &Value, own: &str, links: &mut Vec<(LinkKind, String)>) {
    let other = |names: [&str; 2]| {
        let mut both = names.iter().filter_map(|name| reference(&event[*name]));
        both.find(|target| target != own)
    };
    match kind {
        "CrossReferencedEvent" => {
            links.extend(reference(&event["source"]).map(|source| (LinkKind::Relates, source)));
        }
        "ConnectedEvent" => {
            links.extend(other(["subject", "source"]).map(|other| (LinkKind::Relates, other)));
        }
        "DisconnectedEvent" => {
            if let Some(other) = other(["subject", "source"]) {
                links.retain(|link| *link != (LinkKind::Relates, other.clone()));
            }
        }
        "MarkedAsDuplicateEvent" => links.extend(duplicate(event, own)),
        "UnmarkedAsDuplicateEvent" => {
            if let Some(link) = duplicate(event, own) {
                links.retain(|known| *known != link);
            }
        }
        _ => {}
    }
}

/// The event stands at both: one repeats the canonical one, which is merely
/// related to it.
fn duplicate(event: &Value, own: &str) -> Option<(LinkKind, String)> {
    match reference(&event["canonical"]) {
        Some(canonical) if canonical != own => Some((LinkKind::Duplicates, canonical)),
        _ => Some((LinkKind::Relates, reference(&event["duplicate"])?)),
    }
}

/// What an event says besides its kind.
fn words(kind: &str, event: &Value) -> Option<String> {
    let text = |value: &Value| {
        let line = clean_line(value.as_str()?);
        (!line.is_empty()).then_some(line)
    };
    let low = |value: &Value| text(value).map(|word| word.to_lowercase().replace('_', " "));
    match kind {
        "LabeledEvent" | "UnlabeledEvent" => text(&event["label"]["name"]),
        "AssignedEvent" | "UnassignedEvent" => text(&event["assignee"]["login"]),
        "MilestonedEvent" | "DemilestonedEvent" => text(&event["milestoneTitle"]),
        "ClosedEvent" | "ReopenedEvent" => low(&event["stateReason"]),
        "LockedEvent" => low(&event["lockReason"]),
        "MergedEvent" => text(&event["mergeRefName"]).map(|name| format!("into {name}")),
        "RenamedTitleEvent" => {
            let (old, new) = (
                text(&event["previousTitle"])?,
                text(&event["currentTitle"])?,
            );
            Some(format!("{old} → {new}"))
        }
        "TransferredEvent" => {
            let from = text(&event["fromRepository"]["nameWithOwner"])?;
            Some(format!("from {from}"))
        }
        "CrossReferencedEvent" => reference(&event["source"]).map(|source| format!("by {source}")),
        "MarkedAsDuplicateEvent" | "UnmarkedAsDuplicateEvent" => {
            reference(&event["canonical"]).map(|canonical| format!("of {canonical}"))
        }
        // Why a review was dismissed is prose.
        "ReviewDismissedEvent" => event["dismissalMessage"].as_str().map(clean_text),
        _ => None,
    }
}

/// `RenamedTitle` as `renamed-title`.
fn kebab(name: &str) -> String {
    let mut out = String::new();
    for c in clean_line(name).chars() {
        if c.is_uppercase() && !out.is_empty() {
            out.push('-');
        }
        out.extend(c.to_lowercase());
    }
    out
}
