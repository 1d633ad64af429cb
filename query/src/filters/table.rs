//! The table of filters.

/// How several values of one filter are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// One of them must hold.
    Any,
    /// All of them must hold.
    All,
    /// There is one value only.
    Once,
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    /// Any text, compared exactly.
    Text,
    /// Any text, compared without regard to case.
    Folded,
    /// One of these words.
    Word(&'static [&'static str]),
    /// RFC 3339, or a date, which is its midnight in UTC.
    Time,
}

/// What a filter speaks of, with `{}` for its value: a list of texts, or the
/// time of a [`Takes::Time`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum On {
    /// The ticket `t` alone.
    Ticket(&'static str),
    /// The chunk `c`, perhaps with its ticket `t`.
    Chunk(&'static str),
    /// Up to which visibility text is seen at all.
    Visibility,
}

/// One filter.
#[derive(Debug)]
pub struct Filter {
    /// As in JSON; commands write `_` as `-`.
    pub name: &'static str,
    /// One line.
    pub help: &'static str,
    /// A value as one would write it.
    pub example: &'static str,
    /// How several values are read.
    pub repeat: Repeat,
    pub(crate) takes: Takes,
    pub(crate) on: fn(&[String]) -> On,
}

impl Filter {
    /// The filter of that name; `-` and `_` are the same.
    pub fn find(name: &str) -> Option<&'static Self> {
        let name = name.replace('-', "_");
        // The name in the first design; kept.
        let name = if name == "ticket_id" { "ticket" } else { &name };
        FILTERS.iter().find(|filter| filter.name == name)
    }
}

const UNIT_KINDS: &[&str] = &[
    "description",
    "comment",
    "review",
    "review-comment",
    "finding",
];
const KINDS: &[&str] = &[
    "issue",
    "merge-request",
    "note",
    "local",
    "description",
    "comment",
    "review",
    "review-comment",
    "finding",
];

/// All of them, in the order of the reference.
pub const FILTERS: &[Filter] = &[
    Filter {
        name: "source",
        help: "kind of system",
        example: "github",
        repeat: Repeat::Any,
        takes: Takes::Folded,
        on: |_| On::Ticket("t.source = ANY({})"),
    },
    Filter {
        name: "project",
        help: "repository, project, team or wiki",
        example: "owner/repo",
        repeat: Repeat::Any,
        takes: Takes::Text,
        on: |_| On::Ticket("t.project = ANY({})"),
    },
    Filter {
        name: "kind",
        help: "kind of ticket, or kind of text within it",
        example: "issue",
        repeat: Repeat::Any,
        takes: Takes::Word(KINDS),
        on: |values| {
            if values
                .iter()
                .any(|value| UNIT_KINDS.contains(&value.as_str()))
            {
                On::Chunk("(t.kind = ANY({}) OR c.kind = ANY({}))")
            } else {
                On::Ticket("t.kind = ANY({})")
            }
        },
    },
    Filter {
        name: "provenance",
        help: "where it was taken from",
        example: "upstream",
        repeat: Repeat::Any,
        takes: Takes::Word(&["upstream", "wiki", "local"]),
        on: |_| On::Ticket("t.provenance = ANY({})"),
    },
    Filter {
        name: "ticket",
        help: "the ticket itself, by a present or a former id",
        example: "owner/repo#7",
        repeat: Repeat::Any,
        takes: Takes::Text,
        on: |_| On::Ticket("(t.id = ANY({}) OR t.aliases && {})"),
    },
    Filter {
        name: "author",
        help: "who wrote the text",
        example: "ada",
        repeat: Repeat::Any,
        takes: Takes::Folded,
        on: |_| On::Chunk("lower(c.author) = ANY({})"),
    },
    Filter {
        name: "assignee",
        help: "who the ticket is assigned to",
        example: "ada",
        repeat: Repeat::Any,
        takes: Takes::Text,
        on: |_| On::Ticket("t.assignees && {}"),
    },
    Filter {
        name: "label",
        help: "a label of the ticket; of several, all",
        example: "bug",
        repeat: Repeat::All,
        takes: Takes::Text,
        on: |_| {
            On::Ticket(
                "t.ticket_id IN (SELECT l.ticket_id FROM ticket_labels l WHERE l.name = ANY({}) \
                 GROUP BY l.ticket_id HAVING count(*) = cardinality({}))",
            )
        },
    },
    Filter {
        name: "label_any",
        help: "a label of the ticket; of several, any",
        example: "bug",
        repeat: Repeat::Any,
        takes: Takes::Text,
        on: |_| {
            On::Ticket(
                "t.ticket_id IN (SELECT l.ticket_id FROM ticket_labels l WHERE l.name = ANY({}))",
            )
        },
    },
    Filter {
        name: "state",
        help: "open, closed, merged, or the system's own word",
        example: "open",
        repeat: Repeat::Any,
        takes: Takes::Folded,
        on: |_| On::Ticket("t.state = ANY({})"),
    },
    Filter {
        name: "priority",
        help: "the system's own word",
        example: "high",
        repeat: Repeat::Any,
        takes: Takes::Folded,
        on: |_| On::Ticket("lower(t.priority) = ANY({})"),
    },
    Filter {
        name: "created_after",
        help: "created upstream then or later",
        example: "2024-01-31",
        repeat: Repeat::Once,
        takes: Takes::Time,
        on: |_| On::Ticket("t.created_at >= {}"),
    },
    Filter {
        name: "created_before",
        help: "created upstream before then",
        example: "2024-01-31",
        repeat: Repeat::Once,
        takes: Takes::Time,
        on: |_| On::Ticket("t.created_at < {}"),
    },
    Filter {
        name: "updated_after",
        help: "changed upstream then or later",
        example: "2024-01-31",
        repeat: Repeat::Once,
        takes: Takes::Time,
        on: |_| On::Ticket("t.updated_at >= {}"),
    },
    Filter {
        name: "updated_before",
        help: "changed upstream before then",
        example: "2024-01-31",
        repeat: Repeat::Once,
        takes: Takes::Time,
        on: |_| On::Ticket("t.updated_at < {}"),
    },
    Filter {
        name: "path",
        help: "a file that the merge request changes or the text names",
        example: "src/main.rs",
        repeat: Repeat::Any,
        takes: Takes::Text,
        on: |_| {
            On::Chunk(
                "(t.ticket_id IN (SELECT f.ticket_id FROM ticket_files f \
                 WHERE f.new_path = ANY({}) OR f.old_path = ANY({})) \
                 OR EXISTS (SELECT FROM jsonb_array_elements(c.code_refs) r \
                 WHERE r ->> 'file' = ANY({})))",
            )
        },
    },
    Filter {
        name: "visibility",
        help: "text up to that visibility; only public text when it is not given",
        example: "internal",
        repeat: Repeat::Once,
        takes: Takes::Word(&["public", "internal", "confidential"]),
        on: |_| On::Visibility,
    },
];
