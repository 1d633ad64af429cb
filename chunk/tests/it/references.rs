//! Which texts are references, by kind of system.

use crate::support::{Words, document, limits, unit};
use whence_chunk::chunk;
use whence_contract::UnitKind;

fn found(source: &str, project: &str, id: &str, text: &str) -> Vec<String> {
    let units = vec![unit(UnitKind::Description, text)];
    chunk(&document(source, project, id, units), &limits(200), &Words).ticket_refs
}

#[test]
fn on_github() {
    let found = |text| found("github", "acme/rocket", "acme/rocket#1", text);
    for (text, id) in [
        ("#7", "acme/rocket#7"),
        ("fixes #7.", "acme/rocket#7"),
        ("**#7**", "acme/rocket#7"),
        ("GH-7", "acme/rocket#7"),
        ("o-o/r.s_t#7", "o-o/r.s_t#7"),
        ("http://github.com/a/b/pull/7?x=1", "a/b#7"),
        ("(https://github.com/a/b/issues/7)", "a/b#7"),
        ("[x][y]\n\n[y]: https://github.com/a/b/issues/7", "a/b#7"),
        ("https://linear.app/acme/issue/ENG-7/title", "ENG-7"),
        (
            "https://x.atlassian.net/jira/software/projects/AB/boards/1?selectedIssue=AB-7",
            "AB-7",
        ),
        ("MAZ-7", "MAZ-7"),
        ("branch fix/MAZ-7-frames", "MAZ-7"),
    ] {
        assert_eq!(found(text), [id], "{text}");
    }
    for text in [
        "UTF-8",
        "SHA-256",
        "CVE-2024-1234",
        "HTTP-2",
        "FOO-7",
        "word#7",
        "#7word",
        "#7_",
        "#123456",
        "#fff",
        "#0",
        "#07",
        "# 7",
        "`#7`",
        "[a](#7)",
        "https://example.com/#7",
        "a/b/c#7",
        "!7",
        "https://github.com/a/b/issues",
        "https://github.com/a/b/blob/main/x.rs#L7",
        "x&#7;",
        "#1",
        "https://github.com/acme/rocket/issues/1",
        "Acme/Rocket#1",
        "MAZ-7-8",
        "MAZ-7.8",
        "AMAZ-7",
        "maz-7",
        "MAZ-7a",
        "MAZ-",
        "-MAZ-7",
        "\\#7x",
        "```\n#7\n```",
        "<!-- #7 -->",
        "./a/b.md#7",
    ] {
        assert_eq!(found(text), [""; 0], "{text}");
    }
}

#[test]
fn six_digits_in_a_project_that_has_come_so_far() {
    assert_eq!(
        found("github", "big/repo", "big/repo#99999", "#123456"),
        ["big/repo#123456"]
    );
}

#[test]
fn on_gitlab() {
    let found = |text| found("gitlab", "group/project", "group/project!1", text);
    for (text, id) in [
        ("#7", "group/project#7"),
        ("!12", "group/project!12"),
        ("#1", "group/project#1"),
        ("a/b/c!7", "a/b/c!7"),
        ("https://git.example.org/a/b/c/-/issues/7#note_8", "a/b/c#7"),
        ("https://gitlab.com/a/b/merge_requests/7", "a/b!7"),
    ] {
        assert_eq!(found(text), [id], "{text}");
    }
    for text in ["!1", "Wow!12", "x != 7", "![a](b.png)", "GH-7", "PROJ-7"] {
        assert_eq!(found(text), [""; 0], "{text}");
    }
}

#[test]
fn on_jira_and_linear() {
    for source in ["jira", "linear"] {
        let found = |text| found(source, "Rockets", "PROJ-1", text);
        for (text, id) in [
            ("PROJ-7", "PROJ-7"),
            ("OTHER-7", "OTHER-7"),
            ("acme/rocket#7", "acme/rocket#7"),
            ("see https://jira.example.org/browse/X_Y-7", "X_Y-7"),
        ] {
            assert_eq!(found(text), [id], "{text}");
        }
        for text in [
            "PROJ-1",
            "UTF-8",
            "SHA-256",
            "RFC-9420",
            "CVE-2024-1",
            "#7",
            "X-7",
            "P-256",
        ] {
            assert_eq!(found(text), [""; 0], "{text}");
        }
    }
    // A team may be called like a standard.
    assert_eq!(found("jira", "Security", "SEC-1", "SEC-7"), ["SEC-7"]);
}

#[test]
fn in_wikis() {
    let found = |text| found("wiki", "docs", "docs/a.md", text);
    assert_eq!(found("acme/rocket#7 and MAZ-7"), ["MAZ-7", "acme/rocket#7"]);
    assert_eq!(found("#7 !7 PROJ-7 ADR-0034"), [""; 0]);
}
