//! A leg's part in a search: it may fail while others answer.

use super::millis;
use crate::{Degraded, SearchError};
use std::{future::Future, time::Instant};

/// Runs a leg; gives its list and the milliseconds it took. `None`: not used.
pub(super) async fn timed<T>(
    leg: Option<impl Future<Output = Result<T, SearchError>>>,
) -> (Option<Result<T, SearchError>>, f64) {
    let at = Instant::now();
    match leg {
        Some(leg) => (Some(leg.await), millis(at)),
        None => (None, 0.0),
    }
}

/// The lists of the legs that answered. One that failed is left out and named,
/// as long as another one answered.
///
/// # Errors
/// The first failure, when no leg answered.
pub(super) fn settle<T, const N: usize>(
    legs: [(&'static str, Option<Result<T, SearchError>>); N],
    degraded: &mut Vec<Degraded>,
) -> Result<[Option<T>; N], SearchError> {
    let answered = legs.iter().any(|(_, leg)| matches!(leg, Some(Ok(_))));
    let mut first = None;
    let lists = legs.map(|(code, leg)| match leg? {
        Ok(list) => Some(list),
        Err(error) => {
            if answered {
                tracing::warn!(code, cause = ?error.source, "a leg failed: {error}");
                degraded.push(Degraded {
                    code,
                    reason: error.message.clone(),
                });
            }
            first.get_or_insert(error);
            None
        }
    });
    match first {
        Some(error) if !answered => Err(error),
        _ => Ok(lists),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_leg_that_fails_is_named_while_another_answers() {
        let mut degraded = Vec::new();
        let legs = [
            ("dense_failed", Some(Ok(1))),
            ("lexical_failed", Some(Err(SearchError::timeout()))),
            ("lexical_chunk_failed", None),
        ];
        let lists = settle(legs, &mut degraded).unwrap();
        assert_eq!(lists, [Some(1), None, None]);
        assert_eq!(degraded[0].code, "lexical_failed");

        let legs = [("dense_failed", Some(Err::<i32, _>(SearchError::timeout())))];
        assert_eq!(settle(legs, &mut degraded).unwrap_err().code, "timeout");
        assert_eq!(degraded.len(), 1);
    }
}
