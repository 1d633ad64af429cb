//! Folders of notes.

use crate::fixture::{list, open, spec};
use std::fs;
use tempfile::tempdir;
use whence_contract::Provenance;
use whence_harvest::Item;

#[tokio::test]
async fn every_note_below_the_folder_is_a_ticket() {
    let dir = tempdir().unwrap();
    let root = dir.path().join("guide");
    let outside = dir.path().join("outside.md");
    fs::write(&outside, "# elsewhere").unwrap();
    for folder in ["a/b", ".git", "target", "node_modules/x"] {
        fs::create_dir_all(root.join(folder)).unwrap();
    }
    for (path, text) in [
        ("z.md", "# Z"),
        ("a/b/deep.markdown", "deep \"quoted\"\r\n"),
        ("a/Ü ber.MD", "two words"),
        ("a/empty.md", ""),
        ("a/code.rs", "no note"),
        (".hidden.md", "no"),
        (".git/x.md", "no"),
        ("target/x.md", "no"),
        ("node_modules/x/x.md", "no"),
    ] {
        fs::write(root.join(path), text).unwrap();
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("..", root.join("a/round")).unwrap();
        std::os::unix::fs::symlink(&outside, root.join("out.md")).unwrap();
    }
    let listed = list(&spec("wiki", &root)).await;
    assert_eq!(
        listed.keys(),
        [
            "wiki:guide/a/b/deep.markdown",
            "wiki:guide/a/empty.md",
            "wiki:guide/a/Ü ber.MD",
            "wiki:guide/z.md"
        ]
    );
    let Item::Ticket { key, raw } = &listed.items[0] else {
        panic!()
    };
    assert_eq!(
        (key.provenance, key.scope.as_str()),
        (Provenance::Wiki, "guide")
    );
    let payload: serde_json::Value = serde_json::from_str(raw.payload.get()).unwrap();
    assert_eq!(payload["path"], "a/b/deep.markdown");
    assert_eq!(payload["text"], "deep \"quoted\"\r\n");
    assert!(listed.whole());
    #[cfg(unix)]
    assert!(listed.ok().warnings[0].contains("2 symbolic links"));
}

#[tokio::test]
async fn bad_bytes_are_replaced_and_a_huge_note_keeps_its_key() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("latin.md"), b"caf\xE9").unwrap();
    let huge = fs::File::create(dir.path().join("huge.md")).unwrap();
    huge.set_len((10 << 20) + 1).unwrap();
    let listed = list(&format!("wiki:notes={}", dir.path().display())).await;
    assert_eq!(listed.keys(), ["wiki:notes/latin.md"]);
    assert!(listed.tickets()[0].1.contains("caf\u{FFFD}"));
    assert!(listed.ok().warnings[0].contains("latin.md: not UTF-8 from byte 3"));
    let bad = listed.unreadable();
    assert_eq!(bad[0].key.as_ref().unwrap().ticket, "huge.md");
    assert!(listed.whole());
}

#[tokio::test]
async fn a_missing_folder_is_an_error_and_an_empty_one_a_warning() {
    let dir = tempdir().unwrap();
    let error = list(&spec("wiki", &dir.path().join("none"))).await.error();
    assert!(error.contains("none; does it exist"), "{error}");
    fs::write(dir.path().join("file.md"), "x").unwrap();
    let error = list(&spec("wiki", &dir.path().join("file.md")))
        .await
        .error();
    assert!(error.contains("is a file"), "{error}");
    fs::remove_file(dir.path().join("file.md")).unwrap();
    let listed = list(&spec("wiki", dir.path())).await;
    assert!(listed.ok().warnings[0].contains("no *.md"));
    assert!(open("wiki:/").check().await.is_ok());
    assert!(list("wiki:/").await.error().contains("wiki:NAME="));
}
