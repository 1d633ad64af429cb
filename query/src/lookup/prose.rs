//! The chunks of a unit as one text again.

/// Joins chunks in their order: each without its prefix, with a heading line
/// where the section changes.
#[derive(Debug, Default)]
pub(super) struct Prose {
    text: String,
    path: Vec<String>,
}

impl Prose {
    /// Adds a chunk. `prefix_len` is in bytes of `text`.
    pub(super) fn push(&mut self, headings: &[String], text: &str, prefix_len: usize) {
        let same = self
            .path
            .iter()
            .zip(headings)
            .take_while(|(before, now)| before == now)
            .count();
        for (depth, heading) in headings.iter().enumerate().skip(same) {
            // Markdown knows six levels.
            let marks = "#".repeat((depth + 1).min(6));
            self.paragraph(&format!("{marks} {heading}"));
        }
        self.path = headings.to_vec();
        self.paragraph(text.get(prefix_len..).unwrap_or(text).trim());
    }

    fn paragraph(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        if !self.text.is_empty() {
            self.text.push_str("\n\n");
        }
        self.text.push_str(text);
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_not_repeated_and_a_heading_is_said_once() {
        let path =
            |names: &[&str]| -> Vec<String> { names.iter().map(|n| n.to_string()).collect() };
        let mut prose = Prose::default();
        prose.push(&[], "Title\n\nFirst.", 7);
        prose.push(&path(&["Why"]), "Title\nWhy\n\nBecause.", 11);
        prose.push(&path(&["Why"]), "Title\nWhy\n\nAnd so.", 11);
        prose.push(&path(&["Why", "Cost"]), "Little.", 0);
        prose.push(&path(&["How"]), "Title\nHow", 9);
        assert_eq!(
            prose.into_text(),
            "First.\n\n# Why\n\nBecause.\n\nAnd so.\n\n## Cost\n\nLittle.\n\n# How"
        );
    }
}
