//! Question and passage to one score: how well the passage answers the question.

mod cross_encoder;
mod pair;
mod pair_session;
pub(crate) mod spec;
#[cfg(test)]
mod test_graph;

pub use cross_encoder::{CrossEncoder, CrossEncoderOptions};
