//! Laws over generated Markdown and over arbitrary text.

use crate::support::{Words, assert_laws, bodies, described, github, limits, unit};
use proptest::prelude::*;
use whence_chunk::chunk;
use whence_contract::UnitKind;

/// Prose words are numbered and plain, so that order and loss can be seen.
fn words(most: usize) -> impl Strategy<Value = Vec<String>> {
    prop::collection::vec("w[a-z]{1,9}x", 1..most)
}

fn sentence() -> impl Strategy<Value = String> {
    (
        words(30),
        prop::sample::select(vec![".", "!", "", " #7.", ", `code_span`."]),
    )
        .prop_map(|(words, end)| words.join(" ") + end)
}

/// Code never holds a word that begins like prose.
fn code() -> impl Strategy<Value = String> {
    prop::collection::vec("(sentinel = [0-9]{1,3};|\\}|  fn |# no|> no|- no|)", 0..6)
        .prop_map(|lines| lines.join("\n"))
}

fn block() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => prop::collection::vec(sentence(), 1..4).prop_map(|s| s.join(" ")),
        2 => ((1usize..7), words(5)).prop_map(|(n, w)| format!("{} {}", "#".repeat(n), w.join(" "))),
        1 => words(5).prop_map(|w| format!("{}\n===", w.join(" "))),
        2 => prop::collection::vec(sentence(), 1..6).prop_map(|s| format!("- {}", s.join("\n- "))),
        1 => sentence().prop_map(|s| format!("> {s}\n>\n> ```\n> sentinel\n> ```")),
        1 => sentence().prop_map(|s| format!("1. {s}\n\n   ~~~\n   sentinel\n   ~~~")),
        2 => code().prop_map(|c| format!("```rust\n{c}\n```")),
        1 => code().prop_map(|c| format!("````\n```\n{c}\n```\n````")),
        1 => (code(), words(4)).prop_map(|(c, _)| format!("~~~\n{c}\n~~~ no close\n~~~")),
        1 => words(9).prop_map(|w| format!("| {} |\n|{}|\n| {} |", w.join(" | "), "---|".repeat(w.len()), w.join(" | "))),
        1 => Just("<!-- sentinel -->".to_owned()),
        1 => Just("--- a/x.rs\n+++ b/x.rs\n@@ -1 +1 @@\n-sentinel\n+sentinel".to_owned()),
        1 => words(4).prop_map(|w| format!("[{}](https://example.com/a/long/path/that/goes/on/and/on)", w.join(" "))),
    ]
}

fn markdown() -> impl Strategy<Value = String> {
    prop::collection::vec(block(), 0..14).prop_map(|blocks| blocks.join("\n\n"))
}

fn prose_words(text: &str) -> Vec<&str> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.starts_with('w') && word.ends_with('x') && word.len() > 2)
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_and_no_code_is_kept(
        description in markdown(), comment in markdown(), max in 32usize..260,
    ) {
        let units = vec![unit(UnitKind::Description, &description), unit(UnitKind::Comment, &comment)];
        let ticket = assert_laws(&github(units), &limits(max), &Words);
        prop_assert!(!bodies(&ticket).contains("sentinel"));
        for (index, body) in [(0, &description), (1, &comment)] {
            // A heading is either in the text or in the path; a path is said
            // once for each section, parents first.
            let mut said = Vec::new();
            let mut path: Vec<String> = Vec::new();
            for chunk in ticket.chunks.iter().filter(|chunk| chunk.unit == index) {
                if chunk.heading_path != path {
                    let same = chunk.heading_path.iter().zip(&path).take_while(|(a, b)| a == b);
                    for label in &chunk.heading_path[same.count()..] {
                        said.extend(prose_words(label).into_iter().map(str::to_owned));
                    }
                    path.clone_from(&chunk.heading_path);
                }
                let body = &chunk.text[chunk.prefix_len as usize..];
                said.extend(prose_words(body).into_iter().map(str::to_owned));
            }
            prop_assert_eq!(said, prose_words(body), "{}", body);
        }
    }

    #[test]
    fn line_ends_do_not_matter(text in markdown()) {
        let limits = limits(100);
        let lf = chunk(&described(&text), &limits, &Words);
        let crlf = chunk(&described(&text.replace('\n', "\r\n")), &limits, &Words);
        prop_assert_eq!(lf, crlf);
    }

    #[test]
    fn any_text_is_cut(text in "\\PC{0,300}", title in "\\PC{0,200}", max in 0usize..600) {
        let mut document = described(&text);
        document.title = title;
        assert_laws(&document, &limits(max), &Words);
    }

    #[test]
    fn any_soup_of_markup_is_cut(
        parts in prop::collection::vec(prop::sample::select(vec![
            "```", "````", "~~~", "\n", "\n\n", "> ", "- ", "1. ", "    ", "# ", "## ", "===", "---",
            "|", "[", "](", ")", "![", "<!--", "-->", "<br>", "<img alt=\"", "\"", ">", "`", "#7",
            "word", "é", "😀", "\r\n", "\r", "\0", "@@ -1,2 +1,2 @@\n", "--- a/x\n", "+++ b/x\n",
            "diff --git a/x b/x\n", "https://github.com/a/b/issues/1", "<pre>", "\t", "\\", "*", "_",
            "[^1]", "[^1]: ", "[a]: b\n", "<details>\n", "suggestion\n", " ", "\u{a0}",
        ]), 0..60),
        max in 32usize..80,
    ) {
        let body = parts.concat();
        let mut commented = unit(UnitKind::ReviewComment, &body);
        commented.path = Some("a.md".to_owned());
        let units = vec![unit(UnitKind::Description, &body), commented];
        assert_laws(&github(units.clone()), &limits(max), &Words);
        let mut note = github(units);
        note.source = "wiki".to_owned();
        assert_laws(&note, &limits(max), &Words);
    }
}
