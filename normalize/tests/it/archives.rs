//! Every ticket of the real archives, where they are at hand.

use crate::{key, raw};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::{collections::BTreeMap, path::PathBuf};
use whence_contract::{Dialect, UnitKind};
use whence_normalize::normalize;

#[derive(Deserialize)]
struct Numbered {
    number: u64,
}

#[derive(Deserialize)]
struct Archive {
    repo: String,
    issues: Vec<Box<RawValue>>,
    pulls: Vec<Box<RawValue>>,
}

/// Repository: tickets, comments, reviews, review comments.
const EXPECTED: [(&str, [usize; 4]); 3] = [
    ("mlswg/mls-protocol", [885, 1435, 1370, 1720]),
    ("quicwg/qlog", [549, 960, 584, 528]),
    ("tlswg/draft-ietf-tls-esni", [642, 1993, 1457, 1552]),
];

#[test]
fn every_ticket_and_every_written_thing_is_there() {
    let folder = std::env::var_os("WHENCE_EVAL_DIR").map_or_else(
        || {
            PathBuf::from(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../shared/eval/dev"
            ))
        },
        PathBuf::from,
    );
    for (repo, expected) in EXPECTED {
        let file = folder.join(format!("{}.archive.json", repo.replace('/', "__")));
        let Ok(text) = std::fs::read_to_string(&file) else {
            println!("skipped: {} is not there", file.display());
            continue;
        };
        let archive: Archive = serde_json::from_str(&text).unwrap();
        let mut counts: BTreeMap<UnitKind, usize> = BTreeMap::new();
        let (mut closes, mut ignored) = (0, 0);
        let issues = archive
            .issues
            .iter()
            .map(|t| (Dialect::GithubArchiveIssue, t));
        let pulls = archive
            .pulls
            .iter()
            .map(|t| (Dialect::GithubArchivePull, t));
        for (dialect, ticket) in issues.chain(pulls) {
            let Numbered { number } = serde_json::from_str(ticket.get()).unwrap();
            let key = key(dialect, &archive.repo, &number.to_string());
            let document = normalize(&raw(dialect, ticket.get()), &key).unwrap();
            for unit in &document.units {
                *counts.entry(unit.kind).or_default() += 1;
            }
            closes += document.links.len();
            ignored += usize::from(document.meta.contains_key("ignored_fields"));
            assert!(document.created_at.is_some() && document.url.is_some());
        }
        println!("{repo}: {counts:?}, {closes} closing links, {ignored} with ignored fields");
        let found = [
            UnitKind::Description,
            UnitKind::Comment,
            UnitKind::Review,
            UnitKind::ReviewComment,
        ];
        assert_eq!(
            found.map(|kind| counts.get(&kind).copied().unwrap_or(0)),
            expected
        );
        assert_eq!(ignored, 0);
    }
}
