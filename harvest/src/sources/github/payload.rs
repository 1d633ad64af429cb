//! What a ticket's payload is: the ticket's node of the GraphQL answer, with every
//! list as `{"totalCount": …, "nodes": […]}`, and with three changes of our own.
//!
//! Reactions that nobody gave are left out, a renamed file has its former path as
//! `previousPath`, and reviews that are not submitted are there only where the
//! settings say so.

use serde_json::Value;

/// Reviews that are not submitted are seen by their author alone.
pub(super) fn without_pending(ticket: &mut Value) {
    let submitted = |node: &Value| node["state"] != "PENDING";
    if let Some(reviews) = ticket["reviews"]["nodes"].as_array_mut() {
        reviews.retain(submitted);
    }
    if let Some(threads) = ticket["reviewThreads"]["nodes"].as_array_mut() {
        threads.retain_mut(|thread| match thread["comments"]["nodes"].as_array_mut() {
            None => true,
            Some(replies) => {
                let before = replies.len();
                replies.retain(submitted);
                before == 0 || !replies.is_empty()
            }
        });
    }
}

/// Leaves out reactions that nobody gave: every comment names all eight.
pub(super) fn tidy(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(tidy),
        Value::Object(fields) => {
            if let Some(Value::Array(groups)) = fields.get_mut("reactionGroups") {
                groups.retain(|group| group["reactors"]["totalCount"] != 0);
            }
            fields.values_mut().for_each(tidy);
        }
        _ => {}
    }
}
