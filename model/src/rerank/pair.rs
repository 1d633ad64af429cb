//! A question and a passage as one row of tokens, by the tokenizer's own template
//! for pairs.

use crate::Tokenizer;
use tokenizers::{Encoding, PostProcessor, TruncationDirection};

/// Tokens of one pair, and which of the two texts each is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) ids: Vec<i64>,
    pub(crate) types: Vec<i64>,
}

/// A question that waits for passages, encoded once.
pub(crate) struct Question<'a> {
    tokenizer: &'a Tokenizer,
    encoding: Encoding,
    /// Tokens that a passage may have.
    room: usize,
}

impl<'a> Question<'a> {
    /// The question in a window of `max_tokens`. It is cut only where it would take
    /// more than half of the window: a passage is always cut first.
    ///
    /// # Errors
    /// What the tokenizer says.
    pub(crate) fn new(
        tokenizer: &'a Tokenizer,
        text: &str,
        max_tokens: usize,
    ) -> Result<Self, tokenizers::Error> {
        let template = tokenizer.inner.get_post_processor();
        let special = template.map_or(0, |template| template.added_tokens(true));
        let window = max_tokens.saturating_sub(special);
        let mut encoding = tokenizer.inner.encode_fast(text, false)?;
        encoding.truncate(window / 2, 0, TruncationDirection::Right);
        let room = window - encoding.len();
        Ok(Self {
            tokenizer,
            encoding,
            room,
        })
    }

    /// The pair with `passage`, whose end is cut where it does not fit.
    ///
    /// # Errors
    /// What the tokenizer says.
    pub(crate) fn pair(&self, passage: &str) -> Result<Pair, tokenizers::Error> {
        let tokenizer = &self.tokenizer.inner;
        let mut second = tokenizer.encode_fast(passage, false)?;
        second.truncate(self.room, 0, TruncationDirection::Right);
        // Some templates take the types from the texts.
        let length = second.len();
        second.set_type_ids(vec![1; length]);
        let pair = tokenizer.post_process(self.encoding.clone(), Some(second), true)?;
        let wide = |numbers: &[u32]| numbers.iter().map(|n| i64::from(*n)).collect();
        Ok(Pair {
            ids: wide(pair.get_ids()),
            types: wide(pair.get_type_ids()),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::{fetch_tokenizer, find};
    use proptest::prelude::*;
    use std::sync::LazyLock;
    use whence_provision::Cache;

    static TOKENIZER: LazyLock<Tokenizer> = LazyLock::new(|| {
        let cache = Cache::open(None).unwrap();
        Tokenizer::load(&fetch_tokenizer(&find("minilm").unwrap(), &cache).unwrap()).unwrap()
    });

    /// Of BERT's vocabulary.
    const CLS: i64 = 101;
    const SEP: i64 = 102;

    fn pair(question: &str, passage: &str, max_tokens: usize) -> Pair {
        let question = Question::new(&TOKENIZER, question, max_tokens).unwrap();
        question.pair(passage).unwrap()
    }

    #[test]
    fn a_pair_is_what_the_tokenizer_makes_of_two_texts() {
        let encoding = TOKENIZER.inner.encode(("why cool", "the oven"), true);
        let encoding = encoding.unwrap();
        let wide = |numbers: &[u32]| numbers.iter().map(|n| i64::from(*n)).collect::<Vec<_>>();
        let pair = pair("why cool", "the oven", 512);
        assert_eq!(pair.ids, wide(encoding.get_ids()));
        assert_eq!(pair.types, wide(encoding.get_type_ids()));
        assert_eq!(pair.types, [0, 0, 0, 0, 1, 1, 1]);
    }

    #[test]
    fn the_passage_is_cut_and_the_question_stays() {
        let (question, passage) = ("why ".repeat(200), "kiln ".repeat(1000));
        let long = pair(&question, &passage, 512);
        assert_eq!(long.ids.len(), 512);
        let questions = long.types.iter().filter(|kind| **kind == 0).count();
        assert_eq!(questions, 202, "all of it, with its two special tokens");
        assert_eq!(long.ids.last(), Some(&SEP), "the cut end is closed");
    }

    #[test]
    fn a_question_beyond_half_of_the_window_leaves_the_other_half() {
        let long = pair(&"why ".repeat(2000), &"kiln ".repeat(2000), 512);
        assert_eq!(long.ids.len(), 512);
        let passages = long.types.iter().filter(|kind| **kind == 1).count();
        assert!((255..=256).contains(&passages), "{passages}");
    }

    proptest! {
        #[test]
        fn any_pair_fits_and_holds_both(
            question in "\\PC{0,80}", passage in "\\PC{0,400}", max_tokens in 16usize..128,
        ) {
            let pair = pair(&question, &passage, max_tokens);
            prop_assert!(pair.ids.len() <= max_tokens);
            prop_assert_eq!(pair.ids.len(), pair.types.len());
            prop_assert_eq!(pair.ids[0], CLS);
            prop_assert_eq!(pair.ids.iter().filter(|id| **id == SEP).count(), 2);
            prop_assert!(pair.types.is_sorted());
        }
    }
}
