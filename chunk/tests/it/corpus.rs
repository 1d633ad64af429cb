//! Snapshots of made-up documents that hold what real tickets get wrong.

use crate::support::{Words, assert_laws, bodies, described, document, github, limits, unit};
use std::fmt::Write;
use whence_contract::{ChunkedTicket, Document, UnitKind};

/// Chunks as a person reads them.
fn shown(ticket: &ChunkedTicket) -> String {
    let mut out = format!("ticket_refs: {:?}\n", ticket.ticket_refs);
    for chunk in &ticket.chunks {
        let kind = chunk.kind.as_str();
        let (seq, unit, tokens) = (chunk.seq, chunk.unit, chunk.tokens);
        writeln!(out, "\n=== {seq} {kind} (unit {unit}, {tokens} tokens)").unwrap();
        writeln!(out, "heading_path: {:?}", chunk.heading_path).unwrap();
        writeln!(out, "ticket_refs: {:?}", chunk.ticket_refs).unwrap();
        for code_ref in &chunk.code_refs {
            writeln!(
                out,
                "code_ref: {}",
                serde_json::to_string(code_ref).unwrap()
            )
            .unwrap();
        }
        let (prefix, body) = chunk.text.split_at(chunk.prefix_len as usize);
        writeln!(out, "--- prefix\n{prefix}--- text\n{body}").unwrap();
        if !chunk.code.is_empty() {
            writeln!(out, "--- code\n{}", chunk.code.trim_end()).unwrap();
        }
    }
    out
}

fn check(document: &Document, max_tokens: usize) -> (String, String) {
    let ticket = assert_laws(document, &limits(max_tokens), &Words);
    (shown(&ticket), bodies(&ticket))
}

#[test]
fn fences() {
    let (shown, text) = check(&described(include_str!("../corpus/fences.md")), 200);
    assert!(!text.contains("sentinel"), "{text}");
    insta::assert_snapshot!(shown);
}

#[test]
fn diffs() {
    let (shown, text) = check(&described(include_str!("../corpus/diffs.md")), 200);
    assert!(!text.contains("sentinel") && !text.contains("@@"), "{text}");
    insta::assert_snapshot!(shown);
}

#[test]
fn units_of_code_alone() {
    let code = include_str!("../corpus/only-code.md");
    let trace = include_str!("../corpus/only-trace.md");
    let units = vec![
        unit(UnitKind::Description, code),
        unit(UnitKind::Comment, ""),
        unit(UnitKind::Comment, trace),
        unit(UnitKind::Review, code),
    ];
    insta::assert_snapshot!(check(&github(units), 200).0);
}

#[test]
fn an_issue_template() {
    insta::assert_snapshot!(check(&described(include_str!("../corpus/template.md")), 200).0);
}

#[test]
fn references() {
    insta::assert_snapshot!(check(&described(include_str!("../corpus/references.md")), 200).0);
}

#[test]
fn markup() {
    let note = include_str!("../corpus/markup.md");
    let units = vec![unit(UnitKind::Description, note)];
    let (shown, text) = check(&document("wiki", "docs", "docs/relay.md", units), 120);
    assert!(!text.contains("sentinel"), "{text}");
    insta::assert_snapshot!(shown);
}

#[test]
fn suggestions() {
    let prose = "```suggestion\nThe server sends the frame before the clock has been read.\n```";
    let code = "```suggestion\n    if clock.read() { return }\n```\nLike this?";
    let note = "```suggestion\n`x` = 1\n```";
    let mut in_note = unit(UnitKind::ReviewComment, note);
    in_note.path = Some("docs/guide.md".to_owned());
    let mut in_code = unit(UnitKind::ReviewComment, code);
    in_code.path = Some("src/clock.rs".to_owned());
    let units = vec![unit(UnitKind::ReviewComment, prose), in_code, in_note];
    insta::assert_snapshot!(check(&github(units), 200).0);
}

#[test]
fn a_long_section_is_cut_where_it_reads_best() {
    let mut body = String::from("## Plan\n\nA lead-in of one sentence:\n\n");
    for n in 0..12 {
        writeln!(body, "- step {n} takes the relay apart and puts it back").unwrap();
    }
    body.push_str("\n| a | b |\n|---|---|\n");
    for n in 0..12 {
        writeln!(body, "| row {n} | some words in a cell |").unwrap();
    }
    body.push_str("\nOne sentence here. Another one, e.g. this. A third sentence that is longer, ");
    body.push_str(&"with words and words ".repeat(30));
    insta::assert_snapshot!(check(&described(&body), 80).0);
}
