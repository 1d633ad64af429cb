//! Which texts go through a model together.

/// Divides texts of these `tokens` into batches of at most `most_tokens` and
/// `most_texts`, each the places of its texts. Texts of a batch are of similar
/// length, the longest first, as all are filled up to the longest. A text beyond
/// the budget goes alone.
pub(crate) fn batches(tokens: &[usize], most_tokens: usize, most_texts: usize) -> Vec<Vec<usize>> {
    let mut places: Vec<usize> = (0..tokens.len()).collect();
    places.sort_by_key(|place| (std::cmp::Reverse(tokens[*place]), *place));
    let mut batches: Vec<Vec<usize>> = Vec::new();
    for place in places {
        match batches.last_mut() {
            // The first is the longest: with filling, each costs as much as it.
            Some(batch)
                if batch.len() < most_texts
                    && tokens[batch[0]] * (batch.len() + 1) <= most_tokens =>
            {
                batch.push(place);
            }
            _ => batches.push(vec![place]),
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_text_travels_once_and_within_the_budget(
            tokens in prop::collection::vec(0usize..600, 0..80),
            most_tokens in 1usize..2000,
            most_texts in 1usize..40,
        ) {
            let batches = batches(&tokens, most_tokens, most_texts);
            let mut places: Vec<usize> = batches.iter().flatten().copied().collect();
            places.sort_unstable();
            prop_assert_eq!(places, (0..tokens.len()).collect::<Vec<_>>());
            for batch in &batches {
                let longest = batch.iter().map(|place| tokens[*place]).max().unwrap_or(0);
                prop_assert!(batch.len() <= most_texts);
                prop_assert!(batch.len() == 1 || longest * batch.len() <= most_tokens);
            }
        }
    }

    #[test]
    fn texts_of_similar_length_travel_together() {
        assert_eq!(batches(&[5, 100, 6, 90], 200, 8), [vec![1, 3], vec![2, 0]]);
    }
}
