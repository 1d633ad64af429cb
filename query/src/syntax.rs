//! What a question says beside its words: `key:value` is a filter, and
//! `"a phrase"` must stand as it is.
//!
//! Questions are also pasted prose, where quotes are only quotes and `Note: x`
//! is no filter. So a key counts only where it is a filter's name with its value
//! right behind it, and quotes count only in a short question.

use crate::{Filter, Filters, SearchError};

/// With more words than this a question is prose, and its quotes mean nothing.
const SHORT: usize = 12;

/// What is said shorter elsewhere.
const ALIASES: &[(&str, &str)] = &[
    ("type", "kind"),
    ("repo", "project"),
    ("assigned", "assignee"),
    ("status", "state"),
    ("after", "created_after"),
    ("before", "created_before"),
];

/// A question taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Parsed {
    /// The words to search for, phrases among them, without quotes.
    pub(crate) text: String,
    /// Those that were given beside the question, and those in it.
    pub(crate) filters: Filters,
    /// What must stand word by word.
    pub(crate) phrases: Vec<String>,
}

/// Takes `query` apart; `filters` came beside it.
///
/// # Errors
/// When a filter in the question does not take its value, is given twice, or is
/// negated, which no filter can be.
pub(crate) fn parse(query: &str, filters: &Filters) -> Result<Parsed, SearchError> {
    // No text holds a NUL.
    let query = query.replace('\0', " ");
    let pieces = pieces(&query);
    let words: usize = pieces
        .iter()
        .map(|piece| piece.text.split_whitespace().count())
        .sum();
    let mut parsed = Parsed {
        filters: filters.clone(),
        ..Parsed::default()
    };
    for piece in pieces {
        if let Some((key, value)) = filter(&piece) {
            if piece.text.starts_with('-') {
                return Err(SearchError::bad_request(
                    format!("{:?} negates a filter, which is not possible", piece.text),
                    "leave it out, or write it without the minus",
                ));
            }
            let added = parsed.filters.add(key, value);
            added.map_err(|mut error| {
                error.hint = format!(
                    "{}; to search for the words, put a space behind the colon",
                    error.hint
                );
                error
            })?;
            continue;
        }
        if !parsed.text.is_empty() {
            parsed.text.push(' ');
        }
        if piece.quoted && words <= SHORT {
            let phrase = piece.text.split_whitespace().collect::<Vec<_>>().join(" ");
            parsed.text.push_str(&phrase);
            if !parsed.phrases.contains(&phrase) {
                parsed.phrases.push(phrase);
            }
        } else if piece.quoted {
            parsed.text.push('"');
            parsed.text.push_str(&piece.text);
            parsed.text.push('"');
        } else {
            parsed.text.push_str(&piece.text);
        }
    }
    Ok(parsed)
}

/// A run without blanks, or what stands between two quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Piece {
    text: String,
    quoted: bool,
}

/// In order. A quote opens at the begin of a word or right behind a colon, and
/// closes at the end of one; any other is a character like the rest.
fn pieces(query: &str) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut rest = query.trim_start();
    while !rest.is_empty() {
        let (piece, after) = if let Some((phrase, after)) = quoted(rest) {
            (piece(phrase, true), after)
        } else {
            let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            // `label:"two words"`
            match word.split_once(":\"") {
                Some((key, _)) if !key.is_empty() && !key.contains('"') => {
                    match quoted(&rest[key.len() + 1..]) {
                        Some((value, after)) => (piece(&format!("{key}:{value}"), false), after),
                        None => (piece(word, false), after),
                    }
                }
                _ => (piece(word, false), after),
            }
        };
        pieces.push(piece);
        rest = after.trim_start();
    }
    pieces
}

fn piece(text: &str, quoted: bool) -> Piece {
    Piece {
        text: text.to_owned(),
        quoted,
    }
}

/// The phrase that `text` begins with, and what follows it.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix('"')?;
    for (at, _) in inner.match_indices('"') {
        let after = &inner[at + 1..];
        let closes = after
            .chars()
            .next()
            .is_none_or(|c| c.is_whitespace() || ",.;:?!)".contains(c));
        if closes {
            let phrase = &inner[..at];
            return (!phrase.trim().is_empty()).then_some((phrase, after));
        }
    }
    None
}

/// The filter that a piece names, with its value.
fn filter(piece: &Piece) -> Option<(&'static str, &str)> {
    if piece.quoted {
        return None;
    }
    let word = piece.text.strip_prefix('-').unwrap_or(&piece.text);
    let (key, value) = word.split_once(':')?;
    // `Type::method` and `kind://x` are names.
    if value.is_empty() || value.starts_with([':', '/']) {
        return None;
    }
    let alias = ALIASES.iter().find(|(alias, _)| *alias == key);
    let filter = Filter::find(alias.map_or(key, |(_, name)| name))?;
    Some((filter.name, value))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn parsed(query: &str) -> Parsed {
        parse(query, &Filters::default()).unwrap()
    }

    #[test]
    fn filters_and_phrases_are_taken_out() {
        let all = parsed(
            r#"why twice label:bug author:@Ada label:"needs work" "lift off" type:pr after:2024-01-31"#,
        );
        assert_eq!(all.text, "why twice lift off");
        assert_eq!(all.phrases, ["lift off"]);
        assert_eq!(all.filters.get("label"), ["bug", "needs work"]);
        assert_eq!(all.filters.get("author"), ["ada"]);
        assert_eq!(all.filters.get("kind"), ["merge-request"]);
        assert_eq!(all.filters.get("created_after"), ["2024-01-31T00:00:00Z"]);
    }

    #[test]
    fn names_addresses_and_prose_stay_words() {
        for query in [
            "std::vec::Vec kind::x",
            "https://example.org/a?b=c",
            "Note: the label : bug",
            "unclosed \"quote and more",
            "5\" pipe and 6\" pipe",
            "kind: of",
            "fix:this",
            "a\"b\"c",
            "\"\" empty",
        ] {
            let all = parsed(query);
            assert_eq!(all.text, query);
            assert_eq!(
                (all.phrases.len(), all.filters.is_empty()),
                (0, true),
                "{query}"
            );
        }
        let long = "the concerns about \"failing slow\" are now adequately addressed by the change \
                    that we made last week";
        assert_eq!(parsed(long).text, long);
        assert_eq!(parsed(long).phrases.len(), 0);
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        for (query, part) in [
            ("kind:epic x", "does not take \"epic\""),
            ("-label:bug x", "negates"),
            ("created_after:soon", "does not take \"soon\""),
        ] {
            let error = parse(query, &Filters::default()).unwrap_err();
            assert!(error.message.contains(part), "{error}");
            assert_eq!(error.status, 400);
        }
        let given = Filters::default()
            .with("created_after", "2024-01-31")
            .unwrap();
        assert!(parse("x after:2024-02-01", &given).is_err());
    }

    proptest! {
        #[test]
        fn no_word_is_lost(query in "[a-z\":\\- ]{0,60}|\\PC{0,60}") {
            if let Ok(all) = parse(&query, &Filters::default())
                && all.filters.is_empty()
            {
                let letters = |text: &str| -> String {
                    text.chars().filter(|c| !c.is_whitespace() && *c != '"').collect()
                };
                prop_assert_eq!(letters(&all.text), letters(&query));
            }
        }
    }
}
