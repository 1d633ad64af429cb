//! What code names: files, functions, modules. Heuristics over any language, by
//! the look of a token, without line numbers.

use crate::scan::Code;
use std::collections::BTreeSet;
use whence_contract::CodeRef;

/// How many references one unit keeps, the first ones.
pub const MOST_REFS: usize = 50;
/// How much of one unit's code is read: a log of megabytes names nothing more.
const MOST_BYTES: usize = 256 * 1024;

/// References in the order in which the code names them, without duplicates.
#[derive(Clone, Debug, Default)]
pub struct CodeRefs {
    /// At most [`MOST_REFS`].
    pub refs: Vec<CodeRef>,
    seen: BTreeSet<CodeRef>,
}

impl CodeRefs {
    /// Adds what blocks of code name. Functions belong to the file that the
    /// block has named before, as a diff does.
    pub fn blocks(&mut self, blocks: &[Code]) {
        let mut left = MOST_BYTES;
        for block in blocks {
            let text = head(&block.text, left);
            left -= text.len();
            let mut file = None;
            for line in text.lines() {
                self.line(line, &mut file);
            }
        }
    }

    /// Adds what an inline code span names.
    pub fn span(&mut self, span: &str) {
        let span = head(span.trim(), 256);
        let mut file = None;
        self.tokens(span, &mut file);
        // `pkg.func` and `Type::method` need no call where they stand alone.
        if let Some((func, _)) = chain(span).filter(|(_, length)| *length == span.len())
            && (func.contains("::") || is_dotted_func(func))
            && file.is_none()
        {
            self.push(CodeRef {
                func: Some(func.to_owned()),
                ..CodeRef::default()
            });
        }
    }

    /// Adds a file that the unit stands at.
    pub fn file(&mut self, path: &str) {
        self.push(CodeRef {
            file: Some(path.to_owned()),
            ..CodeRef::default()
        });
    }

    fn push(&mut self, code_ref: CodeRef) {
        if self.refs.len() < MOST_REFS && self.seen.insert(code_ref.clone()) {
            self.refs.push(code_ref);
        }
    }

    fn line(&mut self, line: &str, file: &mut Option<String>) {
        if let Some(path) = diff_path(line) {
            *file = Some(path.to_owned());
            self.file(path);
            return;
        }
        // A diff's lines carry a sign, a shell's a prompt.
        let code = line
            .strip_prefix(['+', '-', '>', '$'])
            .unwrap_or(line)
            .trim_start();
        if let Some(module) = module(code) {
            self.push(CodeRef {
                module: Some(module.to_owned()),
                ..CodeRef::default()
            });
            return;
        }
        self.tokens(code, file);
    }

    /// Files, definitions and calls, from left to right.
    fn tokens(&mut self, text: &str, file: &mut Option<String>) {
        let mut at = 0;
        let mut keyword = false;
        while let Some(start) = text[at..].find(starts_token).map(|i| at + i) {
            let rest = &text[start..];
            let token = &rest[..rest.find(|c| !is_token(c)).unwrap_or(rest.len())];
            at = start + token.len();
            if text[at..].starts_with("://") {
                let url = text[at..]
                    .find(char::is_whitespace)
                    .unwrap_or(text.len() - at);
                at += url;
                continue;
            }
            if let Some(path) = file_path(token) {
                *file = Some(path.to_owned());
                self.file(path);
                keyword = false;
                continue;
            }
            // A path's parts are no names.
            if token.contains('/') {
                continue;
            }
            let Some((name, length)) = chain(token) else {
                continue;
            };
            at = start + length;
            let after = &text[at..];
            let defined = keyword && after.starts_with(['(', '<', '[', ':']);
            let called = after.starts_with('(') && !after.starts_with("(s)") && is_call(name);
            let method = name.contains("::") && is_method(name);
            if defined || called || method {
                let func = Some(name.to_owned());
                self.push(CodeRef {
                    file: file.clone(),
                    func,
                    module: None,
                });
            }
            // A Go method's receiver stands between the keyword and the name.
            let receiver = name == "func" && after.starts_with(" (");
            if receiver && let Some(close) = after.find(')') {
                at += close + 1;
            }
            keyword = ["fn", "def", "func", "function", "fun", "sub"].contains(&name);
        }
    }
}

/// The longest start of `text` of at most `most` bytes.
fn head(text: &str, most: usize) -> &str {
    &text[..text.floor_char_boundary(most)]
}

/// The file that a diff's header line names.
fn diff_path(line: &str) -> Option<&str> {
    let path = match line.strip_prefix("diff --git ") {
        Some(paths) => paths.rsplit_once(" b/")?.1,
        None => {
            let path = line
                .strip_prefix("+++ ")
                .or_else(|| line.strip_prefix("--- "))?;
            let path = path.split('\t').next()?.trim_end();
            path.strip_prefix("a/")
                .or_else(|| path.strip_prefix("b/"))?
        }
    };
    (!path.is_empty() && path.len() <= 256 && !path.contains(' ')).then_some(path)
}

/// The module of an import line.
fn module(line: &str) -> Option<&str> {
    let line = line.strip_prefix("pub ").unwrap_or(line);
    let rest = if let Some(rest) = line.strip_prefix("use ") {
        rest.ends_with(';').then_some(rest)?
    } else if let Some(rest) = line.strip_prefix("from ") {
        rest.split_once(" import")?.0
    } else if let Some(rest) = line.strip_prefix("import ") {
        rest.rsplit_once(" from ")
            .map_or(rest, |(_, source)| source)
    } else if let Some((_, rest)) = line.split_once("require(") {
        rest.split_once(')')?.0
    } else {
        line.strip_prefix("require ")
            .or_else(|| line.strip_prefix("#include "))?
    };
    let rest = rest.trim().trim_start_matches(['"', '\'', '<']);
    let length = rest
        .find(|c: char| !c.is_alphanumeric() && !"_./:@-".contains(c))
        .unwrap_or(rest.len());
    // More words follow in prose that begins like an import.
    let after = &rest[length..];
    let alone = !after.starts_with(' ') || after.starts_with(" as ") || after.starts_with(" {");
    let name = rest[..length].trim_end_matches(['.', ':', '/']);
    let named = name.len() >= 2 && name.len() <= 128 && name.contains(char::is_alphabetic);
    (alone && named).then_some(name)
}

fn starts_token(c: char) -> bool {
    c.is_alphanumeric() || "_./@".contains(c)
}

fn is_token(c: char) -> bool {
    c.is_alphanumeric() || "_./:@+-".contains(c)
}

/// Extensions that make a token a file.
const EXTENSIONS: &[&str] = &[
    "adoc", "bash", "c", "cc", "cddl", "cfg", "clj", "cmake", "conf", "cpp", "cs", "css", "cxx",
    "dart", "el", "erl", "ex", "exs", "fs", "go", "gradle", "graphql", "h", "hh", "hpp", "hs",
    "html", "ini", "ipynb", "java", "jl", "js", "json", "jsonl", "jsx", "kt", "kts", "lock", "lua",
    "m", "md", "mdx", "mjs", "mk", "ml", "mm", "nim", "nix", "php", "pl", "pm", "proto", "ps1",
    "py", "pyi", "r", "rb", "rs", "rst", "sass", "scala", "scss", "sh", "sol", "sql", "svelte",
    "swift", "tf", "toml", "ts", "tsx", "txt", "vue", "wasm", "xml", "yaml", "yml", "zig", "zsh",
];

/// Products that look like files.
const NO_FILES: &[&str] = &[
    "asp.net",
    "chart.js",
    "d3.js",
    "discord.js",
    "express.js",
    "next.js",
    "node.js",
    "nuxt.js",
    "react.js",
    "three.js",
    "vue.js",
];

/// `token` as a file, without line numbers.
fn file_path(token: &str) -> Option<&str> {
    let path = token.split(':').next()?.trim_end_matches(['.', '-', '+']);
    let path = path
        .strip_prefix("./")
        .unwrap_or(path)
        .trim_start_matches(['/', '@']);
    let (stem, extension) = path.rsplit_once('.')?;
    let name = stem.rsplit('/').next()?;
    let known = EXTENSIONS.binary_search(&extension).is_ok();
    // `foo.m` and `foo.r` are fields more often than files.
    let lone = extension.len() == 1 && !path.contains('/') && !["c", "h"].contains(&extension);
    let product = NO_FILES.contains(&path.to_ascii_lowercase().as_str());
    (known && !lone && !product && !name.is_empty() && path.len() <= 256).then_some(path)
}

/// Identifiers joined by `.` or `::` at the start of `text`, and their length.
fn chain(text: &str) -> Option<(&str, usize)> {
    let mut end = 0;
    loop {
        let rest = &text[end..];
        if !rest.starts_with(|c: char| c.is_alphabetic() || c == '_') {
            break;
        }
        let name = rest
            .find(|c: char| !c.is_alphanumeric() && c != '_')
            .unwrap_or(rest.len());
        let after = &rest[name..];
        let join = if after.starts_with("::") {
            2
        } else {
            usize::from(after.starts_with('.'))
        };
        end += name;
        let goes_on = after[join..].starts_with(|c: char| c.is_alphabetic() || c == '_');
        if join == 0 || !goes_on {
            return (end <= 128).then_some((&text[..end], end));
        }
        end += join;
    }
    None
}

/// Words that stand before a parenthesis without being called.
const NO_CALLS: &[&str] = &[
    "and", "assert", "await", "case", "catch", "else", "elif", "exit", "fn", "for", "foreach",
    "func", "function", "if", "in", "is", "match", "new", "not", "or", "print", "return", "select",
    "sizeof", "super", "switch", "throw", "typeof", "until", "unless", "when", "where", "while",
    "with", "yield",
];

fn is_call(name: &str) -> bool {
    let last = name.rsplit(['.', ':']).next().unwrap_or(name);
    last.len() >= 3 && !NO_CALLS.contains(&last.to_ascii_lowercase().as_str())
}

/// `Type::method` rather than `module::Type`.
fn is_method(name: &str) -> bool {
    let mut parts = name.rsplit("::");
    let last = parts.next().unwrap_or_default();
    let lower = |part: &str| part.starts_with(|c: char| c.is_lowercase() || c == '_');
    lower(last) && parts.next().is_some_and(|part| !lower(part))
}

/// `pkg.func` rather than a host, a version or a sentence's end.
fn is_dotted_func(name: &str) -> bool {
    let parts: Vec<&str> = name.split('.').collect();
    let hosts = ["com", "org", "net", "io", "dev", "html", "example"];
    (2..=4).contains(&parts.len())
        && parts.iter().all(|part| part.len() >= 2)
        && !hosts.contains(&parts[parts.len() - 1])
        && !NO_FILES.contains(&name.to_ascii_lowercase().as_str())
}
