//! Inputs that make a chunker loop, overflow or take for ever.

use crate::support::{Words, assert_laws, described, limits};
use std::sync::atomic::{AtomicUsize, Ordering};
use whence_chunk::{CountTokens, chunk};

#[test]
fn a_word_of_ten_megabytes() {
    let limits = limits(200);
    let ticket = chunk(&described(&"x".repeat(10_000_000)), &limits, &Words);
    assert!(
        ticket
            .chunks
            .iter()
            .all(|chunk| Words.count(&chunk.text) <= 200)
    );
    let length = |chunk: &whence_contract::Chunk| chunk.text.len() - chunk.prefix_len as usize;
    assert_eq!(ticket.chunks.iter().map(length).sum::<usize>(), 10_000_000);
}

#[test]
fn a_fence_of_68_kilobytes() {
    let body = format!(
        "Before.\n\n```\n{}```\n\nAfter.",
        "line of a log\n".repeat(5_000)
    );
    let ticket = assert_laws(&described(&body), &limits(200), &Words);
    assert_eq!(ticket.chunks.len(), 1);
    assert!(ticket.chunks[0].text.ends_with("Before.\n\nAfter."));
    assert!((4_000..=4_097).contains(&ticket.chunks[0].code.len()));
}

#[test]
fn prefixes_longer_than_the_budget() {
    let heading = "heading word ".repeat(11);
    let body = format!("# {heading}\n\n## {heading}\n\n### {heading}\n\nText of the section.");
    for title in [
        "t".repeat(1_000_000),
        "word ".repeat(10_000),
        "😀".repeat(5_000),
    ] {
        let mut document = described(&body);
        document.title = title;
        for max in [0, 32, 40, 64, 200, 512, usize::MAX] {
            let ticket = assert_laws(&document, &limits(max), &Words);
            assert!(ticket.chunks[0].text.contains("Text of"));
        }
    }
}

/// A counter that no text can satisfy must not keep the chunker for ever.
#[test]
fn a_counter_out_of_its_mind() {
    struct Always(usize);
    impl CountTokens for Always {
        fn count(&self, _text: &str) -> usize {
            self.0
        }
    }
    for counter in [Always(usize::MAX), Always(1_000), Always(0)] {
        let ticket = chunk(&described("some words in a text"), &limits(200), &counter);
        assert!(!ticket.chunks.is_empty());
    }
}

/// A counter whose counts do not add up: each text costs by its square.
#[test]
fn a_counter_that_does_not_add_up() {
    struct Square;
    impl CountTokens for Square {
        fn count(&self, text: &str) -> usize {
            let words = text.split_whitespace().count();
            words * words / 4 + 1
        }
    }
    let body = "One sentence of words. Another sentence of words.\n\n".repeat(20);
    assert_laws(&described(&body), &limits(100), &Square);
}

/// Counts the bytes that it is asked to count.
#[derive(Default)]
struct Metered(AtomicUsize);

impl CountTokens for Metered {
    fn count(&self, text: &str) -> usize {
        self.0.fetch_add(text.len(), Ordering::Relaxed);
        Words.count(text)
    }
}

/// Each of these is something that a quadratic reader chokes on; the tokenizer,
/// which costs most, sees each byte a few times.
#[test]
fn texts_of_markers_alone() {
    for pattern in [
        ">",
        "> ",
        "[",
        "![",
        "<!--",
        "<p \"",
        "`",
        "*_",
        "- ",
        "#\n",
        "# h\n",
        "```\n~~~\n",
        "](#7)",
        "a/b#",
        "https://x)",
        "@@ -1 +1 @@\n",
        "--- a\n+++ b\n",
        "|",
        "| a ",
        "[^1]: ",
        "A-",
        "\n",
        "1. ",
        "word ",
        "A sentence. ",
        "a\n\n",
        "x",
    ] {
        let body = pattern.repeat(200_000 / pattern.len());
        let counter = Metered::default();
        chunk(&described(&body), &limits(200), &counter);
        let per_byte = counter.0.into_inner() / body.len();
        assert!(
            per_byte <= 40,
            "{pattern:?}: each byte was counted {per_byte} times"
        );
    }
}
