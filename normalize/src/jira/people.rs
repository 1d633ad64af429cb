//! What an account is called.

use crate::{
    clean::clean_line,
    fields::{Fields, Notes},
};
use serde_json::Value;

/// What Jira calls every account that is gone.
const FORMER: &str = "Former user";

/// The name of an account in a field; `None` where nobody is named, or the
/// account is gone.
pub(super) fn person(fields: &mut Fields, name: &str, notes: &mut Notes) -> Option<String> {
    fields.take(name, notes, |value| read(&value)).flatten()
}

/// `None` where it is no account at all.
fn read(value: &Value) -> Option<Option<String>> {
    let account = value.as_object()?;
    let text = |field: &str| {
        let text = clean_line(account.get(field)?.as_str()?);
        (!text.is_empty()).then_some(text)
    };
    let deleted = text("accountId").as_deref() == Some("unknown");
    let closed = account.get("active") == Some(&Value::Bool(false))
        && text("displayName").as_deref() == Some(FORMER);
    if deleted || closed {
        return Some(None);
    }
    // Server's accounts have names too; an empty display name is possible.
    Some(["displayName", "name", "key"].into_iter().find_map(text))
}
