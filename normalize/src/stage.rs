//! The reader as a stage of the log.

use crate::normalize;
use async_trait::async_trait;
use whence_contract::{Document, RawTicket, Recipe, StageVersion};
use whence_log::{Input, Previous, Stage, StageError};

/// Raised by hand when a reader's output changes for equal input, so that a
/// replay of RAW replaces what the older reader made.
pub const VERSION: u32 = 1;

/// RAW to DOCS. It has no settings and no state.
#[derive(Clone, Copy, Debug, Default)]
pub struct NormalizeStage;

#[async_trait]
impl Stage for NormalizeStage {
    type In = RawTicket;
    type Out = Document;

    fn name(&self) -> &'static str {
        "normalize"
    }

    fn recipe(&self, input: Recipe) -> Recipe {
        Recipe {
            normalize: StageVersion {
                code: VERSION,
                settings: 0,
            },
            ..input
        }
    }

    /// A payload that cannot be read is malformed: a dead letter at once.
    async fn handle(
        &self,
        input: Input<RawTicket>,
        _previous: &Previous<Document>,
    ) -> Result<Document, StageError> {
        normalize(&input.body, &input.key).map_err(StageError::malformed)
    }
}
