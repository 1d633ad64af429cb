//! Question and passage to one score.

pub(crate) mod spec;
