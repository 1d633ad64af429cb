//! Tables: one line for each row, whatever its cells hold.

use super::{block, children, kind};
use serde_json::Value;

/// A table; a first row without heads gets empty ones, as Markdown wants heads.
pub(super) fn table(node: &Value, depth: usize) -> String {
    let rows: Vec<(bool, Vec<String>)> = children(node)
        .iter()
        .filter(|row| !children(row).is_empty())
        .map(|row| {
            let heads = children(row).iter().all(|cell| kind(cell) == "tableHeader");
            (
                heads,
                children(row).iter().map(|c| cell(c, depth)).collect(),
            )
        })
        .collect();
    let columns = rows.iter().map(|(_, cells)| cells.len()).max().unwrap_or(0);
    if columns == 0 {
        return String::new();
    }
    let mut lines = Vec::new();
    let mut body = rows.as_slice();
    let head = match rows.split_first() {
        Some(((true, cells), rest)) => {
            body = rest;
            cells.as_slice()
        }
        _ => &[],
    };
    lines.push(line(head, columns));
    lines.push(format!("|{}", " --- |".repeat(columns)));
    lines.extend(body.iter().map(|(_, cells)| line(cells, columns)));
    lines.join("\n")
}

fn line(cells: &[String], columns: usize) -> String {
    let mut line = String::from("|");
    for column in 0..columns {
        let cell = cells.get(column).map_or("", String::as_str);
        line.push_str(&format!(" {cell} |"));
    }
    line
}

fn cell(node: &Value, depth: usize) -> String {
    let blocks = block::blocks(children(node), depth + 1);
    let lines: Vec<&str> = blocks.iter().flat_map(|block| block.lines()).collect();
    // A fence has no place in a cell: its lines stand as they are.
    let lines = lines.into_iter().filter(|line| !line.starts_with("```"));
    let text = lines.map(str::trim).filter(|line| !line.is_empty());
    text.collect::<Vec<_>>().join(" ").replace('|', "\\|")
}
