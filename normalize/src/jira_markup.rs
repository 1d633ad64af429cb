//! Jira's wiki markup as Markdown.

/// The text as it is.
pub(crate) fn to_markdown(text: &str) -> String {
    text.to_owned()
}
