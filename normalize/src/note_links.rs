//! Which other notes a note links to.
//!
//! A note is read alone, so a link is resolved by its spelling: `[[Name]]` is a
//! note in the same folder, `[[folder/Name]]` one from the wiki's root, and a
//! relative `.md` or `.markdown` link what the path says. Code is skipped. A
//! link out of the wiki, to a page on the web or to an attachment is none.

use crate::{clean::clean_line, prose::events};
use pulldown_cmark::{Event, LinkType, Tag};
use whence_contract::{Link, LinkKind};

/// What a `[[wikilink]]` may name beside notes.
const ATTACHMENTS: [&str; 18] = [
    "png", "jpg", "jpeg", "gif", "svg", "webp", "bmp", "avif", "pdf", "mp3", "wav", "ogg", "mp4",
    "webm", "mov", "zip", "canvas", "base",
];

/// The linked notes by canonical id, in order, each once, never the note itself.
pub(crate) fn links(body: &str, scope: &str, path: &str) -> Vec<Link> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut links: Vec<Link> = Vec::new();
    for event in events(body) {
        let (link_type, target) = match event {
            Event::Start(
                Tag::Link {
                    link_type,
                    dest_url,
                    ..
                }
                | Tag::Image {
                    link_type,
                    dest_url,
                    ..
                },
            ) => (link_type, dest_url),
            _ => continue,
        };
        let resolved = match link_type {
            LinkType::WikiLink { .. } => wiki_link(&target, folder),
            LinkType::Email => None,
            _ => path_link(&target, folder),
        };
        let Some(resolved) = resolved.filter(|resolved| resolved != path) else {
            continue;
        };
        let link = Link {
            kind: LinkKind::Mentions,
            target: format!("{scope}/{resolved}"),
        };
        if !links.contains(&link) {
            links.push(link);
        }
    }
    links
}

/// The path of a note within its wiki: `/` between parts, no `.` and no empty
/// part. `..` stays text: a path is a name here, never opened.
pub(crate) fn note_path(path: &str) -> String {
    let path = clean_line(path).replace('\\', "/");
    let parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
    clean_line(&parts.collect::<Vec<_>>().join("/"))
}

fn wiki_link(target: &str, folder: &str) -> Option<String> {
    let name = clean_line(target.split('#').next()?);
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    let is = |other: &str| extension.is_some_and(|e| e.eq_ignore_ascii_case(other));
    if name.is_empty() || name.contains("://") || ATTACHMENTS.into_iter().any(is) {
        return None;
    }
    let folder = if name.contains('/') && !name.starts_with('.') {
        ""
    } else {
        folder
    };
    let name = if extension.is_some_and(is_markdown) {
        name
    } else {
        format!("{name}.md")
    };
    join(folder, &name)
}

fn is_markdown(extension: &str) -> bool {
    ["md", "markdown"]
        .iter()
        .any(|known| known.eq_ignore_ascii_case(extension))
}

fn path_link(target: &str, folder: &str) -> Option<String> {
    let end = target.find(['#', '?']).unwrap_or(target.len());
    let path = clean_line(&percent_decoded(&target[..end]));
    let is_note = path
        .rsplit_once('.')
        .is_some_and(|(_, extension)| is_markdown(extension));
    // `mailto:`, `https:`, and `//host/…`.
    if !is_note || path.contains(':') || path.starts_with("//") {
        return None;
    }
    match path.strip_prefix('/') {
        Some(from_root) => join("", from_root),
        None => join(folder, &path),
    }
}

/// `path` seen from `folder`; `None` where it leaves the wiki.
fn join(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = Vec::new();
    for part in folder.split('/').chain(path.split('/')) {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    let joined = clean_line(&parts.join("/"));
    (!joined.is_empty()).then_some(joined)
}

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let escaped = (*first == b'%')
            .then(|| after.get(..2))
            .flatten()
            .filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match escaped {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(body: &str) -> Vec<String> {
        let links = links(body, "docs", "guide/firing.md");
        links.into_iter().map(|link| link.target).collect()
    }

    #[test]
    fn wikilinks_and_paths() {
        assert_eq!(
            targets(
                "[[Glaze]], [[glazes/Blue|the blue]], [[Glaze#Mixing]], ![[Table.md]], [[./Near]]\n\
                 [a](ash.md) [b](../ARCHITECTURE.md#map) [c](/index.MD) [d](./a%20b.md?x) [e][r]\n\n[r]: deep/er.markdown"
            ),
            [
                "docs/guide/Glaze.md",
                "docs/glazes/Blue.md",
                "docs/guide/Table.md",
                "docs/guide/Near.md",
                "docs/guide/ash.md",
                "docs/ARCHITECTURE.md",
                "docs/index.MD",
                "docs/guide/a b.md",
                "docs/guide/deep/er.markdown"
            ]
        );
    }

    #[test]
    fn what_is_no_link_to_a_note() {
        for body in [
            "`[[Glaze]]` and `[a](b.md)`",
            "```\n[[Glaze]]\n[a](b.md)\n```",
            "    [[Glaze]]",
            "<!-- [[Glaze]] -->",
            "[a](https://example.org/b.md) <https://example.org/b.md>",
            "[a](../../out.md) [a](//host/b.md) [a](mailto:b.md) [a](b.txt) [a](#b)",
            "![[kiln.png]] [[manual.PDF]] [[#Heading]] [[]]",
            "[self](firing.md) [[firing]]",
            "\\[[Glaze]]",
        ] {
            assert_eq!(targets(body), Vec::<String>::new(), "{body}");
        }
    }

    #[test]
    fn paths_are_names() {
        assert_eq!(note_path("./a//b\\c.md"), "a/b/c.md");
        assert_eq!(note_path("/../a\n.md"), "../a .md");
        assert_eq!(note_path("/./"), "");
    }
}
