//! `whence search`: asks the running query service.

use crate::{
    boot::Ending,
    cli::Search,
    client::Client,
    config::Config,
    print::{self, age, clean},
    project::Project,
};
use anyhow::{Result, bail};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

pub(crate) async fn run(config: &Config, arguments: Search) -> Result<Ending> {
    let request = json!({
        "query": arguments.question.join(" "),
        "k": arguments.limit,
        "mode": arguments.mode,
        "filters": scoped(filters(&arguments.filters)?, arguments.all_sources)?,
        "explain": arguments.explain,
    });
    let answer = Client::new(config)?.post("/search", &request).await?;
    if arguments.output.json {
        print::json(&answer)?;
    } else {
        print::text(&render(&answer, arguments.explain));
    }
    Ok(Ending::Done)
}

/// With the repository's own scope where none is given.
fn scoped(mut filters: Map<String, Value>, all_sources: bool) -> Result<Map<String, Value>> {
    if !all_sources && let Some(project) = Project::here()? {
        let names = filters.keys().map(String::as_str);
        for (name, value) in project.scope_beside(names).to_vec() {
            match filters.entry(name).or_insert_with(|| json!([])) {
                Value::Array(values) => values.push(value.into()),
                _ => bail!("a filter of the scope is given already"),
            }
        }
    }
    Ok(filters)
}

/// `NAME=VALUE` pairs as the service's filters; a repeated name becomes a list.
fn filters(pairs: &[String]) -> Result<Map<String, Value>> {
    let mut filters: Map<String, Value> = Map::new();
    for pair in pairs {
        let Some((name, value)) = pair.split_once('=').filter(|(name, _)| !name.is_empty()) else {
            bail!("the filter {pair:?} is not NAME=VALUE, such as author=ada");
        };
        // The service's own names use underscores.
        let name = name.replace('-', "_");
        match filters.get_mut(&name) {
            None => {
                filters.insert(name, json!(value));
            }
            Some(Value::Array(values)) => values.push(json!(value)),
            Some(first) => *first = json!([first.clone(), value]),
        }
    }
    Ok(filters)
}

fn render(answer: &Value, explain: bool) -> String {
    let mut text = String::new();
    let hits = answer["hits"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    if hits.is_empty() {
        text.push_str("nothing found\n");
    }
    for hit in hits {
        let of = |name: &str| clean(hit[name].as_str().unwrap_or_default());
        let _infallible = writeln!(text, "{}. {}  {}", hit["rank"], of("id"), of("title"));
        let facts = [
            of("kind"),
            of("state"),
            of("author"),
            hit["updated_at"]
                .as_str()
                .and_then(|t| t.parse().ok())
                .map(|t| format!("changed {} ago", age(t)))
                .unwrap_or_default(),
            of("url"),
        ];
        let facts: Vec<_> = facts.into_iter().filter(|fact| !fact.is_empty()).collect();
        let _infallible = writeln!(text, "   {}", facts.join(" · "));
        for chunk in hit["chunks"].as_array().into_iter().flatten() {
            let kind = chunk["kind"].as_str().unwrap_or_default();
            let who = chunk["author"].as_str().filter(|_| kind != "description");
            let said = who.map_or(String::new(), |who| {
                format!("[{} by {}] ", kind, clean(who))
            });
            let snippet = chunk["snippet"].as_str().unwrap_or_default();
            let snippet = snippet.split_whitespace().collect::<Vec<_>>().join(" ");
            for line in wrap(&format!("{said}{}", clean(&snippet)), 92) {
                let _infallible = writeln!(text, "   {line}");
            }
        }
        if explain {
            let _infallible = writeln!(text, "   score {} legs {}", hit["score"], hit["legs"]);
        }
        text.push('\n');
    }
    for part in answer["degraded"].as_array().into_iter().flatten() {
        let reason = clean(part["reason"].as_str().unwrap_or_default());
        let _infallible = writeln!(text, "note: {reason}");
    }
    if explain {
        let _infallible = writeln!(text, "took {} ms", answer["took_ms"]);
    }
    text
}

/// Lines of at most `width` characters, broken at spaces.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut length = 0;
    for word in text.split(' ') {
        let chars = word.chars().count();
        if length > 0 && length + 1 + chars > width {
            lines.push(String::new());
            length = 0;
        }
        if let Some(line) = lines.last_mut() {
            if length > 0 {
                line.push(' ');
                length += 1;
            }
            line.push_str(word);
            length += chars;
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_repeated_filter_is_a_list() {
        let pairs = [
            "label=a",
            "author=x",
            "label=b",
            "label=c",
            "created-after=2024-01-01",
        ];
        let filters = filters(&pairs.map(str::to_owned)).unwrap();
        assert_eq!(filters["label"], json!(["a", "b", "c"]));
        assert_eq!(filters["author"], json!("x"));
        assert_eq!(filters["created_after"], json!("2024-01-01"));
        assert!(super::filters(&["label".into()]).is_err());
    }

    #[test]
    fn a_hostile_title_stays_text() {
        let answer = json!({"hits": [{"rank": 1, "id": "a#1", "title": "x\u{1b}[31m", "chunks": [
            {"kind": "comment", "author": "m\u{7}", "snippet": "a\n b\u{8}"}
        ]}]});
        let text = render(&answer, false);
        assert!(
            text.chars().all(|c| c == '\n' || !c.is_control()),
            "{text:?}"
        );
    }
}
