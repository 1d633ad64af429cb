//! The real tokenizer, where one is at hand.

use std::path::PathBuf;
use tokenizers::Tokenizer;
use whence_chunk::CountTokens;

pub(crate) struct Real(Tokenizer);

impl CountTokens for Real {
    fn count(&self, text: &str) -> usize {
        self.0.encode_fast(text, true).unwrap().len()
    }
}

/// `None`, and a line that says so, where `WHENCE_TOKENIZER` names none.
pub(crate) fn real() -> Option<Real> {
    let Some(path) = std::env::var_os("WHENCE_TOKENIZER").map(PathBuf::from) else {
        println!("skipped: WHENCE_TOKENIZER names no tokenizer.json");
        return None;
    };
    let mut tokenizer = Tokenizer::from_file(&path).unwrap();
    // The published file cuts at 128 tokens and pads up to them.
    tokenizer.with_truncation(None).unwrap();
    tokenizer.with_padding(None);
    Some(Real(tokenizer))
}

#[test]
fn it_neither_truncates_nor_pads() {
    let Some(real) = real() else { return };
    assert_eq!(real.count(""), 2);
    assert_eq!(real.count(&"word ".repeat(1_000)), 1_002);
}
