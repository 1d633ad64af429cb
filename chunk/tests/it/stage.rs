//! The stage around [`chunk`].

use crate::support::{Words, described, limits};
use std::sync::Arc;
use whence_chunk::{ChunkStage, VERSION, chunk, fingerprint};
use whence_contract::{Provenance, Recipe, Revision, StageVersion, TicketKey};
use whence_log::{Input, Previous, Stage};

#[tokio::test]
async fn it_chunks_and_states_its_version_alone() {
    let stage = ChunkStage::new(limits(100), Arc::new(Words), 7);
    let version = |code| StageVersion { code, settings: 3 };
    let before = Recipe {
        normalize: version(4),
        chunk: version(9),
        embed: version(5),
    };
    let after = Recipe {
        chunk: StageVersion {
            code: VERSION,
            settings: 7,
        },
        ..before
    };
    assert_eq!(stage.recipe(before), after);

    let body = described("Some text.");
    let expected = chunk(&body, &limits(100), &Words);
    let key = TicketKey {
        provenance: Provenance::Upstream,
        source: "github".to_owned(),
        scope: "acme/rocket".to_owned(),
        ticket: "1".to_owned(),
    };
    let input = Input {
        key,
        revision: Revision(1),
        recipe: before,
        trace: None,
        body,
    };
    assert_eq!(
        stage.handle(input, &Previous::known(None)).await.unwrap(),
        expected
    );
}

#[test]
fn the_fingerprint_changes_with_every_setting() {
    let mut other = limits(100);
    other.refs.known_projects.insert("NEW".to_owned());
    let prints = [
        fingerprint(&limits(100), "a"),
        fingerprint(&limits(101), "a"),
        fingerprint(&limits(100), "b"),
        fingerprint(&other, "a"),
    ];
    let distinct: std::collections::BTreeSet<_> = prints.iter().collect();
    assert_eq!(distinct.len(), prints.len());
    // What is out of bounds is used as the bound.
    assert_eq!(
        fingerprint(&limits(512), "a"),
        fingerprint(&limits(9_999), "a")
    );
}
