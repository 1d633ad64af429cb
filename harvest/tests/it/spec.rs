//! How sources are written.

use whence_harvest::SourceSpec;

#[test]
fn what_is_right_is_shown_as_it_was_written() {
    for text in [
        "archive:tickets/archive.json",
        "archive:https://example.org/archive.json",
        "archive:http://127.0.0.1:8080/a.json",
        "archive:http://[::1]/a.json",
        "wiki:docs",
        "wiki:guide=docs/a=b",
        "wiki:./a=b/docs",
        "ticket:one.json",
    ] {
        let spec: SourceSpec = text.parse().unwrap();
        assert_eq!(spec.to_string(), text);
        let json = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<SourceSpec>(&json).unwrap(), spec);
    }
}

#[test]
fn what_is_wrong_says_which_what_and_what_is_possible() {
    for (text, problem) in [
        ("docs", "what kind"),
        ("svn:docs", "\"svn\" is no kind of source"),
        ("wiki:", "names no place"),
        ("wiki:=docs", "missing beside"),
        ("wiki:guide=", "missing beside"),
        ("archive:http://example.org/a.json", "use https"),
        ("archive:ftp://example.org/a.json", "ftp addresses"),
        (
            "archive:https://me:secret@example.org/a.json",
            "a user or a password",
        ),
    ] {
        let error = text.parse::<SourceSpec>().unwrap_err().to_string();
        assert!(error.contains(problem), "{error}");
        assert!(error.contains(text), "{error}");
        assert!(
            error.contains("archive:<file, folder or https URL>"),
            "{error}"
        );
        assert!(error.contains("ticket:<file.json>"), "{error}");
    }
}
