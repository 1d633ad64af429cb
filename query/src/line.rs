//! Text that is compared with what is stored: on one line, with nothing hidden
//! in it. One rule for parameters and filters, and its schema.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use std::borrow::Cow;

/// The longest, in characters.
const MOST: usize = 2048;

/// A text on one line.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Line(pub(crate) String);

/// What is wrong with a text: what it is or has, and what to do.
pub(crate) struct Fault(pub(crate) String, pub(crate) String);

/// # Errors
/// When it is blank, too long, or hides something.
pub(crate) fn check(text: &str) -> Result<(), Fault> {
    if let Some(hidden) = text.chars().find(|c| is_hidden(*c)) {
        let fault = format!("holds the invisible character {hidden:?}");
        return Err(Fault(fault, "leave it out".to_owned()));
    }
    if text.trim().is_empty() {
        let hint = "give a value, or leave it out".to_owned();
        return Err(Fault("is empty".to_owned(), hint));
    }
    match text.chars().count() {
        0..=MOST => Ok(()),
        chars => {
            let fault = format!("has {chars} characters");
            Err(Fault(fault, format!("at most {MOST} are read")))
        }
    }
}

/// Control characters, and marks that change how the text around them is shown.
/// Joiners and tags are not among them: names and emoji need them.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
            | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
            | '\u{fff9}'..='\u{fffb}')
}

/// The same characters within a class of a regular expression.
const HIDDEN: &str = r"\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb";

impl JsonSchema for Line {
    fn schema_name() -> Cow<'static, str> {
        "Line".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "A text on one line, not blank, without invisible characters.",
            "type": "string",
            "minLength": 1,
            "maxLength": MOST,
            "pattern": format!(r"^[^{HIDDEN}]*[^{HIDDEN}\s][^{HIDDEN}]*$"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn emoji_and_names_pass_and_what_hides_does_not() {
        for text in [
            "a",
            "é 漢",
            "👩\u{200d}💻",
            "می\u{200c}خواهم",
            &"x".repeat(MOST),
        ] {
            assert!(check(text).is_ok(), "{text}");
        }
        for text in [
            "",
            " ",
            "a\0",
            "a\n",
            "\u{202e}a",
            "\u{feff}a",
            &"x".repeat(MOST + 1),
        ] {
            assert!(check(text).is_err(), "{text:?}");
        }
    }
}
