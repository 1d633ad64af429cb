//! What every text goes through before it is part of a document.
//!
//! Postgres refuses NUL; a text must hash alike however its lines end; and a
//! control character in a title can repaint a reader's terminal.

use serde_json::{Map, Value};

/// A body: LF line ends, no byte order mark, no control character but `\n` and
/// `\t`. Idempotent.
pub fn clean_text(text: &str) -> String {
    let mut cleaned = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' => {
                if chars.peek() == Some(&'\n') {
                    chars.next();
                }
                cleaned.push('\n');
            }
            '\n' | '\t' => cleaned.push(c),
            '\u{feff}' => {}
            c if c.is_control() => {}
            c => cleaned.push(c),
        }
    }
    cleaned
}

/// A name, title or id: [`clean_text`] on one line, runs of white space as one
/// space, none at the ends. Idempotent.
pub fn clean_line(text: &str) -> String {
    let text = clean_text(text);
    let mut line = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    line
}

/// [`clean_text`] on every key and text within `value`.
pub(crate) fn clean_value(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(clean_text(&text)),
        Value::Array(items) => items.into_iter().map(clean_value).collect(),
        Value::Object(fields) => Value::Object(
            fields
                .into_iter()
                .map(|(name, value)| (clean_text(&name), clean_value(value)))
                .collect::<Map<_, _>>(),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_keeps_prose_and_loses_controls() {
        assert_eq!(
            clean_text("\u{feff}a\r\nb\rc\0d\u{7}\u{85}\te\u{1b}[31m"),
            "a\nb\ncd\te[31m"
        );
        assert_eq!(clean_line("  a\r\n\tb\u{a0}c "), "a b c");
    }

    proptest! {
        #[test]
        fn cleaning_twice_is_cleaning_once(text in any::<String>(), dirt in "[\\r\\n\\t\u{0}\u{feff}\u{85} a]{0,40}") {
            for text in [text, dirt] {
                let body = clean_text(&text);
                prop_assert_eq!(&clean_text(&body), &body);
                prop_assert!(body.chars().all(|c| c == '\n' || c == '\t' || !c.is_control()));
                let line = clean_line(&text);
                prop_assert_eq!(&clean_line(&line), &line);
                prop_assert!(!line.chars().any(char::is_control));
            }
        }
    }
}
