//! What a listing says of a ticket, and the figures that show its changes.

use serde_json::Value;
use sha2::{Digest, Sha256};
use whence_contract::{Dialect, Timestamp};

/// As many labels as a listing names of each ticket.
const LABELS: usize = 100;

/// The two kinds of tickets, each with ids of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Issue,
    Pull,
}

impl Kind {
    pub(super) fn dialect(self) -> Dialect {
        match self {
            Self::Issue => Dialect::GithubIssue,
            Self::Pull => Dialect::GithubPull,
        }
    }

    /// For messages.
    pub(super) fn plural(self) -> &'static str {
        match self {
            Self::Issue => "issues",
            Self::Pull => "pull requests",
        }
    }

    /// By GraphQL's name of the type.
    pub(super) fn of(node: &Value) -> Option<Self> {
        match node["__typename"].as_str()? {
            "Issue" => Some(Self::Issue),
            "PullRequest" => Some(Self::Pull),
            _ => None,
        }
    }

    /// The ticket's part of a key: GitHub's number of it in its database, which
    /// never changes. Node ids come in two forms, an older and a newer one.
    pub(super) fn key(self, node: &Value) -> Option<String> {
        let number = |name: &str| match &node[name] {
            Value::String(text) if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) => {
                Some(text.clone())
            }
            Value::Number(number) => Some(number.as_u64()?.to_string()),
            _ => None,
        };
        // The shorter one is null beyond 32 bits.
        let id = number("fullDatabaseId").or_else(|| number("databaseId"))?;
        Some(match self {
            Self::Issue => format!("issue-{id}"),
            Self::Pull => format!("pull-{id}"),
        })
    }
}

/// One ticket of a listing, without its prose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) kind: Kind,
    /// GraphQL's id, to ask for it.
    pub(super) node: String,
    /// See [`Kind::key`].
    pub(super) key: String,
    pub(super) number: u64,
    pub(super) updated_at: Timestamp,
    pub(super) mark: String,
    pub(super) comments: Option<u64>,
}

impl Entry {
    /// `None` where the listing lacks what a ticket cannot do without.
    pub(super) fn read(kind: Kind, node: &Value) -> Option<Self> {
        Some(Self {
            kind,
            node: node["id"].as_str()?.to_owned(),
            key: kind.key(node)?,
            number: node["number"].as_u64()?,
            updated_at: node["updatedAt"].as_str()?.parse().ok()?,
            mark: mark(node),
            // Of a pull request GitHub counts comments on the code apart.
            comments: node["comments"]["totalCount"]
                .as_u64()
                .filter(|_| kind == Kind::Issue),
        })
    }
}

/// What a listing and a whole ticket say alike: when it changed, how many
/// comments, reviews and review comments it has, and what its labels are called
/// (deleting a comment and renaming a label move no time).
pub(super) fn mark(node: &Value) -> String {
    let mut mark = node["updatedAt"].as_str().unwrap_or("-").to_owned();
    for (letter, count) in [
        ('c', &node["comments"]["totalCount"]),
        ('r', &node["reviews"]["totalCount"]),
        ('t', &node["totalCommentsCount"]),
    ] {
        if let Some(count) = count.as_u64() {
            mark += &format!(" {letter}{count}");
        }
    }
    let labels = node["labels"]["nodes"].as_array();
    let names = labels.into_iter().flatten().take(LABELS);
    let mut names: Vec<&str> = names.filter_map(|label| label["name"].as_str()).collect();
    names.sort_unstable();
    let mut digest = Sha256::new();
    for name in names {
        digest.update(name);
        digest.update([0]);
    }
    let digest = hex::encode(digest.finalize());
    mark + " l" + &digest[..12]
}
