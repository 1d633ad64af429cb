//! Which of two states of a ticket is newer: the whole reason why redelivery,
//! replays and parallel workers do no harm.

use whence_contract::{Recipe, Revision};

/// Raised when this crate writes other rows for equal input, so that a replay
/// of unchanged vectors rewrites them.
pub(crate) const INDEXER: i64 = 1;

/// The recipe's numbers in the order they are compared.
pub(crate) fn numbers(recipe: Recipe) -> [i64; 6] {
    let Recipe {
        normalize,
        chunk,
        embed,
    } = recipe;
    [normalize, chunk, embed]
        .map(|stage| [i64::from(stage.code), i64::from(stage.settings)])
        .as_flattened()
        .try_into()
        .unwrap_or_default()
}

/// The part that decides over text and chunks; the embedder changes neither.
pub(crate) fn content_numbers(recipe: Recipe) -> [i64; 4] {
    let [a, b, c, d, ..] = numbers(recipe);
    [a, b, c, d]
}

/// What the tables hold of a ticket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Never seen.
    Absent,
    /// Its deletion.
    Deleted { revision: Revision },
    /// Its rows, and the state that this model's vectors are of.
    Live {
        revision: Revision,
        /// [`content_numbers`].
        recipe: Vec<i64>,
        indexer: i64,
        /// Revision and [`numbers`].
        vectors: Option<(Revision, Vec<i64>)>,
    },
}

/// What a message may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    /// Replace everything but vectors.
    pub(crate) content: bool,
    /// Replace this model's vectors.
    pub(crate) vectors: bool,
}

/// A live message is applied if its revision is newer, or equal with a newer
/// recipe. A deletion beats everything up to its own revision.
pub(crate) fn due(revision: Revision, recipe: Recipe, standing: &Standing) -> Due {
    match standing {
        Standing::Absent => Due {
            content: true,
            vectors: true,
        },
        Standing::Deleted { revision: deleted } => {
            let newer = revision > *deleted;
            Due {
                content: newer,
                vectors: newer,
            }
        }
        Standing::Live {
            revision: stored,
            recipe: stored_recipe,
            indexer,
            vectors,
        } => {
            let message = (revision, content_numbers(recipe).to_vec());
            let rows = (*stored, stored_recipe.clone());
            let content = (&message, INDEXER) > (&rows, *indexer);
            // Vectors of an older text would never be joined.
            let current = message >= rows;
            let newer = vectors.as_ref().is_none_or(|(vectors, embedded)| {
                (revision, numbers(recipe).as_slice()) > (*vectors, embedded.as_slice())
            });
            Due {
                content,
                vectors: current && newer,
            }
        }
    }
}

/// Whether a deletion applies.
pub(crate) fn deletes(revision: Revision, standing: &Standing) -> bool {
    match standing {
        Standing::Absent => true,
        Standing::Deleted { revision: deleted } => revision > *deleted,
        Standing::Live {
            revision: stored, ..
        } => revision >= *stored,
    }
}
