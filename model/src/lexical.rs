//! Words to terms, for BM25: stemmed where they are words, kept whole and in
//! parts where they are identifiers.
//!
//! Index and query use this one function, so what is written is what is found.

use rust_stemmers::{Algorithm, Stemmer};

/// The longest term, in bytes; what is longer is cut at a character.
pub const MAX_TERM_BYTES: usize = 64;

/// Words that stand in nearly every text and so tell texts apart by nothing.
const FUNCTION_WORDS: [&str; 33] = [
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it",
    "no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there", "these",
    "they", "this", "to", "was", "will", "with",
];

/// The terms of `text`, in order, with repetitions.
///
/// A run of letters and digits is a word: lower-cased and stemmed. A run that is
/// joined by `_ - . / : # @ +` or that mixes cases or digits is an identifier: it
/// is a term whole, and each of its parts is a term. Han, kana and hangul become
/// pairs of neighbours, since they are written without spaces.
pub fn terms(text: &str) -> Vec<String> {
    let stemmer = Stemmer::create(Algorithm::English);
    let mut terms = Vec::new();
    for token in tokens(text) {
        push_token(token, &stemmer, &mut terms);
    }
    terms
}

/// The terms of a question: each once, in order of first appearance.
pub fn query_terms(text: &str) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    terms(text).into_iter().filter(|term| seen.insert(term.clone())).collect()
}

/// Characters that join the parts of an identifier when both sides are words.
fn joins(c: char) -> bool {
    matches!(c, '_' | '-' | '.' | '/' | ':' | '#' | '@' | '+' | '\'' | '’')
}

/// Maximal runs of word characters and joiners, without joiners at the ends.
fn tokens(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric() && !joins(c))
        .map(|token| token.trim_matches(joins))
        .filter(|token| !token.is_empty())
}

fn push_token(token: &str, stemmer: &Stemmer, terms: &mut Vec<String>) {
    let parts: Vec<&str> =
        token.split(joins).filter(|part| !part.is_empty()).collect();
    // `don't` and `Mary's` are words, not identifiers.
    if let [word, ending] = parts[..]
        && (token.contains('\'') || token.contains('’'))
        && ending.chars().count() <= 2
    {
        push_word(word, stemmer, terms);
        return;
    }
    if parts.len() > 1 {
        push(whole(token), terms);
    }
    for part in parts {
        if part.chars().any(unspaced) {
            push_pairs(part, terms);
            continue;
        }
        let pieces = pieces(part);
        if pieces.len() > 1 {
            push(part.to_lowercase(), terms);
        }
        for piece in pieces {
            push_word(piece, stemmer, terms);
        }
    }
}

/// An identifier in one spelling: `Type::method` and `type.method` differ only in
/// how a language joins.
fn whole(token: &str) -> String {
    let mut whole = String::with_capacity(token.len());
    for c in token.chars() {
        match c {
            '’' => whole.push('\''),
            ':' if whole.ends_with(':') => {}
            _ => whole.extend(c.to_lowercase()),
        }
    }
    whole
}

/// `runqGet` to `runq`, `Get`; `HTTPServer` to `HTTP`, `Server`; `utf8` to `utf`,
/// `8`. A plain word is one piece.
fn pieces(part: &str) -> Vec<&str> {
    let chars: Vec<(usize, char)> = part.char_indices().collect();
    let mut pieces = Vec::new();
    let mut start = 0;
    for i in 1..chars.len() {
        let (before, here) = (chars[i - 1].1, chars[i].1);
        let after = chars.get(i + 1).map(|c| c.1);
        let boundary = (before.is_lowercase() && here.is_uppercase())
            || (before.is_uppercase()
                && here.is_uppercase()
                && after.is_some_and(char::is_lowercase))
            || (before.is_numeric() != here.is_numeric());
        if boundary {
            pieces.push(&part[start..chars[i].0]);
            start = chars[i].0;
        }
    }
    pieces.push(&part[start..]);
    pieces
}

fn push_word(word: &str, stemmer: &Stemmer, terms: &mut Vec<String>) {
    let lower = word.to_lowercase();
    if FUNCTION_WORDS.contains(&lower.as_str()) {
        return;
    }
    let stem = if lower.is_ascii() { stemmer.stem(&lower).into_owned() } else { lower };
    push(stem, terms);
}

fn push(term: String, terms: &mut Vec<String>) {
    if !term.is_empty() {
        let end = term.floor_char_boundary(MAX_TERM_BYTES);
        terms.push(if end < term.len() { term[..end].to_owned() } else { term });
    }
}

/// Scripts that are written without spaces between words.
fn unspaced(c: char) -> bool {
    matches!(u32::from(c), 0x3040..=0x30FF | 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xAC00..=0xD7AF
        | 0xF900..=0xFAFF | 0x20000..=0x2FA1F)
}

fn push_pairs(part: &str, terms: &mut Vec<String>) {
    let chars: Vec<char> = part.chars().collect();
    if chars.len() == 1 {
        push(part.to_owned(), terms);
    }
    for pair in chars.windows(2) {
        push(pair.iter().flat_map(|c| c.to_lowercase()).collect(), terms);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

    fn joined(text: &str) -> String {
        terms(text).join(" ")
    }

    #[test]
    fn words_are_stemmed_and_function_words_dropped() {
        assert_eq!(joined("The handshakes were failing"), "handshak were fail");
        assert_eq!(joined("don't panic, Mary's kiln"), "don panic mari kiln");
    }

    #[test]
    fn identifiers_are_whole_and_in_parts() {
        assert_eq!(joined("runqGet"), "runqget runq get");
        assert_eq!(joined("parse_header()"), "parse_header pars header");
        assert_eq!(joined("HTTPServer"), "httpserver http server");
        assert_eq!(joined("Type::method"), "type:method type method");
        assert_eq!(joined("src/lib.rs"), "src/lib.rs src lib rs");
        assert_eq!(joined("E0425"), "e0425 e 0425");
        assert_eq!(joined("acme/kiln#7"), "acme/kiln#7 acm kiln 7");
        assert_eq!(joined("PROJ-12."), "proj-12 proj 12");
        assert_eq!(joined("draft-ietf-tls-esni-06"), "draft-ietf-tls-esni-06 draft ietf tls esni 06");
        assert_eq!(joined("v1.2.3"), "v1.2.3 v1 v 1 2 3");
        assert_eq!(joined("0x1301"), "0x1301 0 x 1301");
    }

    #[test]
    fn scripts_without_spaces_become_pairs() {
        assert_eq!(joined("握手失败"), "握手 手失 失败");
        assert_eq!(joined("naïve Größe"), "naïve größe");
    }

    proptest! {
        #[test]
        fn any_text_gives_bounded_lower_case_terms(text in "\\PC{0,200}") {
            for term in terms(&text) {
                prop_assert!(!term.is_empty() && term.len() <= MAX_TERM_BYTES);
                prop_assert!(!term.chars().any(char::is_whitespace));
            }
        }

        #[test]
        fn a_question_has_each_term_once(text in "[a-zA-Z _.-]{0,80}") {
            let once = query_terms(&text);
            let mut sorted = once.clone();
            sorted.sort();
            sorted.dedup();
            prop_assert_eq!(sorted.len(), once.len());
            let all = terms(&text);
            prop_assert!(all.iter().all(|term| once.contains(term)));
        }
    }
}
