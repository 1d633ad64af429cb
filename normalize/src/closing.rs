//! What a pull request's description says it closes, by GitHub's own rule: one
//! of nine keywords, an optional colon, one reference. Not inside code.

use crate::prose::prose;
use whence_contract::{Link, LinkKind};

const KEYWORDS: [&str; 9] = [
    "close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved",
];

/// The closed tickets by canonical id, in order, each once, never the ticket
/// itself. `url` is the ticket's page: its host may be an enterprise's own.
pub(crate) fn links(body: &str, project: &str, own_id: &str, url: Option<&str>) -> Vec<Link> {
    let host = url.and_then(|url| url.split("://").nth(1)?.split('/').next());
    let mut links: Vec<Link> = Vec::new();
    let prose = prose(body);
    for (start, word) in words(&prose) {
        if !KEYWORDS.iter().any(|k| k.eq_ignore_ascii_case(word)) {
            continue;
        }
        let rest = &prose[start + word.len()..];
        let rest = rest.strip_prefix(':').unwrap_or(rest);
        let reference = rest.trim_start();
        if reference.len() == rest.len() {
            continue;
        }
        let Some((repository, number)) = reference_at(reference, host) else {
            continue;
        };
        // Names compare without case upstream; canonical is the project's own.
        let repository = match repository {
            Some(other) if !other.eq_ignore_ascii_case(project) => other,
            _ => project,
        };
        let link = Link {
            kind: LinkKind::Closes,
            target: format!("{repository}#{number}"),
        };
        if link.target != own_id && !links.contains(&link) {
            links.push(link);
        }
    }
    links
}

/// Runs of letters that stand alone: neither `prefixes` nor `auto-fix`.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let joins = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
    let mut from = 0;
    text.split(move |c: char| !joins(c))
        .filter_map(move |word| {
            let start = from;
            from = start + word.len();
            from += text[from..].chars().next().map_or(0, char::len_utf8);
            (!word.is_empty()).then_some((start, word))
        })
}

/// The reference that `text` begins with: its repository, if it names one, and
/// its number.
fn reference_at<'a>(text: &'a str, host: Option<&str>) -> Option<(Option<&'a str>, u64)> {
    if let Some(rest) = text.strip_prefix('#') {
        return Some((None, number_at(rest)?));
    }
    if let Some(rest) = after_host(text, host) {
        let (repository, rest) = repository_at(rest)?;
        let rest = rest.strip_prefix('/')?;
        let rest = rest
            .strip_prefix("issues/")
            .or_else(|| rest.strip_prefix("pull/"))?;
        return Some((Some(repository), number_at(rest)?));
    }
    let (repository, rest) = repository_at(text)?;
    Some((Some(repository), number_at(rest.strip_prefix('#')?)?))
}

fn after_host<'a>(text: &'a str, own: Option<&str>) -> Option<&'a str> {
    let (scheme, rest) = text.split_once("://")?;
    let (host, rest) = rest.split_once('/')?;
    let known = ["github.com", "www.github.com"].into_iter().chain(own);
    let web = ["https", "http"];
    (web.iter().any(|s| s.eq_ignore_ascii_case(scheme))
        && known.into_iter().any(|h| h.eq_ignore_ascii_case(host)))
    .then_some(rest)
}

/// `owner/repo` at the start of `text`, and what follows it.
fn repository_at(text: &str) -> Option<(&str, &str)> {
    let part = |text: &str, more: &[char]| {
        text.find(|c: char| !(c.is_ascii_alphanumeric() || more.contains(&c)))
            .unwrap_or(text.len())
    };
    let owner = part(text, &['-', '_']);
    let name = text[owner..].strip_prefix('/')?;
    let end = part(name, &['-', '_', '.']);
    let whole = owner + 1 + end;
    (owner > 0 && end > 0).then(|| (&text[..whole], &text[whole..]))
}

/// The number at the start of `text`, unless a word goes on after it.
fn number_at(text: &str) -> Option<u64> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let next = text[end..].chars().next();
    if next.is_some_and(|c| c.is_alphanumeric() || c == '_') {
        return None;
    }
    text[..end].parse().ok().filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn targets(body: &str) -> Vec<String> {
        let url = Some("https://git.acme.example/acme/kiln/pull/9");
        let links = links(body, "acme/kiln", "acme/kiln#9", url);
        links.into_iter().map(|link| link.target).collect()
    }

    #[test]
    fn references_in_all_spellings() {
        assert_eq!(
            targets(
                "Fixes #7, closes: acme/oven#8.\nRESOLVED https://github.com/acme/my.oven/issues/9#issuecomment-1\n\
                 resolves https://git.acme.example/acme/kiln/pull/10, fix #007 and Closed ACME/Kiln#11"
            ),
            [
                "acme/kiln#7",
                "acme/oven#8",
                "acme/my.oven#9",
                "acme/kiln#10",
                "acme/kiln#11"
            ]
        );
        for word in KEYWORDS {
            assert_eq!(targets(&format!("({word} #1)")), ["acme/kiln#1"], "{word}");
            assert_eq!(targets(&format!("**{word}** #1")), ["acme/kiln#1"]);
        }
    }

    #[test]
    fn what_is_no_closing_reference() {
        for body in [
            "prefixes #7",
            "auto-fix #7",
            "fixes#7",
            "fixes 7",
            "fixes #7a",
            "fixes #0",
            "fixes #99999999999999999999999",
            "fixes the bug of #7",
            "`fixes #7`",
            "fixes `#7`",
            "```\nfixes #7\n```",
            "~~~~\nfixes #7\n```\n~~~\nfixes #8",
            "    fixes #7",
            "<!-- fixes #7 -->",
            "fixes https://evil.example/acme/kiln/issues/7",
            "fixes acme/#7",
            "fixes /kiln#7",
            "fixes #9",
            "",
        ] {
            assert_eq!(targets(body), Vec::<String>::new(), "{body}");
        }
    }

    proptest! {
        #[test]
        fn any_body_gives_canonical_ids(body in any::<String>(), near in "((fix|Closes):? ?(#|a/b#|https://github.com/a/b/pull/)[0-9é]{0,3}[ `\\n<]?){0,5}") {
            for body in [body, near] {
                for target in targets(&body) {
                    let (project, number) = target.split_once('#').unwrap_or_default();
                    prop_assert!(project.contains('/'));
                    prop_assert!(number.parse::<u64>().is_ok_and(|n| n > 0));
                }
            }
        }
    }
}
