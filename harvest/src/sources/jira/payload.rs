//! What is published of an issue, in a shape that is the same however it was
//! asked for:
//!
//! ```json
//! {
//!   "url": "https://acme.atlassian.net/browse/PROJ-12",
//!   "issue": { "id": "10012", "key": "PROJ-12", "self": …, "fields": { … } },
//!   "comments": [ … ],
//!   "comment_total": 3,
//!   "changelog": [ … ],
//!   "names": { "customfield_10031": "Acceptance criteria" }
//! }
//! ```
//!
//! `fields` are Jira's without empty ones and without `comment`; `comments` and
//! `changelog` are the joined pages, oldest first; `comment_total` is Jira's own
//! count, which may be more where comments are left out.

use super::search::millis;
use serde_json::{Map, Value, json};

/// Changed with nobody changing the issue, or by who looks.
const VOLATILE: [&str; 3] = ["avatarUrls", "expand", "thumbnail"];
/// Of a service desk's clocks, which run.
const RUNNING: [&str; 2] = ["elapsedTime", "remainingTime"];
/// Changes of these hold whole texts that were taken back: what was deleted is
/// not to live on in a list of changes.
const PROSE: [&str; 3] = ["description", "environment", "comment"];
/// A longer text in a change is prose, whatever its field.
const LONGEST_CHANGE: usize = 255;

/// An issue with everything that hangs on it.
pub(super) struct Parts<'a> {
    pub(super) site: &'a str,
    pub(super) issue: Value,
    pub(super) comments: Vec<Value>,
    pub(super) comment_total: u64,
    pub(super) changelog: Vec<Value>,
    pub(super) names: &'a Map<String, Value>,
    pub(super) confidential: bool,
}

/// See the head of this file.
pub(super) fn payload(parts: Parts<'_>) -> Value {
    let Parts { mut issue, .. } = parts;
    let mut comments = parts.comments;
    if !parts.confidential {
        comments.retain(|comment| !is_restricted(comment));
    }
    let mut changelog = parts.changelog;
    changelog.iter_mut().for_each(drop_prose);
    in_order(&mut comments);
    in_order(&mut changelog);

    let mut fields = match issue.get_mut("fields").map(Value::take) {
        Some(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    fields.remove("comment");
    fields.retain(|_, value| !value.is_null());
    let known = |id: &String| Some((id.clone(), parts.names.get(id)?.clone()));
    let custom = fields.keys().filter(|id| id.starts_with("customfield_"));
    let names: Map<String, Value> = custom.filter_map(known).collect();

    let text = |field: &str| issue.get(field).cloned().unwrap_or_default();
    let url = format!("{}/browse/{}", parts.site, key_of(&issue));
    let mut payload = json!({
        "url": url,
        "issue": {
            "id": text("id"), "key": text("key"), "self": text("self"), "fields": fields,
        },
        "comments": comments,
        "comment_total": parts.comment_total,
        "changelog": changelog,
        "names": names,
    });
    settle(&mut payload);
    payload
}

/// The same for a payload and for a result of a census: see
/// [`whence_contract::RawTicket::mark`]. The key is in it because a move may
/// keep the time, the count because deleting a comment may.
pub(super) fn mark(updated: Option<i64>, comments: u64, key: &str) -> String {
    match updated {
        Some(updated) => format!("{updated} {comments} {key}"),
        None => format!("? {comments} {key}"),
    }
}

/// The mark of a payload.
pub(super) fn mark_of(payload: &Value) -> String {
    let updated = payload.pointer("/issue/fields/updated").and_then(millis);
    let comments = payload.get("comment_total").and_then(Value::as_u64);
    let issue = payload.get("issue").unwrap_or(&Value::Null);
    mark(updated, comments.unwrap_or_default(), key_of(issue))
}

/// The issue's present key.
pub(super) fn key_of(issue: &Value) -> &str {
    issue.get("key").and_then(Value::as_str).unwrap_or_default()
}

/// The keys that the issue had before it was moved, the oldest first, and the
/// present one.
pub(super) fn names_of(payload: &Value) -> Vec<String> {
    let present = payload.get("issue").map(key_of).unwrap_or_default();
    let changes = payload.get("changelog").and_then(Value::as_array);
    let items = changes
        .into_iter()
        .flatten()
        .filter_map(|change| change.get("items")?.as_array())
        .flatten();
    let mut names: Vec<String> = Vec::new();
    for item in items {
        let text = |name: &str| item.get(name).and_then(Value::as_str);
        if text("field") == Some("Key")
            && let Some(former) = text("fromString")
            && former != present
            && !names.iter().any(|name| name == former)
        {
            names.push(former.to_owned());
        }
    }
    names.push(present.to_owned());
    names
}

/// Whether only some people may see an issue: it has a security level, or is
/// restricted to roles as in team-managed projects.
pub(super) fn is_confidential(fields: &Value) -> bool {
    let level = fields.get("security").is_some_and(|level| !level.is_null());
    let roles = fields.pointer("/issuerestriction/issuerestrictions");
    level
        || roles
            .and_then(Value::as_object)
            .is_some_and(|r| !r.is_empty())
}

/// Whether only some readers of the issue may see a comment: it is shown to a
/// role or a group, or is an internal note of a service desk.
pub(super) fn is_restricted(comment: &Value) -> bool {
    let shown_to = comment.get("visibility").is_some_and(|v| !v.is_null());
    let internal = comment.get("jsdPublic") == Some(&Value::Bool(false));
    let properties = comment.get("properties").and_then(Value::as_array);
    let marked = properties.into_iter().flatten().any(|property| {
        property.get("key").and_then(Value::as_str) == Some("sd.public.comment")
            && property.pointer("/value/internal") == Some(&Value::Bool(true))
    });
    shown_to || internal || marked
}

/// By time and then by id, whatever order a call gives.
fn in_order(items: &mut [Value]) {
    items.sort_by_key(|item| {
        let created = item.get("created").and_then(millis).unwrap_or(i64::MAX);
        let id = item.get("id").and_then(Value::as_str);
        (created, id.and_then(|id| id.parse::<u64>().ok()))
    });
}

fn drop_prose(change: &mut Value) {
    let items = change.get_mut("items").and_then(Value::as_array_mut);
    for item in items.into_iter().flatten().filter_map(Value::as_object_mut) {
        let field = item.get("field").and_then(Value::as_str);
        let prose = field.is_some_and(|field| PROSE.contains(&field.to_lowercase().as_str()));
        for text in ["fromString", "toString", "from", "to"] {
            let long = item
                .get(text)
                .and_then(Value::as_str)
                .is_some_and(|text| text.chars().count() > LONGEST_CHANGE);
            if prose || long {
                item.remove(text);
            }
        }
    }
}

/// Takes out what changes while the issue does not.
fn settle(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(settle),
        Value::Object(fields) => {
            let runs = fields.contains_key("ongoingCycle");
            fields.retain(|name, _| !VOLATILE.contains(&name.as_str()));
            if runs && let Some(Value::Object(cycle)) = fields.get_mut("ongoingCycle") {
                cycle.retain(|name, _| !RUNNING.contains(&name.as_str()));
            }
            fields.values_mut().for_each(settle);
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(confidential: bool) -> Value {
        let issue = json!({
            "expand": "names", "id": "10012", "key": "NEW-3", "self": "x",
            "fields": {
                "summary": "s", "updated": "2026-05-30T10:00:00.250+0200", "environment": null,
                "customfield_1": {"ongoingCycle": {"goalDuration": 7, "elapsedTime": 8}},
                "customfield_2": null, "comment": {"total": 3},
                "creator": {"displayName": "Ada", "avatarUrls": {"48x48": "y"}},
            },
        });
        let comment = |id: &str, more: Value| {
            let mut comment = json!({"id": id, "created": "2026-05-30T10:00:00.000+0000"});
            for (name, value) in more.as_object().into_iter().flatten() {
                comment[name] = value.clone();
            }
            comment
        };
        let names = json!({"customfield_1": "Clock", "customfield_2": "Other"});
        payload(Parts {
            site: "https://acme.example",
            issue,
            comments: vec![
                comment("10", json!({"jsdPublic": true})),
                comment(
                    "9",
                    json!({"visibility": {"type": "role", "value": "Admins"}}),
                ),
                comment("8", json!({"jsdPublic": false})),
                comment(
                    "7",
                    json!({"properties": [{"key": "sd.public.comment", "value": {"internal": true}}]}),
                ),
            ],
            comment_total: 4,
            changelog: vec![
                json!({"id": "2", "created": "2026-05-30T11:00:00.000+0000", "items": [
                    {"field": "Key", "fromString": "OLD-1", "toString": "MID-2"}]}),
                json!({"id": "1", "created": "2026-05-30T10:00:00.000+0000", "items": [
                    {"field": "Comment", "fromString": "deleted words"},
                    {"field": "description", "fromString": "old words", "toString": "new"},
                    {"field": "Notes", "toString": "n".repeat(300), "fromString": "short"}]}),
                json!({"id": "3", "created": "2026-05-30T12:00:00.000+0000", "items": [
                    {"field": "Key", "fromString": "MID-2", "toString": "NEW-3"}]}),
            ],
            names: names.as_object().unwrap_or(&Map::new()),
            confidential,
        })
    }

    #[test]
    fn one_shape_without_what_was_deleted_or_hidden() {
        let payload = made(false);
        let text = payload.to_string();
        for gone in [
            "deleted words",
            "old words",
            "nnnn",
            "avatar",
            "elapsed",
            "Other",
            "expand",
        ] {
            assert!(!text.contains(gone), "{gone} in {text}");
        }
        assert!(text.contains("goalDuration") && text.contains("short"));
        assert_eq!(payload["comments"].as_array().map(Vec::len), Some(1));
        assert_eq!(payload["names"], json!({"customfield_1": "Clock"}));
        assert_eq!(names_of(&payload), ["OLD-1", "MID-2", "NEW-3"]);
        assert_eq!(mark_of(&payload), "1780128000250 4 NEW-3");
        assert_eq!(payload["url"], "https://acme.example/browse/NEW-3");
    }

    #[test]
    fn all_comments_where_confidential_ones_are_wanted() {
        let payload = made(true);
        let ids: Vec<&Value> = payload["comments"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|comment| &comment["id"])
            .collect();
        assert_eq!(ids, ["7", "8", "9", "10"]);
        assert_eq!(mark_of(&payload), mark_of(&made(false)));
    }

    #[test]
    fn levels_and_roles_are_confidential() {
        let open = json!({"security": null, "issuerestriction": {"issuerestrictions": {}}});
        assert!(!is_confidential(&open) && !is_confidential(&json!({})));
        let level = json!({"security": {"name": "Core team"}});
        let roles = json!({"issuerestriction": {"issuerestrictions": {"projectrole": []}}});
        assert!(is_confidential(&level) && is_confidential(&roles));
    }
}
