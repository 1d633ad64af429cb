//! whence-provision
