//! Raw diffs outside fences: people paste them as they are.
//!
//! A run begins at `diff --git a/… b/…`, at a `--- ` line followed by `+++ ` and
//! `@@`, or at a hunk header `@@ -1,2 +3,4 @@`. How far it goes is counted from
//! the hunk headers, so prose right behind a diff stays prose.

use std::ops::Range;

/// The diff runs of `source` that begin outside `code`: byte ranges of whole
/// lines, in order, disjoint. `code` is sorted.
pub fn runs(source: &str, code: &[Range<usize>]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < source.len() {
        let line = line_at(source, at);
        let next = at + line.len();
        let may_begin =
            line.starts_with("diff --git ") || line.starts_with("--- ") || line.starts_with("@@ -");
        if may_begin && !within(code, at) {
            let end = run_end(source, at);
            if end > at {
                found.push(at..end);
                at = end;
                continue;
            }
        }
        at = next;
    }
    found
}

fn within(ranges: &[Range<usize>], at: usize) -> bool {
    let next = ranges.partition_point(|range| range.end <= at);
    ranges.get(next).is_some_and(|range| range.start <= at)
}

/// The line at `at` with its line end.
fn line_at(source: &str, at: usize) -> &str {
    let rest = &source[at..];
    rest.find('\n').map_or(rest, |end| &rest[..=end])
}

/// Where the run that begins at `at` ends; `at` itself where none begins.
fn run_end(source: &str, start: usize) -> usize {
    let mut at = start;
    loop {
        let end = file_end(source, at);
        if end == at {
            return at;
        }
        at = end;
    }
}

/// One file's part of a diff, or as much of one as stands there.
fn file_end(source: &str, start: usize) -> usize {
    let mut at = start;
    let line = line_at(source, at);
    if line.starts_with("diff --git ") {
        at += line.len();
        at = header_end(source, at);
    }
    let line = line_at(source, at);
    if line.starts_with("--- ") {
        let second = at + line.len();
        let plus = line_at(source, second);
        let third = second + plus.len();
        if plus.starts_with("+++ ") && hunk_sizes(line_at(source, third)).is_some() {
            at = third;
        }
    }
    while let Some(sizes) = hunk_sizes(line_at(source, at)) {
        at = hunk_end(source, at + line_at(source, at).len(), sizes);
    }
    at
}

/// Git's extended header lines.
fn header_end(source: &str, mut at: usize) -> usize {
    const HEADERS: [&str; 12] = [
        "index ",
        "old mode ",
        "new mode ",
        "new file mode ",
        "deleted file mode ",
        "similarity index ",
        "dissimilarity index ",
        "rename from ",
        "rename to ",
        "copy from ",
        "copy to ",
        "Binary files ",
    ];
    while HEADERS
        .iter()
        .any(|header| line_at(source, at).starts_with(header))
    {
        at += line_at(source, at).len();
    }
    at
}

/// `@@ -a,b +c,d @@` as (b, d); a missing count is one.
fn hunk_sizes(line: &str) -> Option<(u64, u64)> {
    let rest = line.strip_prefix("@@ -")?;
    let (ranges, _) = rest.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    Some((hunk_size(old)?, hunk_size(new)?))
}

fn hunk_size(range: &str) -> Option<u64> {
    let (start, size) = range.split_once(',').unwrap_or((range, "1"));
    start.parse::<u64>().ok()?;
    size.parse().ok()
}

fn hunk_end(source: &str, mut at: usize, (mut old, mut new): (u64, u64)) -> usize {
    while (old > 0 || new > 0) && at < source.len() {
        let line = line_at(source, at);
        match line.as_bytes().first() {
            // An empty line is a context line whose blank an editor trimmed.
            Some(b' ' | b'\n') if old > 0 && new > 0 => {
                old -= 1;
                new -= 1;
            }
            Some(b'-') if old > 0 => old -= 1,
            Some(b'+') if new > 0 => new -= 1,
            Some(b'\\') => {}
            _ => break,
        }
        at += line.len();
    }
    while line_at(source, at).starts_with("\\ No newline") {
        at += line_at(source, at).len();
    }
    at
}
