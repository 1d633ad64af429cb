//! What a unit's removed code names, as an English sentence to embed.

use std::collections::BTreeSet;
use whence_contract::{CodeRef, UnitKind};

/// Names of one sort in a sentence: the first ones say what the code is about.
const MOST_NAMES: usize = 6;
/// A longer name is generated, and would crowd out the others.
const MOST_NAME_BYTES: usize = 80;

/// `This comment refers to function runqGet in kmazarin/sched.go.`, or that it is
/// a code block where the code names nothing and no prose stands beside it.
/// Empty where there is nothing to say.
pub(crate) fn sentence(kind: UnitKind, refs: &[CodeRef], alone: bool) -> String {
    let unit = match kind {
        UnitKind::Description => "description",
        UnitKind::Comment => "comment",
        UnitKind::Review => "review",
        UnitKind::ReviewComment => "review comment",
        UnitKind::Finding => "finding",
    };
    let parts: Vec<String> = [functions(refs), files(refs), modules(refs)].concat();
    match (parts.is_empty(), alone) {
        (false, _) => format!("This {unit} refers to {}.", listed(&parts)),
        (true, true) => format!("This {unit} is a code block."),
        (true, false) => String::new(),
    }
}

/// Functions, those of one file together.
fn functions(refs: &[CodeRef]) -> Vec<String> {
    let mut by_file: Vec<(Option<&str>, Vec<&str>)> = Vec::new();
    let mut seen = BTreeSet::new();
    for code_ref in refs {
        let Some(func) = short(&code_ref.func) else {
            continue;
        };
        if seen.len() >= MOST_NAMES || !seen.insert(func) {
            continue;
        }
        let file = short(&code_ref.file);
        match by_file.iter_mut().find(|(known, _)| *known == file) {
            Some((_, names)) => names.push(func),
            None => by_file.push((file, vec![func])),
        }
    }
    let named = |(file, names): &(Option<&str>, Vec<&str>)| {
        let functions = named("function", names);
        file.map_or(functions.clone(), |file| format!("{functions} in {file}"))
    };
    by_file.iter().map(named).collect()
}

/// Files that no function has named.
fn files(refs: &[CodeRef]) -> Vec<String> {
    let with_function: BTreeSet<&str> = refs
        .iter()
        .filter(|code_ref| code_ref.func.is_some())
        .filter_map(|code_ref| short(&code_ref.file))
        .collect();
    let alone = |file: &&str| !with_function.contains(file);
    let names: Vec<&str> = refs
        .iter()
        .filter_map(|code_ref| short(&code_ref.file))
        .filter(alone)
        .collect();
    sort("file", names)
}

fn modules(refs: &[CodeRef]) -> Vec<String> {
    sort(
        "module",
        refs.iter()
            .filter_map(|code_ref| short(&code_ref.module))
            .collect(),
    )
}

fn sort(noun: &str, mut names: Vec<&str>) -> Vec<String> {
    names.truncate(MOST_NAMES);
    if names.is_empty() {
        Vec::new()
    } else {
        vec![named(noun, &names)]
    }
}

fn short(name: &Option<String>) -> Option<&str> {
    name.as_deref().filter(|name| name.len() <= MOST_NAME_BYTES)
}

fn named(noun: &str, names: &[&str]) -> String {
    let plural = if names.len() == 1 { "" } else { "s" };
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    format!("{noun}{plural} {}", listed(&names))
}

/// `a`, `a and b`, `a, b and c`.
fn listed(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
