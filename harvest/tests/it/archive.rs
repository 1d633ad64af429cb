//! Archives, whole and broken.

use crate::fixture::{archive, issue, list, list_since, numbered, spec, write};
use flate2::{Compression, write::GzEncoder};
use serde_json::{Value, json};
use std::{fs, io::Write, path::PathBuf};
use tempfile::tempdir;
use whence_contract::Dialect;
use whence_harvest::{Coverage, Item, Since};

#[tokio::test]
async fn an_archive_is_listed_whole_as_it_came() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("a.json");
    let odd =
        json!({ "number": 7, "author": null, "body": null, "title": null, "new": { "x": [1] } });
    let made = archive(
        "acme/kiln",
        &[issue(1, "a\r\nb"), odd.clone()],
        &[issue(9, "p")],
    );
    write(&path, &made);
    let listed = list(&spec("archive", &path)).await;
    assert_eq!(
        listed.keys(),
        [
            "github:acme/kiln/1",
            "github:acme/kiln/7",
            "github:acme/kiln/9"
        ]
    );
    assert_eq!(listed.tickets()[1].1, odd.to_string());
    assert!(listed.whole() && listed.ok().warnings.is_empty());
    let dialects: Vec<_> = listed
        .items
        .iter()
        .map(|item| match item {
            Item::Ticket { raw, .. } => raw.dialect,
            other => panic!("{other:?}"),
        })
        .collect();
    use Dialect::{GithubArchiveIssue as Issue, GithubArchivePull as Pull};
    assert_eq!(dialects, [Issue, Issue, Pull]);
}

#[tokio::test]
async fn gzip_order_of_keys_and_indentation_make_no_difference() {
    let dir = tempdir().unwrap();
    let plain = dir.path().join("a.json");
    write(&plain, &numbered("acme/kiln", 5));
    let expected = list(&spec("archive", &plain)).await.tickets();
    assert_eq!(expected.len(), 5);

    let turned = dir.path().join("turned.bin");
    let issues: Vec<Value> = (1..=5).map(|i| issue(i, &format!("body {i}"))).collect();
    let text = format!(
        "\u{FEFF}{{\"pulls\":[],\"issues\":{},\"labels\":[],\"repo\":\"acme/kiln\"}}\n",
        Value::from(issues)
    );
    let mut gz = GzEncoder::new(fs::File::create(&turned).unwrap(), Compression::fast());
    gz.write_all(text.as_bytes()).unwrap();
    gz.finish().unwrap();
    assert_eq!(list(&spec("archive", &turned)).await.tickets(), expected);
}

#[tokio::test]
async fn cut_anywhere_every_ticket_before_the_cut_goes_through() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("a.json");
    let made = numbered("acme/kiln", 40);
    let text = serde_json::to_string(&made).unwrap();
    let starts: Vec<usize> = text
        .match_indices("{\"author\":\"ada\"")
        .map(|(at, _)| at)
        .collect();
    assert_eq!(starts.len(), 40);
    // serde_json sorts keys: `repo` stands last, so put it first.
    let text = text.replacen('{', "{\"repo\":\"acme/kiln\",", 1);
    let shift = "\"repo\":\"acme/kiln\",".len();
    // A fixed sequence that looks random.
    let mut random = 0x2545_F491_4F6C_DD1D_u64;
    for _ in 0..20 {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let first = shift + 1;
        let cut = first + (random >> 33) as usize % (text.len() - first - 1);
        fs::write(&path, &text.as_bytes()[..cut]).unwrap();
        let listed = list(&spec("archive", &path)).await;
        // A ticket is whole when the next one has begun.
        let whole = starts
            .iter()
            .skip(1)
            .filter(|start| **start + shift <= cut)
            .count();
        let found = listed.keys().len();
        assert!(
            found == whole || found == whole + 1,
            "cut at {cut}: {found}, {whole} whole"
        );
        let listing = listed.ok();
        let Coverage::Partial { why } = &listing.coverage else {
            panic!("cut at {cut}: {:?}", listing.coverage)
        };
        assert!(
            why.contains("a.json") && why.contains(&format!("byte {cut}")),
            "{why}"
        );
        let bad = listed.unreadable();
        assert_eq!(bad.len(), 1);
        assert!(bad[0].key.is_none() && bad[0].location.ends_with("a.json"));
    }
}

#[tokio::test]
async fn a_cut_gzip_gives_what_can_be_unpacked() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("a.json.gz");
    let text = format!(
        "{{\"repo\":\"acme/kiln\",{}",
        &numbered("acme/kiln", 3000).to_string()[1..]
    );
    let mut gz = GzEncoder::new(Vec::new(), Compression::fast());
    gz.write_all(text.as_bytes()).unwrap();
    let bytes = gz.finish().unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let listed = list(&spec("archive", &path)).await;
    assert!(listed.keys().len() > 100 && listed.keys().len() < 3000);
    assert!(!listed.whole());
}

#[tokio::test]
async fn a_bad_item_fails_alone_and_names_its_place() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("a.json");
    let items = [
        issue(1, "a"),
        json!("text"),
        json!({ "title": "no number" }),
        issue(4, "d"),
    ];
    write(&path, &archive("acme/kiln", &items, &[]));
    let listed = list(&spec("archive", &path)).await;
    assert_eq!(listed.keys(), ["github:acme/kiln/1", "github:acme/kiln/4"]);
    let bad = listed.unreadable();
    assert_eq!(bad.len(), 2);
    assert!(
        bad[0].location.ends_with("a.json, issues[1]"),
        "{}",
        bad[0].location
    );
    assert_eq!(bad[0].bytes, b"\"text\"");
    assert!(bad[1].causes[0].contains("number"), "{:?}", bad[1].causes);
    assert!(!listed.whole());
}

#[tokio::test]
async fn of_a_number_that_comes_twice_the_last_counts() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("a.json");
    write(
        &path,
        &archive(
            "acme/kiln",
            &[issue(1, "old"), issue(2, "b"), issue(1, "new")],
            &[],
        ),
    );
    let listed = list(&spec("archive", &path)).await;
    assert_eq!(listed.keys(), ["github:acme/kiln/2", "github:acme/kiln/1"]);
    assert!(listed.tickets()[1].1.contains("new"));
    assert!(listed.whole() && listed.ok().warnings[0].contains("come again"));
}

#[tokio::test]
async fn what_is_no_archive_is_an_error_alone_and_an_item_in_a_folder() {
    let dir = tempdir().unwrap();
    let junk = [
        ("bad.json", "no json", "not the JSON of an archive"),
        ("empty.json", "", "not the JSON of an archive"),
        ("list.json", "[1,2]", "not the JSON of an archive"),
        (
            "other.json",
            r#"{"name":"x","version":1}"#,
            "no field `repo`",
        ),
        (
            "bare.json",
            r#"{"repo":"a/b"}"#,
            "neither `issues` nor `pulls`",
        ),
        (
            "repo.json",
            r#"{"repo":"a b","issues":[]}"#,
            "not owner/name",
        ),
        ("shape.json", r#"{"repo":"a/b","issues":{}}"#, "not a list"),
    ];
    for (name, text, problem) in junk {
        let path = dir.path().join(name);
        fs::write(&path, text).unwrap();
        let error = list(&spec("archive", &path)).await.error();
        assert!(error.contains(name) && error.contains(problem), "{error}");
    }
    fs::create_dir(dir.path().join("sub")).unwrap();
    write(&dir.path().join("sub/good.json"), &numbered("acme/kiln", 3));
    fs::write(dir.path().join("notes.txt"), "passed over").unwrap();
    let listed = list(&spec("archive", dir.path())).await;
    assert_eq!(listed.keys().len(), 3);
    assert_eq!(listed.unreadable().len(), junk.len());
    for ((name, _, problem), _) in junk.iter().zip(0..) {
        let named = listed
            .unreadable()
            .into_iter()
            .find(|bad| bad.location.ends_with(name));
        assert!(named.unwrap().causes[0].contains(problem), "{name}");
    }
    // They never held tickets, so nothing is missing.
    assert!(listed.whole());

    // The remains of one that did are another matter.
    let since = Since {
        cursor: Some(listed.ok().cursor.clone()),
        whole: false,
    };
    fs::write(dir.path().join("sub/good.json"), "oops").unwrap();
    let listed = list_since(&spec("archive", dir.path()), since).await;
    assert!(!listed.whole());
}

#[tokio::test]
async fn missing_places_say_what_to_do() {
    let dir = tempdir().unwrap();
    let error = list(&spec("archive", &dir.path().join("none.json")))
        .await
        .error();
    assert!(error.contains("none.json; does it exist"), "{error}");
    let error = list(&spec("archive", dir.path())).await.error();
    assert!(error.contains("no *.json"), "{error}");
}

#[tokio::test]
async fn unchanged_files_are_known_by_content() {
    let dir = tempdir().unwrap();
    let path = dir.path().join("a.json");
    write(&path, &numbered("acme/kiln", 3));
    let spec = spec("archive", &path);
    let cursor = Some(list(&spec).await.ok().cursor.clone());
    let since = |whole| Since {
        cursor: cursor.clone(),
        whole,
    };
    // The same content, written anew.
    write(&path, &numbered("acme/kiln", 3));
    let again = list_since(&spec, since(false)).await;
    assert!(again.ok().unchanged && again.items.is_empty());
    assert_eq!(list_since(&spec, since(true)).await.keys().len(), 3);
    write(&path, &numbered("acme/kiln", 4));
    let changed = list_since(&spec, since(false)).await;
    assert!(!changed.ok().unchanged);
    assert_eq!(changed.keys().len(), 4);
}

#[tokio::test]
async fn of_two_archives_of_one_repository_the_later_counts() {
    let dir = tempdir().unwrap();
    let mut late = numbered("acme/kiln", 2);
    late["timestamp"] = json!("2025-01-01T00:00:00+00:00");
    write(&dir.path().join("a.json"), &late);
    write(&dir.path().join("b.json"), &numbered("acme/kiln", 9));
    let listed = list(&spec("archive", dir.path())).await;
    assert_eq!(listed.keys().len(), 2);
    assert!(listed.ok().warnings[0].contains("a.json was made later"));
}

#[tokio::test]
async fn real_archives_are_listed_to_the_last_ticket() {
    let dir = std::env::var("WHENCE_EVAL_DIR").map_or_else(
        |_| {
            PathBuf::from(concat!(
                env!("CARGO_MANIFEST_DIR"),
                "/../../shared/eval/dev"
            ))
        },
        PathBuf::from,
    );
    for (name, tickets) in [
        ("mlswg__mls-protocol", 885),
        ("quicwg__qlog", 549),
        ("tlswg__draft-ietf-tls-esni", 642),
    ] {
        let path = dir.join(format!("{name}.archive.json"));
        if !path.exists() {
            eprintln!(
                "passed over: no {} (WHENCE_EVAL_DIR names its folder)",
                path.display()
            );
            continue;
        }
        let listed = list(&spec("archive", &path)).await;
        assert_eq!(listed.keys().len(), tickets, "{name}");
        assert!(listed.unreadable().is_empty() && listed.whole(), "{name}");
        assert!(
            listed.ok().warnings.is_empty(),
            "{:?}",
            listed.ok().warnings
        );
    }
}
