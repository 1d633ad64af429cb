//! The configuration's reference page, generated from the types.

use crate::config::Config;
use serde_json::Value;
use std::fmt::Write as _;

const HEAD: &str = "# Configuration

Whence reads `whence.toml` in the current folder, or the file that `--config` names. Every key can also \
be set by a variable: `WHENCE_` and the key in capitals, with two underscores for the dot, such as \
`WHENCE_QUERY__LISTEN=127.0.0.1:8888`. Flags win over variables, variables over the file. A key that \
does not exist is an error.

This page is generated from the program's own types.
";

const KINDS: &str = "
# Sources

One table for each kind of source that has settings. Tokens belong into the environment, or into a file \
`.harvester.toml` beside `whence.toml`, which holds these tables only and is never committed; \
`.harvester.toml.example` shows one.
";

/// The page as Markdown.
pub(crate) fn page() -> String {
    let schema = schemars::schema_for!(Config).to_value();
    let defaults = serde_json::to_value(Config::default()).unwrap_or_default();
    let mut page = HEAD.to_owned();
    let mut tables = Vec::new();
    page.push_str("\n## At the top\n\n| key | default | |\n|---|---|---|\n");
    for (name, property) in properties(&schema) {
        match property.get("$ref").and_then(Value::as_str) {
            Some(reference) => tables.push((name, reference, property)),
            None => row(&mut page, name, property, &defaults[name]),
        }
    }
    for (name, reference, property) in tables {
        let definition = reference
            .rsplit('/')
            .next()
            .map(|key| &schema["$defs"][key]);
        let _infallible = write!(page, "\n## `[{name}]`\n\n{}\n\n", text(property));
        page.push_str("| key | default | |\n|---|---|---|\n");
        for (key, property) in definition.into_iter().flat_map(properties) {
            row(&mut page, key, property, &defaults[name][key]);
        }
    }
    page.push_str(KINDS);
    for (name, kind) in whence_harvest::settings_kinds() {
        let (schema, defaults) = (kind.schema().to_value(), kind.defaults());
        let _infallible = write!(page, "\n## `[{name}]`\n\n{}\n\n", text(&schema));
        page.push_str("| key | default | |\n|---|---|---|\n");
        for (key, property) in properties(&schema) {
            row(&mut page, key, property, &defaults[key]);
        }
    }
    page
}

fn properties(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    schema["properties"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.as_str(), value))
}

fn row(page: &mut String, key: &str, property: &Value, default: &Value) {
    let default = match default {
        Value::Null => "absent".to_owned(),
        Value::String(text) => format!("`\"{text}\"`"),
        other => format!("`{other}`"),
    };
    let _infallible = writeln!(page, "| `{key}` | {default} | {} |", text(property));
}

fn text(property: &Value) -> String {
    property["description"]
        .as_str()
        .unwrap_or_default()
        .replace('\n', " ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    #[test]
    fn the_page_is_in_step() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/configuration.md");
        let page = super::page();
        if std::env::var_os("WHENCE_DOCS").is_some() {
            std::fs::write(path, &page).unwrap();
        }
        let written = std::fs::read_to_string(path).unwrap_or_default();
        assert!(
            written == page,
            "docs/configuration.md is not in step with the types; refresh it with \
             WHENCE_DOCS=write cargo test -p whence reference"
        );
        assert!(!page.contains("|  |"), "a key has no description:\n{page}");
    }
}
