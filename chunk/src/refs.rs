//! References to tickets, as canonical ids, and only where they are references.
//!
//! | written | where | id |
//! |---|---|---|
//! | `#7`, `GH-7` | a GitHub ticket | `owner/repo#7` of its own repository |
//! | `#7`, `!12` | a GitLab ticket | `group/project#7`, `group/project!12` of its own |
//! | `owner/repo#7`, `group/project!12` | anywhere | as written |
//! | an issue's or merge request's URL | anywhere | what it points to |
//! | `PROJ-12` | Jira, Linear | as written, unless it is a known standard's name |
//! | `PROJ-12` | elsewhere | as written, where `PROJ` is a known project |
//!
//! `UTF-8`, `CVE-2024-1234`, `#7` within a word, colours (`#1a2b3c`, `#123456`),
//! anchors, and what stands within another URL or a code span are none.

use crate::limits::RefRules;
use std::ops::Range;
use whence_contract::Document;

/// What a reference's short forms mean in one ticket.
#[derive(Clone, Debug)]
pub struct RefReader<'a> {
    system: System,
    project: &'a str,
    own: Vec<&'a str>,
    own_number: u64,
    own_key: Option<&'a str>,
    rules: &'a RefRules,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum System {
    Github,
    Gitlab,
    /// Jira and Linear: tickets are `PROJ-12`.
    Keyed,
    Other,
}

/// Names of standards, algorithms and formats that are written like keys.
const NO_PROJECTS: &[&str] = &[
    "ADR", "AES", "ANSI", "ARM", "ASCII", "BASE", "BCP", "BERT", "BIP", "BSD", "CAPEC", "CIS",
    "COVID", "CP", "CRC", "CVE", "CVSS", "CWE", "DDR", "DES", "DIN", "DSA", "EC", "ECDSA", "ECMA",
    "ED", "EIP", "EN", "ERC", "ES", "FIPS", "FP", "GHSA", "GMT", "GPL", "GPT", "HMAC", "HTTP",
    "HTTPS", "IEC", "IEEE", "INT", "IP", "IPV", "ISBN", "ISO", "ISSN", "ITU", "JEP", "JSR", "KB",
    "KOI", "LATIN", "LGPL", "LLAMA", "MD", "MP", "MPEG", "MPL", "MS", "NIST", "OAUTH", "OWASP",
    "PCI", "PEP", "PKCS", "POSIX", "PR", "PSR", "RFC", "RHSA", "RIPEMD", "RSA", "SAML", "SEC",
    "SHA", "SHAKE", "SM", "SP", "SSL", "STD", "TCP", "TIA", "TLS", "TODO", "UCS", "UDP", "UINT",
    "USB", "USN", "UTC", "UTF", "WCAG", "WIN", "WPA", "XXX",
];

impl<'a> RefReader<'a> {
    /// For the text of `document`.
    pub fn new(document: &'a Document, rules: &'a RefRules) -> Self {
        let system = match document.source.as_str() {
            "github" => System::Github,
            "gitlab" => System::Gitlab,
            "jira" | "linear" => System::Keyed,
            _ => System::Other,
        };
        let id = document.id.as_str();
        let own_key = (system == System::Keyed)
            .then(|| id.rsplit_once('-'))
            .flatten();
        let number = id
            .rsplit(['#', '!', '-'])
            .next()
            .and_then(|digits| digits.parse().ok());
        let mut own = vec![id];
        own.extend(document.aliases.iter().map(String::as_str));
        Self {
            system,
            project: &document.project,
            own,
            own_number: number.unwrap_or(0),
            own_key: own_key.map(|(key, _)| key),
            rules,
        }
    }

    /// The references in `text`, in order, with repetitions, without the ticket
    /// itself. `opaque` (in order, disjoint) is passed over.
    pub fn find(&self, text: &str, opaque: &[Range<usize>]) -> Vec<(usize, String)> {
        let mut found = Vec::new();
        let bytes = text.as_bytes();
        let mut spans = opaque.iter().peekable();
        let mut at = 0;
        while at < bytes.len() {
            while spans.next_if(|span| span.end <= at).is_some() {}
            if let Some(span) = spans.peek()
                && span.start <= at
            {
                at = span.end;
                continue;
            }
            let (id, next) = match bytes[at] {
                b'#' | b'!' => self.number(text, at),
                b'h' | b'H' if starts_url(&text[at..]) => {
                    let url = url_at(&text[at..]);
                    (self.url(url), at + url.len())
                }
                b'A'..=b'Z' => self.key(text, at),
                _ => (None, at + 1),
            };
            if let Some(id) = id.filter(|id| !self.is_own(id)) {
                found.push((at, id));
            }
            at = next.max(at + 1);
        }
        found
    }

    /// The ticket that a URL opens, unless it is the reader's own.
    pub fn find_url(&self, url: &str) -> Option<String> {
        self.url(url).filter(|id| !self.is_own(id))
    }

    fn is_own(&self, id: &str) -> bool {
        self.own.contains(&id)
    }

    /// `#7`, `!12`, with or without a project before.
    fn number(&self, text: &str, at: usize) -> (Option<String>, usize) {
        let (sign, rest) = text[at..].split_at(1);
        let digits = digits(rest);
        let next = at + 1 + digits.len();
        let name = project_before(&text[..at]);
        let before = text[..at - name.len()].chars().next_back();
        let number = number(digits).filter(|_| ends_well(&text[next..]));
        let Some(number) = number else {
            return (None, next);
        };
        let id = if name.is_empty() {
            let bound = before.is_none_or(|c| !c.is_alphanumeric() && !"&/#!=_-.".contains(c));
            let own = match self.system {
                System::Github => sign == "#",
                System::Gitlab => true,
                System::Keyed | System::Other => false,
            };
            // Six digits are a colour, except in a project that has come so far.
            let colour = sign == "#" && number >= 100_000 && self.own_number < 50_000;
            (bound && own && !colour).then(|| format!("{}{sign}{number}", self.project))
        } else {
            let bound = before.is_none_or(|c| !c.is_alphanumeric() && !"/@:~=".contains(c));
            (bound && self.is_project(name, sign)).then(|| self.qualified(name, sign, number))
        };
        (id, next)
    }

    fn is_project(&self, name: &str, sign: &str) -> bool {
        let segments: Vec<&str> = name.split('/').collect();
        let plain = |segment: &&str| {
            segment.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.')
                && segment.bytes().any(|b| b.is_ascii_alphanumeric())
        };
        // A file with an anchor is no project.
        let file = segments.last().is_some_and(|last| {
            [".md", ".html", ".htm", ".txt", ".rst", ".adoc"]
                .iter()
                .any(|end| last.ends_with(end))
        });
        let depth = match self.system {
            System::Github => sign == "#" && segments.len() == 2 && !segments[0].contains('.'),
            System::Gitlab => segments.len() >= 2,
            System::Keyed | System::Other if sign == "#" => {
                segments.len() == 2 && !segments[0].contains('.')
            }
            System::Keyed | System::Other => segments.len() >= 2,
        };
        depth && !file && segments.iter().all(plain)
    }

    /// Owners and repositories compare without case; the ticket's own spelling
    /// of its project wins.
    fn qualified(&self, name: &str, sign: &str, number: u64) -> String {
        let same = name.eq_ignore_ascii_case(self.project);
        format!("{}{sign}{number}", if same { self.project } else { name })
    }

    /// `PROJ-12`, `GH-7`.
    fn key(&self, text: &str, at: usize) -> (Option<String>, usize) {
        let rest = &text[at..];
        let key_len = rest
            .find(|c: char| !c.is_ascii_uppercase() && !c.is_ascii_digit() && c != '_')
            .unwrap_or(rest.len());
        let before = text[..at].chars().next_back();
        let bound = before.is_none_or(|c| !c.is_alphanumeric() && !"_-.#$@=".contains(c));
        let (key, after) = rest.split_at(key_len);
        let Some(tail) = after.strip_prefix('-').filter(|_| bound) else {
            // Skips the whole word: no key begins in its middle.
            let word = rest
                .find(|c: char| !c.is_alphanumeric())
                .unwrap_or(rest.len());
            return (None, at + word);
        };
        let digits = digits(tail);
        let next = at + key_len + 1 + digits.len();
        let number = number(digits).filter(|number| *number < 1_000_000);
        let Some(number) = number.filter(|_| ends_well(&text[next..])) else {
            return (None, next);
        };
        if key == "GH" && self.system == System::Github {
            return (Some(format!("{}#{number}", self.project)), next);
        }
        (self.is_key(key).then(|| format!("{key}-{number}")), next)
    }

    fn is_key(&self, key: &str) -> bool {
        if self.own_key == Some(key) || self.rules.known_projects.contains(key) {
            return true;
        }
        self.system == System::Keyed
            && (2..=10).contains(&key.len())
            && !key.contains('_')
            && !NO_PROJECTS.contains(&key)
    }

    /// The ticket that a URL opens.
    fn url(&self, url: &str) -> Option<String> {
        let (_, rest) = url.split_once("://")?;
        let (rest, query) = rest.split_once(['?', '#']).unwrap_or((rest, ""));
        let mut parts = rest.split('/').filter(|part| !part.is_empty());
        let host = parts.next()?.to_ascii_lowercase();
        let path: Vec<&str> = parts.collect();
        if let Some(dash) = path.iter().position(|part| *part == "-") {
            return self.gitlab(&path[..dash], &path[dash + 1..]);
        }
        match path.as_slice() {
            [owner, repo, kind, digits, ..]
                if host.contains("github")
                    && !host.starts_with("api.")
                    && ["issues", "pull", "pulls", "discussions"].contains(kind) =>
            {
                Some(self.qualified(&format!("{owner}/{repo}"), "#", number(digits)?))
            }
            [project @ .., kind, digits] if host.contains("gitlab") && project.len() >= 2 => {
                self.gitlab(project, &[kind, digits])
            }
            [_, "issue", key, ..] if host == "linear.app" => whole_key(key),
            [.., "browse", key] => whole_key(key),
            [.., "issues", key] if is_jira(&host) => whole_key(key),
            _ if is_jira(&host) => {
                let (_, key) = query.split_once("selectedIssue=")?;
                whole_key(key.split(['&', '#']).next()?)
            }
            _ => None,
        }
    }

    fn gitlab(&self, project: &[&str], rest: &[&str]) -> Option<String> {
        let [kind, digits, ..] = rest else {
            return None;
        };
        let sign = match *kind {
            "issues" | "work_items" => "#",
            "merge_requests" => "!",
            _ => return None,
        };
        (project.len() >= 2).then_some(())?;
        Some(self.qualified(&project.join("/"), sign, number(digits)?))
    }
}

fn is_jira(host: &str) -> bool {
    host.ends_with(".atlassian.net") || host.contains("jira")
}

/// `PROJ-12` and nothing else.
fn whole_key(text: &str) -> Option<String> {
    let (key, digits) = text.rsplit_once('-')?;
    let well = key.starts_with(|c: char| c.is_ascii_uppercase())
        && key
            .bytes()
            .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    let number = number(digits).filter(|_| well)?;
    Some(format!("{key}-{number}"))
}

fn digits(text: &str) -> &str {
    &text[..text.bytes().take_while(u8::is_ascii_digit).count()]
}

/// A ticket's number: no leading zero, at most nine digits.
fn number(digits: &str) -> Option<u64> {
    if digits.is_empty() || digits.starts_with('0') || digits.len() > 9 {
        return None;
    }
    digits.parse().ok()
}

/// Whether a number may end here: not within a word, a version, a date.
fn ends_well(rest: &str) -> bool {
    let mut chars = rest.chars();
    match chars.next() {
        None => true,
        Some('-' | '.') => !chars.next().is_some_and(|c| c.is_ascii_digit()),
        Some(c) => !c.is_alphanumeric() && c != '_',
    }
}

/// The longest run before a sign that may be a project's path.
fn project_before(text: &str) -> &str {
    // Longer than any path on the services, and a bound on the work per sign.
    const MOST: usize = 256;
    let part = |b: &u8| b.is_ascii_alphanumeric() || b"-_./".contains(b);
    let length = text.bytes().rev().take(MOST).take_while(part).count();
    let name = &text[text.len() - length..];
    // What stands before a lone word's sign is that word, not a project.
    if name.contains('/') && !name.starts_with('/') {
        name
    } else {
        ""
    }
}

fn starts_url(text: &str) -> bool {
    let starts = |scheme: &str| {
        text.get(..scheme.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    starts("https://") || starts("http://")
}

/// The URL at the start of `text`, without the punctuation that follows it.
fn url_at(text: &str) -> &str {
    let end = text
        .find(|c: char| c.is_whitespace() || c.is_control() || "<>\"'`|[]{}\\^".contains(c))
        .unwrap_or(text.len());
    let mut url = &text[..end];
    // What is longer is no ticket's URL, and trimming costs its square.
    while url.len() <= 2048 {
        let trimmed = url.trim_end_matches(['.', ',', ';', ':', '!', '?', '*', '_']);
        let closed = trimmed
            .strip_suffix(')')
            .filter(|_| trimmed.matches(')').count() > trimmed.matches('(').count());
        let next = closed.unwrap_or(trimmed);
        if next.len() == url.len() {
            return url;
        }
        url = next;
    }
    url
}
