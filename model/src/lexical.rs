//! Text to the terms that BM25 counts, for the index and for questions alike.
//!
//! A plain word is lower-cased and stemmed as English. An identifier is kept
//! whole and in its parts. Scripts that write no spaces become pairs of
//! neighbours. Accents count: `café` is not `cafe`.

use rust_stemmers::{Algorithm, Stemmer};
use std::collections::HashSet;

/// The longest term in bytes; a longer one is cut at a character.
pub const MAX_TERM_BYTES: usize = 64;

/// Words that tell no texts apart and would make an eighth of all postings;
/// without them ranking is slightly better as well.
const FUNCTION_WORDS: [&str; 33] = [
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it",
    "no", "not", "of", "on", "or", "such", "that", "the", "their", "then", "there", "these",
    "they", "this", "to", "was", "will", "with",
];

/// The terms of a text, in its order, with repetitions: their number is the
/// text's lexical length. Depends on the text alone; any text is allowed.
pub fn terms(text: &str) -> Vec<String> {
    let mut terms = Terms {
        list: Vec::new(),
        stemmer: Stemmer::create(Algorithm::English),
    };
    for run in text.split(|c| !is_word(c) && !joins(c)) {
        terms.run(run.trim_matches(joins));
    }
    terms.list
}

/// The terms of a question: as [`terms`], each once, in order of first appearance.
pub fn query_terms(text: &str) -> Vec<String> {
    let mut seen = HashSet::new();
    let mut list = terms(text);
    list.retain(|term| seen.insert(term.clone()));
    list
}

/// Letters, digits, and the combining marks that belong to the letter before.
fn is_word(c: char) -> bool {
    c.is_alphanumeric()
        || matches!(c, '\u{300}'..='\u{36f}' | '\u{900}'..='\u{dff}' | '\u{e31}'..='\u{e4e}')
}

/// What holds an identifier together between two words; elsewhere punctuation.
fn joins(c: char) -> bool {
    separates(c) || apostrophe(c) || matches!(c, '_' | '-' | '.' | '+')
}

/// What stands between names that are also used alone: `owner/repo#7`,
/// `Type::method`, `path/file.ext`.
fn separates(c: char) -> bool {
    matches!(c, '/' | ':' | '#' | '@')
}

fn apostrophe(c: char) -> bool {
    matches!(c, '\'' | '’')
}

/// Scripts without spaces: kana, Han, Hangul.
fn unspaced(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}')
}

struct Terms {
    list: Vec<String>,
    stemmer: Stemmer,
}

impl Terms {
    /// Words and what joins them, without joiners at the ends.
    fn run(&mut self, run: &str) {
        let words: Vec<&str> = run.split(joins).filter(|word| !word.is_empty()).collect();
        // `don't` and `Mary's` are words, not identifiers.
        if let [word, ending] = words[..]
            && run.contains(apostrophe)
            && ending.chars().count() <= 2
        {
            return self.word(word);
        }
        if words.len() > 1 {
            // An address is found by its parts, or exactly, by another way.
            if !run.contains("://") {
                self.push(&run.to_lowercase());
            }
            for name in run.split(separates).map(|name| name.trim_matches(joins)) {
                if name.len() < run.len() && name.contains(joins) {
                    self.push(&name.to_lowercase());
                }
            }
        }
        for word in words {
            for script in cut(word, |a, b, _| unspaced(a) != unspaced(b)) {
                match script.chars().next() {
                    Some(first) if unspaced(first) => self.pairs(script),
                    _ => self.word(script),
                }
            }
        }
    }

    /// Letters, marks and digits only: `runqGet`, `E0425`, `café`.
    fn word(&mut self, word: &str) {
        let (name, number) = numbered(word);
        let parts = cut(name, changes_case);
        if parts.len() > 1 || !number.is_empty() {
            self.push(&word.to_lowercase());
        }
        for part in parts {
            let part = part.to_lowercase();
            if FUNCTION_WORDS.contains(&part.as_str()) {
                continue;
            }
            if part.bytes().all(|b| b.is_ascii_lowercase()) {
                let stem = self.stemmer.stem(&part).into_owned();
                self.push(&stem);
            } else {
                self.push(&part);
            }
        }
        self.push(number);
    }

    fn pairs(&mut self, run: &str) {
        let starts: Vec<usize> = run.char_indices().map(|(at, _)| at).collect();
        if starts.len() == 1 {
            self.push(run);
        }
        for (i, start) in starts.iter().enumerate().take(starts.len() - 1) {
            let end = starts.get(i + 2).copied().unwrap_or(run.len());
            self.push(&run[*start..end]);
        }
    }

    fn push(&mut self, term: &str) {
        let term = &term[..term.floor_char_boundary(MAX_TERM_BYTES)];
        if !term.is_empty() {
            self.list.push(term.to_owned());
        }
    }
}

/// `runq|Get`, `HTTP|Server`.
fn changes_case(before: char, here: char, after: Option<char>) -> bool {
    here.is_uppercase()
        && (before.is_lowercase()
            || (before.is_uppercase() && after.is_some_and(char::is_lowercase)))
}

/// A name and the number at its end: `draft|06`, `utf|8`. Codes such as `E0425`,
/// `v1` and `0x1301` mean nothing in parts and stay whole.
fn numbered(word: &str) -> (&str, &str) {
    let name = word.trim_end_matches(|c: char| c.is_ascii_digit());
    if name.chars().all(char::is_alphabetic) && name.chars().count() >= 3 {
        word.split_at(name.len())
    } else {
        (word, "")
    }
}

/// `text` cut between two characters wherever `border(before, here, after)` holds.
fn cut(text: &str, border: impl Fn(char, char, Option<char>) -> bool) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut before = None;
    let mut chars = text.char_indices().peekable();
    while let Some((at, here)) = chars.next() {
        let after = chars.peek().map(|(_, c)| *c);
        if before.is_some_and(|before| border(before, here, after)) {
            parts.push(&text[start..at]);
            start = at;
        }
        before = Some(here);
    }
    parts.push(&text[start..]);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_are_stemmed_and_identifiers_whole_and_in_parts() {
        let cases = [
            ("The connections were failing.", "connect were fail"),
            ("don't panic, Mary’s kiln", "don panic mari kiln"),
            ("runqGet", "runqget runq get"),
            ("HTTPServer", "httpserver http server"),
            ("snake_case", "snake_case snake case"),
            ("a-b", "a-b b"),
            ("x.y.z", "x.y.z x y z"),
            (
                "path/to/file.ext",
                "path/to/file.ext file.ext path file ext",
            ),
            ("Type::method()", "type::method type method"),
            ("E0425 v1 0x1301", "e0425 v1 0x1301"),
            (
                "sha256 ClientHello2",
                "sha256 sha 256 clienthello2 client hello 2",
            ),
            ("1.2.3", "1.2.3 1 2 3"),
            ("(#123) # Heading", "123 head"),
            ("owner/repo_x#7", "owner/repo_x#7 repo_x owner repo x 7"),
            ("PROJ-12,", "proj-12 proj 12"),
            ("draft-ietf-tls-06.", "draft-ietf-tls-06 draft ietf tls 06"),
            (
                "https://kiln.example/a_b/7",
                "kiln.example a_b https kiln exampl b 7",
            ),
            ("--flag ... C++", "flag c"),
            ("東京都 API東京", "東京 京都 api 東京"),
            ("Zürich cafe\u{301}s", "zürich cafe\u{301}s"),
        ];
        for (text, expected) in cases {
            assert_eq!(terms(text).join(" "), expected, "{text}");
        }
    }

    #[test]
    fn a_question_has_each_term_once() {
        assert_eq!(query_terms("fail failing x-b b"), ["fail", "x-b", "x", "b"]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn any_text_gives_bounded_terms(
            text in "\\PC{0,120}|[a-zA-Z0-9#./:_'’-]{0,120}|[ぁ-ん一-丁a-c ]{0,40}|(?s:.{0,60})"
        ) {
            let all = terms(&text);
            for term in &all {
                prop_assert!(!term.is_empty() && term.len() <= MAX_TERM_BYTES);
                prop_assert!(!term.contains(|c: char| c.is_whitespace() || c == '\0'));
            }
            prop_assert_eq!(&all, &terms(&text), "terms depend on the text alone");
            let distinct: HashSet<&String> = all.iter().collect();
            let query = query_terms(&text);
            prop_assert_eq!(query.len(), distinct.len());
            prop_assert!(query.iter().all(|term| distinct.contains(term)));
        }

        #[test]
        fn lines_do_not_touch_each_other(a in "\\PC{0,60}", b in "\\PC{0,60}") {
            let mut apart = terms(&a);
            apart.extend(terms(&b));
            prop_assert_eq!(terms(&format!("{a}\n{b}")), apart);
        }
    }
}
