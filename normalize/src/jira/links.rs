//! Issue links, parent and sub-tasks.

use crate::{
    clean::clean_line,
    fields::{Fields, Notes, named},
};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use whence_contract::{Link, LinkKind};

/// What a document gets of them.
pub(super) struct Linked {
    pub(super) links: Vec<Link>,
    /// The relations in Jira's own words, which say more than a link can.
    pub(super) meta: BTreeMap<String, Value>,
}

pub(super) fn read(fields: &mut Fields, notes: &mut Notes) -> Linked {
    let mut links: Vec<Link> = Vec::new();
    let mut add = |kind: LinkKind, target: &str| {
        let link = Link {
            kind,
            target: target.to_owned(),
        };
        if !links.contains(&link) {
            links.push(link);
        }
    };
    let mut meta = BTreeMap::new();
    let mut stated = Vec::new();
    for (kind, relation, target) in fields.list("issuelinks", notes, |link| stated_link(&link)) {
        add(kind, &target);
        stated.push(json!({ "relation": relation, "target": target }));
    }
    if !stated.is_empty() {
        meta.insert("links".to_owned(), stated.into());
    }
    if let Some(parent) = fields.name("parent", "key", notes) {
        add(LinkKind::Relates, &parent);
        meta.insert("parent".to_owned(), parent.into());
    }
    let subtasks = fields.list("subtasks", notes, |task| named(&task, "key"));
    if !subtasks.is_empty() {
        subtasks
            .iter()
            .for_each(|task| add(LinkKind::Relates, task));
        meta.insert("subtasks".to_owned(), subtasks.into());
    }
    Linked { links, meta }
}

/// The kind, the relation in words as this page has it, and the other
/// issue's key.
fn stated_link(link: &Value) -> Option<(LinkKind, String, String)> {
    let text = |path: &str| link.pointer(path)?.as_str().map(clean_line);
    let (direction, target) = match text("/outwardIssue/key") {
        Some(target) => ("outward", target),
        None => ("inward", text("/inwardIssue/key")?),
    };
    let name = text("/type/name").unwrap_or_default();
    let relation = text(&format!("/type/{direction}")).unwrap_or_else(|| name.clone());
    let duplicates = direction == "outward" && name.to_lowercase().contains("duplicate");
    let kind = match duplicates {
        true => LinkKind::Duplicates,
        false => LinkKind::Relates,
    };
    (!target.is_empty()).then_some((kind, relation, target))
}
