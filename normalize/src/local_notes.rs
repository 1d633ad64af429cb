//! Notes that somebody pushed beside a ticket:
//! `{"source": …, "ticket_id": …, "findings_md": …}`. Each `##` section is one
//! finding; text before the first is one too.

use crate::{
    clean::{clean_line, clean_text},
    error::Problem,
    fields::{Fields, Notes},
};
use pulldown_cmark::{Event, HeadingLevel, Parser, Tag};
use serde_json::{Map, Value};
use whence_contract::{Document, TicketKey, TicketKind, Unit, UnitKind};

/// # Errors
/// When the payload does not say beside which ticket.
pub(crate) fn read(payload: Map<String, Value>, key: &TicketKey) -> Result<Document, Problem> {
    let mut notes = Notes::default();
    let mut fields = Fields::new(payload);
    let id = fields
        .line("ticket_id", &mut notes)
        .ok_or_else(|| Problem::field("ticket_id", "expected the ticket that the notes are on"))?;
    let text = fields.text("findings_md", &mut notes).unwrap_or_default();
    let units = sections(&text)
        .map(str::trim)
        .filter(|section| !section.is_empty())
        .map(|section| Unit::new(UnitKind::Finding, clean_text(section)))
        .collect();
    let title = format!("Notes on {id}");
    let project = project(&id).to_owned();
    Ok(Document {
        units,
        ..Document::new(
            clean_line(&key.source),
            project,
            id,
            TicketKind::Local,
            title,
        )
    })
}

/// The text cut before every heading of the second level that stands in no list,
/// quote or code.
fn sections(markdown: &str) -> impl Iterator<Item = &str> {
    let mut starts = vec![0];
    let mut depth = 0_usize;
    for (event, range) in Parser::new(markdown).into_offset_iter() {
        match event {
            Event::Start(Tag::Heading {
                level: HeadingLevel::H2,
                ..
            }) if depth == 0 => {
                starts.push(range.start);
                depth += 1;
            }
            Event::Start(_) => depth += 1,
            Event::End(_) => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    starts.push(markdown.len());
    let mut cuts = starts.into_iter();
    let mut from = cuts.next().unwrap_or(0);
    cuts.map(move |to| {
        let section = markdown.get(from..to).unwrap_or_default();
        from = to;
        section
    })
}

/// The project in an id: of `owner/repo#7`, `group/project!7` and `PROJ-7` what
/// stands before the number; the id itself where it has no such form.
fn project(id: &str) -> &str {
    id.rsplit_once(['#', '!', '-'])
        .filter(|(before, number)| {
            !before.is_empty() && !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit())
        })
        .map_or(id, |(before, _)| before)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use whence_contract::Provenance;

    fn findings(text: &str) -> Vec<String> {
        let key = TicketKey {
            provenance: Provenance::Local,
            source: "linear".into(),
            scope: "local".into(),
            ticket: "MAZ-43".into(),
        };
        let payload = serde_json::json!({"source": "linear", "ticket_id": "MAZ-43",
            "findings_md": text});
        let Value::Object(payload) = payload else {
            unreachable!()
        };
        let document = read(payload, &key).unwrap();
        assert_eq!(document.project, "MAZ");
        document.units.into_iter().map(|unit| unit.body).collect()
    }

    #[test]
    fn sections_are_findings_and_code_is_no_heading() {
        let text = "# Findings\n\nFirst.\n\n## Cause\nThe clay.\n### Deeper\nash\n\n\
                    ```\n## not a heading\n```\n## Fix\nFire it twice.";
        assert_eq!(
            findings(text),
            [
                "# Findings\n\nFirst.",
                "## Cause\nThe clay.\n### Deeper\nash\n\n```\n## not a heading\n```",
                "## Fix\nFire it twice.",
            ]
        );
        assert!(findings(" \n").is_empty());
        assert_eq!(findings("only prose"), ["only prose"]);
    }

    #[test]
    fn projects_of_ids() {
        for (id, of) in [
            ("owner/repo#7", "owner/repo"),
            ("group/sub/project!12", "group/sub/project"),
            ("MAZ-43", "MAZ"),
            ("a-b", "a-b"),
            ("#7", "#7"),
        ] {
            assert_eq!(project(id), of);
        }
    }
}
