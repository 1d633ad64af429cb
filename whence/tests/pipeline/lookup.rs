//! The commands that look things up, asked of a running service.

use crate::bench::{archive, read, wait_for};
use crate::intake::Service;
use serde_json::{Value, json};

fn texts<'a>(list: &'a Value, name: &str) -> Vec<&'a str> {
    let list = list.as_array().unwrap().iter();
    list.map(|item| item[name].as_str().unwrap()).collect()
}

/// What `--json` prints is one of the published components.
fn conforms(schema: &str, answer: &Value) {
    let root = json!({
        "$ref": format!("#/components/schemas/{schema}"),
        "components": whence_query::http::openapi()["components"],
    });
    let validator = jsonschema::validator_for(&root).unwrap();
    let faults: Vec<String> = validator
        .iter_errors(answer)
        .map(|fault| format!("{}: {fault}", fault.instance_path()))
        .collect();
    assert!(faults.is_empty(), "{schema}: {faults:#?}\n{answer:#}");
}

#[test]
fn every_lookup_answers_people_and_programs_and_says_what_is_not_there() {
    let mut tickets = archive(12);
    for issue in tickets["issues"].as_array_mut().unwrap() {
        let body = issue["body"].as_str().unwrap();
        issue["body"] = json!(body.replace("src/kiln.rs", "`src/kiln.rs`"));
    }
    tickets["issues"][2]["body"] =
        json!("Nothing but \u{1b}[31mred\u{1b}[0m @grace `fire()` in `src/kiln.rs`.");
    tickets["issues"][3]["state"] = json!("CLOSED");
    tickets["issues"][3]["closedAt"] = json!("2024-02-01T00:00:00Z");
    let service = Service::start(&tickets);
    let asked = |arguments: &[&str]| {
        let (code, answer) = read(&service.run(&[arguments, &["--json"]].concat()));
        let schema = match arguments[0] {
            "show" => "TicketView",
            "list" => "Page",
            "count" => "Count",
            "file-history" => "FileHistory",
            "hotspots" if arguments[1] == "--top" => "Hotspots",
            "hotspots" => "Hotspot",
            "person" => "Person",
            "experts" => "Experts",
            "inbox" => "Inbox",
            "search" => "SearchResponse",
            "stats" => "Stats",
            other => panic!("{other} has no schema"),
        };
        conforms(schema, &answer);
        (code, answer)
    };
    wait_for("all tickets", || {
        let output = service.run(&["count", "--json"]);
        (output.status.success() && read(&output).1["total"] == 12).then_some(())
    });

    let (code, ticket) = asked(&["show", "acme/kiln#7"]);
    assert_eq!(
        (code, &ticket["title"]),
        (0, &json!("Question 7 about the kiln"))
    );
    assert_eq!(ticket["units"].as_array().unwrap().len(), 4);
    assert_eq!(texts(&ticket["mentions"]["to"], "id"), ["acme/kiln#3"]);
    let (_, same) = asked(&["show", "issue", "7", "--project", "acme/kiln"]);
    assert_eq!(same, ticket);
    let (_, same) = asked(&["show", "https://github.com/acme/kiln/issues/7"]);
    assert_eq!(same, ticket);

    let (_, list) = asked(&["list", "issues", "--limit=10", "-f", "state=open"]);
    assert_eq!(list["tickets"].as_array().unwrap().len(), 10);
    let next = list["next"].as_str().unwrap();
    let (_, rest) = asked(&[
        "list",
        "issues",
        "--limit=10",
        "-f",
        "state=open",
        "--cursor",
        next,
    ]);
    assert_eq!(
        (rest["tickets"].as_array().unwrap().len(), &rest["next"]),
        (1, &Value::Null)
    );
    let (_, count) = asked(&["count", "issues", "--by", "state"]);
    assert_eq!(
        count["groups"][0],
        json!({ "value": "open", "tickets": 11 })
    );

    let (_, history) = asked(&["file-history", "src/kiln.rs"]);
    assert_eq!(history["entries"].as_array().unwrap().len(), 12);
    let (_, top) = asked(&["hotspots", "--top", "3"]);
    assert_eq!(
        (&top["files"][0]["file"], &top["files"][0]["tickets"]),
        (&json!("src/kiln.rs"), &json!(12))
    );
    let (_, one) = asked(&["hotspots", "src/kiln.rs"]);
    assert_eq!(one["named"], 12);
    let (_, person) = asked(&["person", "@Grace"]);
    assert_eq!(person["contributions"][0]["texts"], 36);
    let (_, experts) = asked(&["experts", "why", "does", "the", "glaze", "crack"]);
    assert_eq!(texts(&experts["people"], "name"), ["grace", "ada"]);
    let (_, inbox) = asked(&["inbox", "grace"]);
    assert_eq!(texts(&inbox["entries"], "id"), ["acme/kiln#3"]);

    assert_eq!(asked(&["search", "kiln", "--explain"]).0, 0);
    assert_eq!(asked(&["stats"]).1["chunks"], 48);

    // For people: no colour into a pipe, and nothing that drives a terminal.
    for arguments in [
        &["show", "acme/kiln#3"][..],
        &["list"],
        &["count", "--by=author"],
        &["file-history", "src/kiln.rs"],
        &["hotspots"],
        &["person", "ada"],
        &["experts", "--path", "src/kiln.rs"],
        &["inbox", "ada"],
    ] {
        let output = service.run(arguments);
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert!(
            text.lines().count() > 1 && !text.contains('\u{1b}'),
            "{text}"
        );
    }
    assert_eq!(service.run(&["count"]).stdout, b"12\n");

    // Within a repository its own corpus is the default.
    let folder = service.folder();
    std::fs::create_dir(folder.join(".git")).unwrap();
    let file = folder.join(".project-conf.toml");
    std::fs::write(&file, "key = \"acme/kiln\"\n[rag]\ncorpus_scope = \"jira\"").unwrap();
    assert_eq!(service.run(&["count"]).stdout, b"0\n");
    assert_eq!(service.run(&["count", "--all-sources"]).stdout, b"12\n");
    assert_eq!(
        service.run(&["count", "-f", "source=github"]).stdout,
        b"12\n"
    );
    let hits = |more: &[&str]| {
        let output = service.run(&[&["search", "kiln", "--json"], more].concat());
        read(&output).1["hits"].as_array().unwrap().len()
    };
    assert_eq!((hits(&[]), hits(&["--all-sources"])), (0, 10));
    // A ticket that is named is shown wherever it is; its project is the file's.
    assert_eq!(asked(&["show", "issue", "7"]).1["id"], "acme/kiln#7");
    std::fs::write(&file, "[rag]\ncorpus_scope = 7").unwrap();
    let said = String::from_utf8(service.run(&["list"]).stderr).unwrap();
    assert!(
        said.contains(".project-conf.toml") && said.contains("rag.corpus_scope"),
        "{said}"
    );
    std::fs::remove_file(&file).unwrap();

    for (arguments, code) in [
        (&["show", "acme/kiln#99"][..], 4),
        (&["person", "nobody"], 4),
        (&["file-history", "no.rs"], 4),
        (&["hotspots", "no.rs"], 4),
        (&["inbox", "nobody"], 0),
        (&["list", "-f", "label=none"], 0),
        (&["list", "-f", "color=red"], 1),
        (&["show", "mr", "7"], 1),
        (&["list", "--limit", "0"], 2),
    ] {
        assert_eq!(
            service.run(arguments).status.code(),
            Some(code),
            "{arguments:?}"
        );
    }
}
