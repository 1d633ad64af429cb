//! whence-normalize
