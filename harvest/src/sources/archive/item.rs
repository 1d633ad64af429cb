//! One item of an archive as a ticket.

use super::scan::compact;
use serde::Deserialize;
use serde_json::value::RawValue;
use whence_contract::{Dialect, Provenance, TicketKey};

/// The top-level lists that hold tickets.
pub(super) const LISTS: &[&str] = &["issues", "pulls"];
const ISSUES: &str = LISTS[0];

#[derive(Deserialize)]
struct Head<'a> {
    #[serde(borrow)]
    number: Option<&'a RawValue>,
}

/// The item's JSON and number, or what is wrong with it. Nothing else of it is
/// looked at: null authors, null bodies and fields that nobody knows go through.
pub(super) fn read(bytes: &[u8]) -> Result<(&RawValue, u64), String> {
    let json: &RawValue =
        serde_json::from_slice(bytes).map_err(|error| format!("it is no valid JSON: {error}"))?;
    if !json.get().starts_with('{') {
        return Err("it is not an object".to_owned());
    }
    let head: Head<'_> = serde_json::from_str(json.get())
        .map_err(|error| format!("its field `number` cannot be read: {error}"))?;
    let number = head
        .number
        .ok_or("it has no field `number`, so nothing says which ticket it is")?;
    match number.get().parse() {
        Ok(number) if number > 0 => Ok((json, number)),
        _ => Err(format!(
            "its field `number` is {}, which is no positive whole number",
            number.get().chars().take(40).collect::<String>()
        )),
    }
}

/// The payload to publish.
pub(super) fn payload(json: &RawValue) -> Box<RawValue> {
    RawValue::from_string(compact(json.get())).unwrap_or_else(|_| json.to_owned())
}

pub(super) fn dialect(list: &str) -> Dialect {
    if list == ISSUES {
        Dialect::GithubArchiveIssue
    } else {
        Dialect::GithubArchivePull
    }
}

pub(super) fn key(repo: &str, number: u64) -> TicketKey {
    TicketKey {
        provenance: Provenance::Upstream,
        source: super::SYSTEM.to_owned(),
        scope: repo.to_owned(),
        ticket: number.to_string(),
    }
}

/// Whether `repo` is written `owner/name`, as GitHub spells names.
pub(super) fn is_repo(repo: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty()
            && name.len() <= 100
            && name != "."
            && name != ".."
            && name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
    };
    matches!(repo.split_once('/'), Some((owner, name)) if is_name(owner) && is_name(name))
}
