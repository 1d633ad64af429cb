//! What every chunk of a section begins with: the title and the headings above.

use crate::limits::{CountTokens, Limits};
use crate::split::{Room, head};

/// The title, then the headings on a line of their own, then an empty line;
/// empty where there is neither. Takes at most a third of the budget: outer
/// headings are left out first, then title and heading are shortened.
///
/// A first heading that repeats the title, as in most wiki notes, is left out.
pub fn prefix(title: &str, path: &[String], limits: &Limits, counter: &dyn CountTokens) -> String {
    let title = one_line(title, limits.bytes());
    let mut headings: Vec<String> = path
        .iter()
        .map(|heading| one_line(heading, limits.bytes()))
        .collect();
    if headings
        .first()
        .is_some_and(|first| first.eq_ignore_ascii_case(&title))
    {
        headings.remove(0);
    }
    let empty = counter.count("");
    let cost = |text: &str| counter.count(text).saturating_sub(empty);
    let most = limits.tokens() / 3;
    let fits = |text: &str| text.len() <= limits.bytes() && cost(text) <= most;

    let whole = join(&title, &headings.join(" > "));
    if fits(&whole) {
        return whole;
    }
    let heading = headings.pop().unwrap_or_default();
    let innermost = join(&title, &heading);
    if fits(&innermost) {
        return innermost;
    }
    let half = Room {
        tokens: most / 2,
        bytes: limits.bytes() / 4,
    };
    let heading = shortened(&heading, half, cost);
    let left = Room {
        tokens: most.saturating_sub(cost(&heading)),
        ..half
    };
    let short = join(&shortened(&title, left, cost), &heading);
    // A counter that does not add up may still object.
    if fits(&short) { short } else { String::new() }
}

fn join(title: &str, headings: &str) -> String {
    match (title.is_empty(), headings.is_empty()) {
        (true, true) => String::new(),
        (true, false) => format!("{headings}\n\n"),
        (false, true) => format!("{title}\n\n"),
        (false, false) => format!("{title}\n{headings}\n\n"),
    }
}

/// On one line, with single spaces, and not much longer than `bytes`.
fn one_line(text: &str, bytes: usize) -> String {
    let mut line = String::new();
    for word in text.split_whitespace() {
        if line.len() > bytes {
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        // Twice the bound is more than fits anyway.
        line.push_str(&word[..word.floor_char_boundary(2 * bytes)]);
    }
    line
}

/// The start of `text` that fits with an ellipsis behind it.
fn shortened(text: &str, room: Room, cost: impl Fn(&str) -> usize) -> String {
    if text.is_empty() || (text.len() <= room.bytes && cost(text) <= room.tokens) {
        return text.to_owned();
    }
    let tokens = room.tokens.saturating_sub(cost("…"));
    let length = head(text, Room { tokens, ..room }, cost);
    format!("{}…", text[..length].trim_end())
}
