//! What goes to stdout: text for people, JSON for programs.

use anyhow::Result;
use jiff::Timestamp;
use serde::Serialize;
use std::io::Write;

/// Prints `text` as it is. A closed pipe ends output, not the program's work.
pub(crate) fn text(text: &str) {
    let _reader_gone = std::io::stdout().write_all(text.as_bytes());
}

/// Prints one JSON value and a line end.
pub(crate) fn json(value: &impl Serialize) -> Result<()> {
    text(&(serde_json::to_string_pretty(value)? + "\n"));
    Ok(())
}

/// Text from elsewhere, safe for a terminal: control characters would move the
/// cursor, change colours or hide what stands there, and marks of direction would
/// show it in another order.
pub(crate) fn clean(text: &str) -> String {
    let shown = |c: char| {
        if c.is_control() || turns(c) {
            '\u{FFFD}'
        } else {
            c
        }
    };
    text.chars().map(shown).collect()
}

/// As [`clean`], line by line; tabs become spaces.
pub(crate) fn clean_lines(text: &str) -> impl Iterator<Item = String> {
    text.lines().map(|line| clean(&line.replace('\t', "    ")))
}

fn turns(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}')
}

/// How long ago, in the largest unit that is at least one.
pub(crate) fn age(then: Timestamp) -> String {
    let seconds = Timestamp::now()
        .as_second()
        .saturating_sub(then.as_second())
        .max(0);
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..86_400 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

/// Bytes in a unit a person reads.
pub(crate) fn bytes(bytes: u64) -> String {
    match bytes {
        0..1_024 => format!("{bytes} B"),
        1_024..1_048_576 => format!("{:.1} KiB", bytes as f64 / 1_024.0),
        1_048_576..1_073_741_824 => format!("{:.1} MiB", bytes as f64 / 1_048_576.0),
        _ => format!("{:.1} GiB", bytes as f64 / 1_073_741_824.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_cannot_drive_the_terminal() {
        assert_eq!(clean("a\u{1b}[2Jb\r\nc"), "a\u{FFFD}[2Jb\u{FFFD}\u{FFFD}c");
        assert_eq!(clean("a\u{202e}b"), "a\u{FFFD}b");
        let lines: Vec<String> = clean_lines("a\tb\r\nc\u{7}").collect();
        assert_eq!(lines, ["a    b", "c\u{FFFD}"]);
    }

    #[test]
    fn sizes_read_well() {
        assert_eq!(bytes(1_023), "1023 B");
        assert_eq!(bytes(1_536), "1.5 KiB");
        assert_eq!(bytes(3_221_225_472), "3.0 GiB");
    }
}
