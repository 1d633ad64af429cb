//! JSON text to values, where serde_json alone would fail the whole ticket for
//! one character or number that nobody needs.
//!
//! An unpaired surrogate escape becomes U+FFFD (valid pairs stay what they
//! are), and a number that no `f64` can hold becomes its own text. Of two equal
//! keys the last one counts. Nesting beyond serde_json's limit stays an error.

use serde_json::Value;
use std::borrow::Cow;

/// The value of a JSON text that a foreign service wrote.
///
/// # Errors
/// When it is not JSON, or is nested deeper than 127 levels.
pub fn lenient_json(json: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str(&repair(json))
}

/// The same JSON with the two faults mended. Text that is no JSON may come out
/// as any other text that is no JSON; the parser decides after this.
fn repair(json: &str) -> Cow<'_, str> {
    let bytes = json.as_bytes();
    let mut mended = String::new();
    // Everything before `copied` is in `mended` already.
    let (mut copied, mut at, mut in_text) = (0, 0, false);
    while at < bytes.len() {
        let (end, replacement) = match bytes[at] {
            b'"' => {
                in_text = !in_text;
                (at + 1, None)
            }
            b'\\' => match unit(bytes, at) {
                Some(0xd800..=0xdbff) if matches!(unit(bytes, at + 6), Some(0xdc00..=0xdfff)) => {
                    (at + 12, None)
                }
                Some(0xd800..=0xdfff) => (at + 6, Some(Cow::Borrowed("\\ufffd"))),
                _ => (at + 2, None),
            },
            b'-' | b'0'..=b'9' if !in_text => {
                let end = number_end(bytes, at);
                let text = &json[at..end];
                (end, too_large(text).then(|| format!("\"{text}\"").into()))
            }
            _ => (at + 1, None),
        };
        if let Some(replacement) = replacement {
            mended.push_str(&json[copied..at]);
            mended.push_str(&replacement);
            copied = end;
        }
        at = end;
    }
    if copied == 0 {
        return Cow::Borrowed(json);
    }
    mended.push_str(&json[copied..]);
    Cow::Owned(mended)
}

/// The UTF-16 unit of a `\uXXXX` escape that begins at `at`.
fn unit(bytes: &[u8], at: usize) -> Option<u16> {
    let digits = bytes.get(at..at + 6)?.strip_prefix(b"\\u")?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

fn number_end(bytes: &[u8], from: usize) -> usize {
    let more = |byte: &u8| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-');
    from + bytes[from..].iter().take_while(|byte| more(byte)).count()
}

/// serde_json refuses what overflows an `f64`; its own arithmetic may differ
/// from the standard library's in the last place, hence the margin.
fn too_large(number: &str) -> bool {
    number.len() > 3
        && number
            .parse::<f64>()
            .is_ok_and(|value| value.abs() >= 1e308)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use proptest::prelude::*;

    fn text(json: &str) -> String {
        let fields = lenient_json(&format!("{{\"a\":\"{json}\"}}")).unwrap();
        fields["a"].as_str().unwrap().to_owned()
    }

    #[test]
    fn lone_surrogates_are_replaced_and_pairs_kept() {
        assert_eq!(text(r"x\ud83dy"), "x\u{fffd}y");
        assert_eq!(text(r"\ud83d\ude00"), "\u{1f600}");
        assert_eq!(text(r"\ud83d\ud83d\ude00"), "\u{fffd}\u{1f600}");
        assert_eq!(text(r"\ude00\ud83d"), "\u{fffd}\u{fffd}");
        assert_eq!(text(r"\ud83d\u0041\uDBFF\n"), "\u{fffd}A\u{fffd}\n");
        // An escaped backslash before a `u` is no escape of a unit.
        assert_eq!(text(r"\\ud83d"), r"\ud83d");
        assert_eq!(text(r"\\\ud83d\\"), "\\\u{fffd}\\");
    }

    #[test]
    fn huge_numbers_become_text_and_texts_stay() {
        let fields =
            lenient_json(r#"{"a":1e400,"b":[-1E999,1e300,7],"c":"1e400 \" 1e400"}"#).unwrap();
        assert_eq!(fields["a"], "1e400");
        assert_eq!(fields["b"][0], "-1E999");
        assert!(fields["b"][1].is_f64());
        assert_eq!(fields["b"][2], 7);
        assert_eq!(fields["c"], "1e400 \" 1e400");
    }

    #[test]
    fn last_of_equal_keys_and_limits() {
        assert_eq!(lenient_json(r#"{"a":1,"a":2}"#).unwrap()["a"], 2);
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(500), "]".repeat(500));
        assert!(lenient_json(&deep).is_err());
        assert!(lenient_json("{\"a\":").is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_decided_without_panic(json in any::<String>()) {
            drop(lenient_json(&json));
        }

        #[test]
        fn escapes_never_fail(json in r#"(\\u[0-9a-fA-F]{4}|\\ud[89abcdef]0f|\\\\|\\"|\\n|u|é){0,12}"#) {
            let fields = lenient_json(&format!("{{\"a\":\"{json}\"}}"));
            prop_assert!(fields.is_ok(), "{:?}", fields);
        }

        #[test]
        fn valid_json_without_faults_is_untouched(texts in prop::collection::vec(any::<String>(), 0..4), number in any::<i64>()) {
            let json = serde_json::json!({"texts": texts, "number": number}).to_string();
            prop_assert!(matches!(repair(&json), Cow::Borrowed(_)));
        }

        #[test]
        fn exponents_never_fail(mantissa in "-?[1-9][0-9]{0,3}(\\.[0-9]{1,3})?", exponent in -500i32..500) {
            let json = format!("{{\"a\":{mantissa}e{exponent}}}");
            prop_assert!(lenient_json(&json).is_ok());
        }
    }
}
