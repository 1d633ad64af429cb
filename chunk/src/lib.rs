//! whence-chunk
