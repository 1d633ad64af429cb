//! whence-index
