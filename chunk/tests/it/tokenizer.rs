//! The real model's tokenizer.

use whence_chunk::CountTokens;
use whence_model::Tokenizer;
use whence_provision::Cache;

pub(crate) struct Real(Tokenizer);

impl CountTokens for Real {
    fn count(&self, text: &str) -> usize {
        self.0.count(text)
    }
}

/// Fetched into the cache where it is not there.
pub(crate) fn real() -> Real {
    let spec = whence_model::find("minilm").unwrap();
    let files = whence_model::fetch(&spec, &Cache::open(None).unwrap()).unwrap();
    Real(Tokenizer::load(&files.tokenizer).unwrap())
}

#[test]
fn it_neither_truncates_nor_pads() {
    let real = real();
    assert_eq!(real.count(""), 2);
    assert_eq!(real.count(&"word ".repeat(1_000)), 1_002);
}
