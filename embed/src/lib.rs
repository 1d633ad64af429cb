//! whence-embed
