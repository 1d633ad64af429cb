//! What trackers with a GraphQL interface share: documents of several operations,
//! and pages with a position.

use serde_json::Value;

/// One operation of a document and the fragments that it needs: what is not sent
/// need not be parsed. Definitions stand apart by an empty line.
pub(crate) fn only(operation: &str, document: &str) -> String {
    let definitions: Vec<&str> = document.split("\n\n").collect();
    let find = |keyword: &str, name: &str| {
        let begins = |line: &str| {
            let rest = line
                .strip_prefix(keyword)
                .and_then(|line| line.strip_prefix(name));
            rest.is_some_and(|rest| rest.starts_with(['(', ' ']))
        };
        let mut all = definitions.iter();
        all.find(|text| text.lines().any(begins)).copied()
    };
    let Some(first) = find("query ", operation) else {
        return document.to_owned();
    };
    let mut parts = vec![first];
    let mut at = 0;
    while let Some(text) = parts.get(at).copied() {
        at += 1;
        for line in text.lines() {
            let spread = line.trim().strip_prefix("...");
            let Some(fragment) = spread.and_then(|name| find("fragment ", name)) else {
                continue;
            };
            if !parts.contains(&fragment) {
                parts.push(fragment);
            }
        }
    }
    let lines = parts.iter().flat_map(|part| part.lines()).map(str::trim);
    let lines: Vec<&str> = lines.filter(|line| !line.starts_with('#')).collect();
    lines.join("\n")
}

/// The elements of a list, with or without their positions.
pub(crate) fn nodes(list: &Value) -> impl Iterator<Item = &Value> {
    let bare = list["nodes"].as_array().into_iter().flatten();
    let edges = list["edges"].as_array().into_iter().flatten();
    bare.chain(edges.map(|edge| &edge["node"]))
}

/// What keeps a page from being gone on from. An empty page with more to come and
/// a missing position are how services stumble; asked again, they go on.
pub(crate) fn page_problem(list: &Value, after: Option<&str>) -> Option<String> {
    if !list["nodes"].is_array() && !list["edges"].is_array() {
        return Some("a page without its list".to_owned());
    }
    let more = list["pageInfo"]["hasNextPage"].as_bool();
    let next = list["pageInfo"]["endCursor"].as_str();
    match more {
        None => Some("a page that does not say whether more follow".to_owned()),
        Some(false) => None,
        Some(true) if nodes(list).next().is_none() => {
            Some("an empty page with more to come".to_owned())
        }
        Some(true) if next.is_none() => Some("more to come and no way to it".to_owned()),
        Some(true) if next == after => Some("the same page again".to_owned()),
        Some(true) => None,
    }
}
