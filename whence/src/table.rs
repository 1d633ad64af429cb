//! Tables and colour for people: colour on a terminal only, and not where
//! `NO_COLOR` is set.

use crate::print::clean;
use std::{fmt::Write as _, io::IsTerminal};
use unicode_width::UnicodeWidthStr;

/// Whether what is printed has colour.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paint(bool);

impl Paint {
    /// As stdout takes it.
    pub(crate) fn stdout() -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        Self(std::io::stdout().is_terminal() && !refused && !dumb)
    }

    pub(crate) fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    pub(crate) fn dim(self, text: &str) -> String {
        self.with("2", text)
    }

    fn with(self, code: &str, text: &str) -> String {
        match self.0 && !text.is_empty() {
            true => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
            false => text.to_owned(),
        }
    }
}

/// Rows under a head; the last column is not padded. Cells are cleaned here, so
/// that none can drive the terminal.
pub(crate) struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(crate) fn new(head: &[&str]) -> Self {
        Self {
            head: head.iter().map(|cell| (*cell).to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows
            .push(cells.into_iter().map(|cell| clean(&cell)).collect());
    }

    /// The table as text; empty where it has no rows.
    pub(crate) fn text(&self, paint: Paint) -> String {
        if self.rows.is_empty() {
            return String::new();
        }
        let cell = |row: &[String], column: usize| row.get(column).cloned().unwrap_or_default();
        let columns: Vec<(usize, bool)> = (0..self.head.len())
            .map(|column| {
                let cells = || self.rows.iter().map(|row| cell(row, column));
                let width = cells()
                    .chain([cell(&self.head, column)])
                    .map(|text| text.width());
                let numbers = cells().all(|text| text.bytes().all(|b| b.is_ascii_digit()));
                (width.max().unwrap_or_default(), numbers)
            })
            .collect();
        let line = |row: &[String]| {
            let mut line = String::new();
            for (column, (width, numbers)) in columns.iter().enumerate() {
                let text = cell(row, column);
                let pad = " ".repeat(width.saturating_sub(text.width()));
                let between = if column > 0 { "  " } else { "" };
                let _infallible = match numbers {
                    true => write!(line, "{between}{pad}{text}"),
                    false => write!(line, "{between}{text}{pad}"),
                };
            }
            line.trim_end().to_owned()
        };
        let mut text = paint.dim(&line(&self.head)) + "\n";
        for row in &self.rows {
            text.push_str(&line(row));
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_under_each_other_whatever_the_script() {
        let mut table = Table::new(&["id", "n", "title"]);
        table.row(["漢字#1", "7", "first"].map(str::to_owned));
        table.row(["a#2", "12", "se\u{1b}[2Jcond"].map(str::to_owned));
        assert_eq!(
            table.text(Paint(false)),
            "id       n  title\n漢字#1   7  first\na#2     12  se\u{FFFD}[2Jcond\n"
        );
        assert!(table.text(Paint(true)).starts_with("\u{1b}[2mid"));
        assert_eq!(Table::new(&["id"]).text(Paint(true)), "");
    }
}
