//! `whence search` and `whence similar`: ask the running query service.

use crate::{
    boot::Ending,
    cli::{Hits, Search, Similar},
    client::Client,
    config::Config,
    print::{self, age, clean},
    project::Project,
};
use anyhow::{Context as _, Result, bail};
use serde_json::{Map, Value, json};
use std::fmt::Write as _;

pub(crate) async fn run(config: &Config, arguments: Search) -> Result<Ending> {
    let mut request = asked(&arguments.hits)?;
    request.insert("query".into(), json!(arguments.question.join(" ")));
    request.insert("mode".into(), json!(arguments.mode));
    request.insert("rerank".into(), json!(!arguments.no_rerank));
    request.insert("exclude".into(), json!(arguments.exclude));
    if arguments.chunks {
        request.insert("group_by".into(), json!("chunk"));
    }
    if let Some(most) = arguments.per_ticket {
        request.insert("per_ticket".into(), json!(most));
    }
    answer(config, "/search", request, &arguments.hits).await
}

pub(crate) async fn similar(config: &Config, arguments: Similar) -> Result<Ending> {
    let mut request = asked(&arguments.hits)?;
    match (arguments.ticket, arguments.text.as_deref()) {
        (Some(ticket), _) => request.insert("id".into(), json!(ticket)),
        (None, Some("-")) => {
            let text = std::io::read_to_string(std::io::stdin())
                .context("cannot read the draft from standard input")?;
            request.insert("text".into(), json!(text))
        }
        (None, text) => request.insert("text".into(), json!(text)),
    };
    answer(config, "/similar", request, &arguments.hits).await
}

/// What both ask.
fn asked(hits: &Hits) -> Result<Map<String, Value>> {
    let mut pairs = hits.filters.clone();
    let named = [
        ("kind", hits.kind.as_slice()),
        ("author", &hits.author),
        ("label", &hits.label),
        ("created_after", hits.after.as_slice()),
        ("created_before", hits.before.as_slice()),
    ];
    for (name, values) in named {
        pairs.extend(values.iter().map(|value| format!("{name}={value}")));
    }
    let mut request = Map::new();
    request.insert("k".into(), json!(hits.limit));
    let filters = scoped(filters(&pairs)?, hits.all_sources)?;
    request.insert("filters".into(), json!(filters));
    request.insert("explain".into(), json!(hits.explain));
    request.insert("include_weak".into(), json!(hits.include_weak));
    Ok(request)
}

async fn answer(
    config: &Config,
    path: &str,
    request: Map<String, Value>,
    hits: &Hits,
) -> Result<Ending> {
    let answer = Client::new(config)?
        .post(path, &Value::Object(request))
        .await?;
    if hits.output.json {
        print::json(&answer)?;
    } else {
        print::text(&render(&answer, hits.explain));
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
        let reason = clean(answer["miss"]["reason"].as_str().unwrap_or("nothing found"));
        let _infallible = writeln!(text, "{reason}");
        let nearest = ["dense", "lexical"].map(|leg| {
            let (best, floor) = (
                answer["miss"][leg].as_f64()?,
                answer["miss"][format!("{leg}_floor")].as_f64()?,
            );
            Some(format!("{leg} {best:.2} of {floor:.2}"))
        });
        let nearest: Vec<String> = nearest.into_iter().flatten().collect();
        if !nearest.is_empty() {
            let _infallible = writeln!(text, "the nearest: {}", nearest.join(", "));
        }
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
            // A ticket that is only its title has nothing more to show.
            let shown = format!("{said}{}", clean(&snippet));
            for line in wrap(&shown, 92).iter().filter(|line| !line.is_empty()) {
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
