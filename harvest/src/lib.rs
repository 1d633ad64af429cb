//! whence-harvest
