//! What can go wrong while obtaining and running servers. Every message is one
//! sentence or two: what failed, for which file, and what the operator can do.

use std::io;
use std::path::{Path, PathBuf};

/// The crate's result.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A failure to obtain, start or stop something.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file operation failed; the message names path and remedy.
    #[error("cannot {what} {path}: {reason}{hint}", path = path.display(), reason = reason(source), hint = hint(source))]
    Io {
        /// The operation as a verb phrase ("write", "create the folder").
        what: &'static str,
        /// The file or folder concerned.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
    /// Neither an environment variable nor a home folder says where the cache may lie.
    #[error("there is no place for downloaded files: set WHENCE_CACHE to a folder")]
    NoCacheFolder,
    /// No package is pinned for this kind of machine.
    #[error(
        "no pinned package of {name} for this machine ({os}, {arch}): \
         {instead}"
    )]
    NotPinned {
        /// The package.
        name: &'static str,
        /// Operating system.
        os: &'static str,
        /// Processor architecture.
        arch: &'static str,
        /// What to do where it cannot be fetched.
        instead: &'static str,
    },
    /// No Python, or one without pip.
    #[error(
        "{name} must be downloaded and needs Python 3 with pip, but {cause}: install them \
         (on Debian: apt-get install python3-pip), or {instead}"
    )]
    NoPip {
        /// The package that was wanted.
        name: &'static str,
        /// What was tried and how it failed.
        cause: String,
        /// What to do where it cannot be fetched.
        instead: &'static str,
    },
    /// pip ran and did not deliver.
    #[error(
        "pip could not fetch {name} {version}: {cause}; check the network and pip's own settings \
         (pip config list), or {instead}"
    )]
    Fetch {
        /// The package.
        name: &'static str,
        /// Its pinned version.
        version: &'static str,
        /// The last words of pip.
        cause: String,
        /// What to do where it cannot be fetched.
        instead: &'static str,
    },
    /// A file in the cache, or one just downloaded, is not what was pinned.
    #[error(
        "{path} is not the expected file: its sha256 should be {expected} but is {found}; \
         if you did not change it, it is damaged or was tampered with: delete {delete} and run again",
        path = path.display(), delete = delete.display()
    )]
    Tampered {
        /// The file.
        path: PathBuf,
        /// The pinned or recorded hash, in hex.
        expected: String,
        /// The hash found, in hex, or "missing".
        found: String,
        /// What to delete so that it is made again.
        delete: PathBuf,
    },
    /// A package does not hold what it should.
    #[error("{path} does not hold {inner}: the pinned package is not the one this program knows", path = path.display())]
    NotInPackage {
        /// The package file.
        path: PathBuf,
        /// What was looked for.
        inner: String,
    },
    /// A configured binary does not exist or does not run.
    #[error("{path} cannot be used as {what}: {cause}", path = path.display())]
    Binary {
        /// Its role ("nats-server", "postgres").
        what: &'static str,
        /// Where it was expected.
        path: PathBuf,
        /// Why it does not work.
        cause: String,
    },
    /// Another process runs on this data folder.
    #[error(
        "the data folder {path} is in use by {holder}: stop that one first, or choose another folder with --data",
        path = path.display()
    )]
    DataInUse {
        /// The data folder.
        path: PathBuf,
        /// Who holds it, as far as it can be told.
        holder: String,
    },
    /// Too little room for two databases.
    #[error(
        "only {free_mb} MB are free where {path} lies, and at least {needed_mb} MB are needed: \
         free some space, or choose another folder with --data",
        path = path.display()
    )]
    DiskShort {
        /// The data folder.
        path: PathBuf,
        /// Free space.
        free_mb: u64,
        /// The least with which servers are started.
        needed_mb: u64,
    },
    /// A port that was asked for is taken.
    #[error(
        "port {port} for {name} is in use by another program: stop it, or configure another port"
    )]
    PortTaken {
        /// Which server wanted it.
        name: &'static str,
        /// The port on 127.0.0.1.
        port: u16,
    },
    /// Postgres refuses root and no other user can be used for it.
    #[error("postgres does not run as root, and {cause}")]
    RunAs {
        /// What is missing and the remedy.
        cause: String,
    },
    /// The data folder is not as this program left it.
    #[error("{path} {cause}", path = path.display())]
    Data {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it and what to do.
        cause: String,
    },
    /// A child could not be started, or not be kept running.
    #[error("{name} {cause}{log}", log = tail_text(log_tail))]
    Child {
        /// The child ("nats-server", "postgres", "initdb").
        name: &'static str,
        /// What happened, and what to do where that is known.
        cause: String,
        /// Its last words, oldest first.
        log_tail: Vec<String>,
    },
    /// A statement of the set-up was refused by the server.
    #[error("postgres refused the set-up of its database")]
    Postgres(#[from] tokio_postgres::Error),
}

impl Error {
    pub(crate) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { what, path, source }
    }
}

fn tail_text(lines: &[String]) -> String {
    if lines.is_empty() {
        String::new()
    } else {
        format!("; its last words:\n  {}", lines.join("\n  "))
    }
}

/// The system's message without "(os error N)".
fn reason(source: &io::Error) -> String {
    let text = source.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}

fn hint(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::PermissionDenied => {
            "; give this user the right to write there, or choose another folder"
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            "; choose a folder on a file system that can be written"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "; free some space, or choose another folder"
        }
        _ => "",
    }
}
