//! `whence search` and `whence similar`: ask the running query service.

use crate::{
    boot::Ending,
    cli::{Hits, Search, Similar},
    client::Client,
    config::Config,
    lookup::Narrow,
    print::{self, age, clean},
};
use anyhow::{Context as _, Result};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, fmt::Write as _};

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
    let mut pairs = hits.narrow.filters.clone();
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
    let narrow = Narrow {
        filters: pairs,
        all_sources: hits.narrow.all_sources,
    };
    let mut request = Map::new();
    request.insert("k".into(), json!(hits.limit));
    request.insert("filters".into(), json!(lists(narrow.parameters()?)));
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

/// The values of each filter, in the order they were given.
fn lists(pairs: Vec<(String, String)>) -> BTreeMap<String, Vec<String>> {
    let mut lists: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (name, value) in pairs {
        lists.entry(name).or_default().push(value);
    }
    lists
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
