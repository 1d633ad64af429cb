//! Messages of every version that was ever written are still read.
//!
//! `golden/<type>/vN.json` is a message as version N wrote it; a committed one
//! never changes. `vN.expected.json` is what today's code makes of it. A field
//! added with a default changes only the expected files, by a visible diff:
//! `WHENCE_GOLDEN=write cargo test -p whence-contract --test golden`.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::{fs, path::Path};
use whence_contract::{
    ChunkedTicket, DeadLetter, Document, EmbeddedTicket, IndexedTicket, Payload, RawTicket,
};

fn check<T: Payload>(folder: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(folder);
    for version in 1..=T::VERSION {
        let stored = fs::read_to_string(folder.join(format!("v{version}.json"))).unwrap();
        let message: T = serde_json::from_str(&stored)
            .unwrap_or_else(|e| panic!("{} version {version} is not read: {e}", T::SCHEMA));
        // As text, not as a value: a raw payload may hold what no value can.
        let written = serde_json::to_string(&message).unwrap();
        let path = folder.join(format!("v{version}.expected.json"));
        if std::env::var_os("WHENCE_GOLDEN").is_some() {
            fs::write(&path, format!("{written}\n")).unwrap();
        }
        let expected = fs::read_to_string(&path).unwrap();
        assert_eq!(
            written,
            expected.trim_end(),
            "{} version {version} drifted",
            T::SCHEMA
        );
    }
}

#[test]
fn raw() {
    check::<RawTicket>("raw");
}

#[test]
fn document() {
    check::<Document>("document");
}

#[test]
fn chunks() {
    check::<ChunkedTicket>("chunks");
}

#[test]
fn vectors() {
    check::<EmbeddedTicket>("vectors");
}

#[test]
fn indexed() {
    check::<IndexedTicket>("indexed");
}

#[test]
fn dead() {
    check::<DeadLetter>("dead");
}
