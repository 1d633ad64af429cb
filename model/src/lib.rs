//! whence-model
