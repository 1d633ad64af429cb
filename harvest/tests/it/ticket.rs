//! Documents from a file.

use crate::fixture::{list, spec};
use serde_json::json;
use std::fs;
use tempfile::tempdir;
use whence_contract::Provenance;
use whence_harvest::Item;

#[tokio::test]
async fn one_or_several_documents_go_through_and_bad_ones_name_their_field() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("t.json");
    let good =
        json!({ "source": "jira", "project": "K", "id": "K-1", "kind": "issue", "title": "" });
    let note =
        json!({ "source": "wiki", "project": "w", "id": "a.md", "kind": "note", "title": "A" });
    fs::write(&path, good.to_string()).unwrap();
    let listed = list(&spec("ticket", &path)).await;
    assert_eq!(listed.keys(), ["jira:K/K-1"]);

    let mut untitled = good.clone();
    untitled.as_object_mut().unwrap().remove("title");
    let mut odd = good.clone();
    odd["id"] = json!("K-2");
    odd["units"] = json!([{ "kind": "comment" }, { "kind": "shout" }]);
    fs::write(&path, json!([good, note, untitled, odd, 7]).to_string()).unwrap();
    let listed = list(&spec("ticket", &path)).await;
    assert_eq!(listed.keys(), ["jira:K/K-1", "wiki:w/a.md"]);
    let Item::Ticket { key, .. } = &listed.items[1] else {
        panic!()
    };
    assert_eq!(key.provenance, Provenance::Wiki);
    let bad = listed.unreadable();
    assert!(
        bad[0].causes[1].contains("missing field `title`"),
        "{:?}",
        bad[0].causes
    );
    assert!(
        bad[1].causes[0].contains("units[1].kind"),
        "{:?}",
        bad[1].causes
    );
    assert_eq!(bad[1].key.as_ref().unwrap().ticket, "K-2");
    assert!(bad[2].key.is_none() && bad[2].location.ends_with("t.json, [4]"));
    assert!(!listed.whole());
}

#[tokio::test]
async fn what_is_no_json_changes_nothing() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("t.json");
    for (text, problem) in [
        ("{", "not valid JSON"),
        ("7", "neither an object nor a list"),
    ] {
        fs::write(&path, text).unwrap();
        let error = list(&spec("ticket", &path)).await.error();
        assert!(
            error.contains("t.json") && error.contains(problem),
            "{error}"
        );
    }
}
