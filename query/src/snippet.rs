//! What of a chunk is shown.

/// At most `most` characters of `text`, from a little before the place where
/// the most of `words` stand close together. Cut at words, with `…` where
/// something is left out; line breaks become spaces.
pub(crate) fn snippet(text: &str, words: &[String], most: usize) -> String {
    let tokens: Vec<&str> = text.split_whitespace().collect();
    let lens: Vec<usize> = tokens
        .iter()
        .map(|token| token.chars().count() + 1)
        .collect();
    if lens.iter().sum::<usize>() <= most + 1 {
        return tokens.join(" ");
    }
    let hits: Vec<bool> = tokens
        .iter()
        .map(|token| {
            let token = token.to_lowercase();
            words.iter().any(|word| token.contains(word.as_str()))
        })
        .collect();
    // A window over tokens: the one with the most hits, the first of equals.
    let (mut start, mut len, mut count) = (0, 0, 0_usize);
    let (mut best, mut best_count) = ((0, 0), 0);
    for end in 0..tokens.len() {
        len += lens.get(end).copied().unwrap_or_default();
        count += usize::from(hits.get(end).copied().unwrap_or_default());
        while len > most && start < end {
            len -= lens.get(start).copied().unwrap_or_default();
            count -= usize::from(hits.get(start).copied().unwrap_or_default());
            start += 1;
        }
        if count > best_count || best == (0, 0) || (count == best_count && best.0 == start) {
            (best, best_count) = ((start, end + 1), count);
        }
    }
    let (start, end) = best;
    let shown = tokens.get(start..end).unwrap_or_default().join(" ");
    let shown: String = shown.chars().take(most).collect();
    let before = if start > 0 { "… " } else { "" };
    let after = if end < tokens.len() { " …" } else { "" };
    format!("{before}{shown}{after}")
}

/// The question's words, as they would stand in a text.
pub(crate) fn words(query: &str) -> Vec<String> {
    let words = query.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'));
    words
        .filter(|word| word.chars().count() > 2)
        .map(str::to_lowercase)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_place_with_the_words_is_shown() {
        let text = format!(
            "{} the engine stops at lift-off {}",
            "a b ".repeat(50),
            "c d ".repeat(50)
        );
        let shown = snippet(&text, &words("Why does the ENGINE stop?"), 40);
        assert!(shown.contains("engine stops"), "{shown}");
        assert!(shown.starts_with('…') && shown.ends_with('…'), "{shown}");
        assert_eq!(snippet("short\n\ntext", &[], 40), "short text");
    }

    proptest! {
        #[test]
        fn never_longer_than_asked(text in "\\PC{0,400}", query in "\\PC{0,40}", most in 1..80_usize) {
            let shown = snippet(&text, &words(&query), most);
            prop_assert!(shown.chars().count() <= most + 4, "{}", shown);
        }
    }
}
