//! The prose of a Markdown text without its code, for readers that look for
//! something people meant.

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd, TextMergeStream};

/// Stands where inline code was, so that the words around it do not meet.
pub(crate) const CODE: char = '\u{fffc}';

/// The events of a text, as Markdown of the GitHub kind with `[[wikilinks]]`.
pub(crate) fn events(markdown: &str) -> impl Iterator<Item = Event<'_>> {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_WIKILINKS;
    TextMergeStream::new(Parser::new_ext(markdown, options))
}

/// The text that a reader sees as prose: no fences, no inline code, no HTML
/// comments; blocks end with a line end.
pub(crate) fn prose(markdown: &str) -> String {
    let mut prose = String::new();
    let mut in_code = false;
    for event in events(markdown) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => {
                in_code = false;
                prose.push('\n');
            }
            Event::Text(text) if !in_code => prose.push_str(&text),
            Event::Code(_) => prose.push(CODE),
            Event::SoftBreak | Event::HardBreak => prose.push('\n'),
            Event::End(
                TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::Item | TagEnd::TableCell,
            ) => prose.push('\n'),
            _ => {}
        }
    }
    prose
}
