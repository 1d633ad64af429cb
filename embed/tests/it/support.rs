//! The model, and tickets made for a test.

use whence_contract::{
    Chunk, ChunkedTicket, ContentHash, Document, Provenance, Recipe, Revision, TicketKey, UnitKind,
};
use whence_log::Input;
use whence_model::{Encoder, EncoderOptions, fetch, find};
use whence_provision::Cache;

/// An encoder of the default model with sessions of its own.
pub(crate) fn load(threads: usize) -> Encoder {
    let spec = find("minilm").unwrap();
    let files = fetch(&spec, &Cache::open(None).unwrap()).unwrap();
    Encoder::load(&spec, &files, EncoderOptions { threads }).unwrap()
}

/// A ticket with one chunk for each text, in order.
pub(crate) fn input(texts: &[&str]) -> Input<ChunkedTicket> {
    let document: Document = serde_json::from_value(serde_json::json!({
        "source": "github", "project": "acme/kiln", "id": "acme/kiln#7",
        "kind": "issue", "title": "The kiln cools too fast",
    }))
    .unwrap();
    let chunks = texts.iter().zip(0..).map(|(text, seq)| Chunk {
        unit: 0,
        kind: UnitKind::Description,
        seq,
        heading_path: Vec::new(),
        text: (*text).to_owned(),
        prefix_len: 0,
        tokens: 0,
        text_hash: ContentHash::of(text),
        code: String::new(),
        code_refs: Vec::new(),
        ticket_refs: Vec::new(),
    });
    Input {
        key: TicketKey {
            provenance: Provenance::Upstream,
            source: "github".to_owned(),
            scope: "acme/kiln".to_owned(),
            ticket: "7".to_owned(),
        },
        revision: Revision(1),
        recipe: Recipe::default(),
        trace: None,
        body: ChunkedTicket {
            document,
            chunks: chunks.collect(),
            ticket_refs: Vec::new(),
        },
    }
}
