//! Made-up archives, and a listing taken whole.

use serde_json::{Value, json};
use std::{fs, path::Path};
use whence_contract::Timestamp;
use whence_harvest::{
    Batches, Coverage, Item, Listing, Opening, Since, Source, SourceError, SourceSpec, Unreadable,
};

pub(crate) fn clock() -> Timestamp {
    Timestamp::from_second(1_700_000_000).unwrap()
}

pub(crate) fn open(spec: &str) -> Box<dyn Source> {
    let opening = Opening::new(clock);
    spec.parse::<SourceSpec>().unwrap().open(&opening).unwrap()
}

/// What one listing gave.
pub(crate) struct Listed {
    pub(crate) items: Vec<Item>,
    pub(crate) listing: Result<Listing, SourceError>,
}

impl Listed {
    /// Tickets in order, with their payloads.
    pub(crate) fn tickets(&self) -> Vec<(String, String)> {
        let ticket = |item: &Item| match item {
            Item::Ticket { key, raw } => Some((key.to_string(), raw.payload.get().to_owned())),
            Item::Unreadable(_) | Item::Withdrawn { .. } => None,
        };
        self.items.iter().filter_map(ticket).collect()
    }

    pub(crate) fn keys(&self) -> Vec<String> {
        self.tickets().into_iter().map(|(key, _)| key).collect()
    }

    pub(crate) fn unreadable(&self) -> Vec<&Unreadable> {
        let mut found = Vec::new();
        for item in &self.items {
            if let Item::Unreadable(bad) = item {
                found.push(bad);
            }
        }
        found
    }

    pub(crate) fn whole(&self) -> bool {
        self.ok().coverage == Coverage::Whole
    }

    pub(crate) fn ok(&self) -> &Listing {
        self.listing.as_ref().unwrap()
    }

    /// The error's whole chain.
    pub(crate) fn error(&self) -> String {
        chain(self.listing.as_ref().unwrap_err())
    }
}

pub(crate) fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", chain(source)),
        None => error.to_string(),
    }
}

pub(crate) async fn list(spec: &str) -> Listed {
    list_since(spec, Since::default()).await
}

pub(crate) async fn list_since(spec: &str, since: Since) -> Listed {
    let source = open(spec);
    let (out, mut batches) = Batches::channel(2);
    let listing = async move {
        let out = out;
        source.list(since, &out).await
    };
    let taking = async {
        let mut items = Vec::new();
        while let Some(batch) = batches.recv().await {
            items.extend(batch.items);
        }
        items
    };
    let (listing, items) = tokio::join!(listing, taking);
    Listed { items, listing }
}

pub(crate) fn issue(number: u64, body: &str) -> Value {
    json!({
        "number": number, "title": format!("Kiln {number}"), "author": "ada", "body": body,
        "comments": [{ "author": null, "body": "seen \u{1F525} too, \"twice\" [sic]" }],
    })
}

pub(crate) fn archive(repo: &str, issues: &[Value], pulls: &[Value]) -> Value {
    json!({
        "magic": "E!vIA5L86J2I", "timestamp": "2024-01-01T00:00:00+00:00", "repo": repo,
        "labels": [{ "name": "bug" }], "issues": issues, "pulls": pulls,
    })
}

/// Issues 1 to `n`.
pub(crate) fn numbered(repo: &str, n: u64) -> Value {
    let issues: Vec<Value> = (1..=n).map(|i| issue(i, &format!("body {i}"))).collect();
    archive(repo, &issues, &[])
}

pub(crate) fn write(path: &Path, archive: &Value) {
    fs::write(path, serde_json::to_string_pretty(archive).unwrap()).unwrap();
}

pub(crate) fn spec(kind: &str, path: &Path) -> String {
    format!("{kind}:{}", path.display())
}
