//! A value as it is compared.

use super::table::{Filter, Takes};
use crate::{
    SearchError,
    line::{self, Fault},
};
use jiff::{civil::Date, tz::TimeZone};
use whence_contract::Timestamp;

/// The value in the form that SQL compares.
///
/// # Errors
/// When the filter does not take it.
pub(super) fn value(filter: &Filter, given: &str) -> Result<String, SearchError> {
    let refused = |hint: String| {
        let name = filter.name;
        SearchError::bad_request(format!("the filter {name} does not take {given:?}"), hint)
    };
    // What no row can hold, Postgres would refuse as a fault of ours.
    if let Err(Fault(fault, hint)) = line::check(given) {
        let example = filter.example;
        return Err(refused(format!("it {fault}: {hint}; one is {example}")));
    }
    let trimmed = given.trim();
    match filter.takes {
        Takes::Text => Ok(trimmed.to_owned()),
        Takes::Folded => Ok(trimmed.trim_start_matches('@').to_lowercase()),
        Takes::Word(words) => {
            let word = trimmed.to_lowercase().replace('_', "-");
            // What other systems and the first design call them.
            let word = match word.as_str() {
                "mr" | "pr" | "pull-request" | "pull" => "merge-request",
                "local-finding" => "finding",
                word => word,
            };
            if words.contains(&word) {
                Ok(word.to_owned())
            } else {
                Err(refused(format!("it is one of: {}", words.join(", "))))
            }
        }
        Takes::Time => time(trimmed)
            .map(|time| time.to_string())
            .ok_or_else(|| refused("write it as 2024-01-31 or 2024-01-31T12:00:00Z".to_owned())),
    }
}

/// RFC 3339, or a date in UTC.
pub(super) fn time(text: &str) -> Option<Timestamp> {
    if let Ok(time) = text.parse::<Timestamp>() {
        return Some(time);
    }
    let date: Date = text.parse().ok()?;
    date.to_zoned(TimeZone::UTC)
        .ok()
        .map(|zoned| zoned.timestamp())
}
