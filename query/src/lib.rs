//! whence-query
