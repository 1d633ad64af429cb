//! The changelog as events.

use super::people;
use crate::{
    clean::clean_line,
    fields::{Fields, Notes},
};
use whence_contract::TicketEvent;

/// One for each field that a change touched.
pub(super) fn read(payload: &mut Fields, notes: &mut Notes) -> Vec<TicketEvent> {
    let mut events = Vec::new();
    for mut change in payload.objects("changelog", notes) {
        let actor = people::person(&mut change, "author", notes);
        let at = change.time("created", notes);
        for mut item in change.objects("items", notes) {
            let Some(field) = item.line("field", notes) else {
                continue;
            };
            let from = item.line("fromString", notes);
            let to = item.line("toString", notes);
            events.push(TicketEvent {
                kind: match field.as_str() {
                    "Key" => "moved".to_owned(),
                    field => clean_line(&field.to_lowercase()),
                },
                actor: actor.clone(),
                at,
                text: words(from, to),
            });
        }
    }
    events
}

fn words(from: Option<String>, to: Option<String>) -> Option<String> {
    match (from, to) {
        (None, None) => None,
        (Some(from), None) => Some(format!("{from} →")),
        (None, Some(to)) => Some(format!("→ {to}")),
        (Some(from), Some(to)) => Some(format!("{from} → {to}")),
    }
}
