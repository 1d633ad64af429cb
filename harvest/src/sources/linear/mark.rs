//! What a census can see of a change: the time, its labels by name, and
//! every comment with its time, because neither an edited nor a deleted comment
//! moves the issue's.

use sha2::{Digest, Sha256};

/// Enough of a hash to tell two states of one issue apart.
const BYTES: usize = 12;

/// The order of labels and comments does not matter.
pub(super) fn mark<'a>(
    updated_at: &str,
    labels: impl Iterator<Item = &'a str>,
    comments: impl Iterator<Item = (&'a str, &'a str)>,
) -> String {
    let mut labels: Vec<&str> = labels.collect();
    labels.sort_unstable();
    let mut comments: Vec<(&str, &str)> = comments.collect();
    comments.sort_unstable();
    let mut hash = Sha256::new();
    for part in labels
        .into_iter()
        .chain(["\n"])
        .chain(comments.into_iter().flat_map(|(id, time)| [id, time]))
    {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    let hash = hash.finalize();
    format!(
        "{updated_at} {}",
        hex::encode(hash.get(..BYTES).unwrap_or(&hash))
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_change_of_what_is_seen_changes_it() {
        let of = |labels: &[&'static str], comments: &[(&'static str, &'static str)]| {
            mark("t", labels.iter().copied(), comments.iter().copied())
        };
        let base = of(&["a", "b"], &[("1", "x"), ("2", "x")]);
        assert_eq!(base, of(&["b", "a"], &[("2", "x"), ("1", "x")]));
        for other in [
            of(&["a"], &[("1", "x"), ("2", "x")]),
            of(&["ab"], &[("1", "x"), ("2", "x")]),
            of(&["a", "b"], &[("1", "x")]),
            of(&["a", "b"], &[("1", "y"), ("2", "x")]),
        ] {
            assert_ne!(base, other);
        }
    }
}
