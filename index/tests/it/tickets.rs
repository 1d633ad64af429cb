//! Small tickets, made by hand.

use whence_contract::{
    COMMENT_SEQ_BASE, Chunk, ChunkedTicket, CodeRef, ContentHash, Document, EmbeddedTicket,
    Embedding, FileChange, Label, Link, LinkKind, ModelId, Provenance, Recipe, Revision,
    StageVersion, TicketEvent, TicketKey, TicketKind, Unit, UnitKind, Visibility,
};
use whence_log::Input;

pub fn model() -> ModelId {
    ModelId("test/small@1:3".to_owned())
}

pub fn key(ticket: &str) -> TicketKey {
    TicketKey {
        provenance: Provenance::Upstream,
        source: "github".to_owned(),
        scope: "acme/rockets".to_owned(),
        ticket: ticket.to_owned(),
    }
}

/// Normalize, chunk and embed code versions.
pub fn recipe(normalize: u32, chunk: u32, embed: u32) -> Recipe {
    let version = |code| StageVersion { code, settings: 0 };
    Recipe {
        normalize: version(normalize),
        chunk: version(chunk),
        embed: version(embed),
    }
}

/// A vector that depends on the text alone.
pub fn vector(text: &str) -> Vec<f32> {
    let sum = text.bytes().fold(7_u32, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(byte.into())
    });
    let angle = f64::from(sum % 1000) / 1000.0;
    vec![angle.cos() as f32, angle.sin() as f32, 0.0]
}

fn unit(kind: UnitKind) -> Unit {
    Unit {
        kind,
        upstream_id: Some("IC_1".to_owned()),
        author: Some("ada".to_owned()),
        created_at: Some("2024-05-01T10:00:00.123456Z".parse().unwrap()),
        updated_at: None,
        visibility: Visibility::Public,
        url: Some("https://example.org/1#c1".to_owned()),
        verdict: (kind == UnitKind::Review).then(|| "approved".to_owned()),
        path: None,
        body: String::new(),
    }
}

/// A ticket with a description and one comment for each of `comments`; an empty
/// comment is a unit without a chunk.
pub fn ticket(id: &str, title: &str, body: &str, comments: &[&str]) -> EmbeddedTicket {
    let mut units = vec![unit(UnitKind::Description)];
    let mut chunks = vec![chunk(0, 0, &format!("{title}\n\n{body}"), title.len() + 2)];
    for (at, text) in (0_u32..).zip(comments) {
        units.push(unit(UnitKind::Comment));
        if !text.is_empty() {
            chunks.push(chunk(at + 1, COMMENT_SEQ_BASE + at, text, 0));
        }
    }
    let document = Document {
        source: "github".to_owned(),
        project: "acme/rockets".to_owned(),
        id: format!("acme/rockets#{id}"),
        aliases: vec!["OLD-1".to_owned()],
        kind: TicketKind::MergeRequest,
        title: title.to_owned(),
        url: Some(format!("https://example.org/{id}")),
        state: Some("merged".to_owned()),
        author: None,
        assignees: vec!["bo".to_owned(), "cy".to_owned()],
        labels: vec![label("bug"), label("urgent"), label("bug")],
        milestone: None,
        priority: Some("P1".to_owned()),
        created_at: Some("2024-05-01T10:00:00Z".parse().unwrap()),
        updated_at: Some("2024-05-02T10:00:00Z".parse().unwrap()),
        closed_at: None,
        visibility: Visibility::Public,
        units,
        events: vec![TicketEvent {
            kind: "merged".to_owned(),
            actor: None,
            at: None,
            text: None,
        }],
        files: vec![FileChange {
            old_path: "src/a.rs".to_owned(),
            new_path: "src/b.rs".to_owned(),
            new_file: false,
            deleted_file: false,
            renamed_file: true,
        }],
        links: vec![Link {
            kind: LinkKind::Closes,
            target: "acme/rockets#1".to_owned(),
        }],
        meta: [("draft".to_owned(), serde_json::json!(false))].into(),
    };
    embedded(ChunkedTicket {
        document,
        chunks,
        ticket_refs: vec!["MAZ-1".to_owned()],
    })
}

fn label(name: &str) -> Label {
    Label {
        name: name.to_owned(),
        color: Some("ff0000".to_owned()),
        description: None,
    }
}

fn chunk(unit: u32, seq: u32, text: &str, prefix: usize) -> Chunk {
    Chunk {
        unit,
        kind: if unit == 0 {
            UnitKind::Description
        } else {
            UnitKind::Comment
        },
        seq,
        heading_path: vec!["Why \"this\", {and} \\that".to_owned()],
        text: text.to_owned(),
        prefix_len: u32::try_from(prefix).unwrap(),
        tokens: 5,
        text_hash: ContentHash::of(text),
        code: "fn lift_off() {}".to_owned(),
        code_refs: vec![CodeRef {
            file: Some("src/b.rs".to_owned()),
            func: Some("lift_off".to_owned()),
            module: None,
        }],
        ticket_refs: vec!["MAZ-1".to_owned()],
    }
}

/// With a vector for each distinct text.
pub fn embedded(ticket: ChunkedTicket) -> EmbeddedTicket {
    let mut vectors: Vec<Embedding> = ticket
        .chunks
        .iter()
        .map(|chunk| Embedding {
            text_hash: chunk.text_hash.clone(),
            vector: vector(&chunk.text),
        })
        .collect();
    vectors.sort_by(|a, b| a.text_hash.cmp(&b.text_hash));
    vectors.dedup_by(|a, b| a.text_hash == b.text_hash);
    EmbeddedTicket {
        model: model(),
        ticket,
        vectors,
    }
}

pub fn input<T>(ticket: &str, revision: u64, recipe: Recipe, body: T) -> Input<T> {
    Input {
        key: key(ticket),
        revision: Revision(revision),
        recipe,
        trace: None,
        body,
    }
}
