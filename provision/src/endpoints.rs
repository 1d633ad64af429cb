//! Where the running servers are, for other processes on the same data folder.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::state::write_private;

/// Addresses with credentials, `<data>/run/endpoints.json` while servers run.
/// `Debug` shows no password.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoints {
    /// `nats://user:password@host:port`
    pub nats_url: String,
    /// `postgres://user:password@host:port/database`
    pub postgres_url: String,
}

impl Endpoints {
    /// Reads what a running `up` wrote for this data folder.
    ///
    /// # Errors
    /// No servers have been started on the folder, or the file is not readable by this user.
    pub fn read(data: &Path) -> Result<Self> {
        let path = Self::path(data);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {
                return Err(Error::Data {
                    path: data.to_owned(),
                    cause: "has no running servers: start `whence up` with this folder, or set \
                            [nats] url and [postgres] url"
                        .to_owned(),
                });
            }
            Err(e) => return Err(Error::io("read", &path)(e)),
        };
        serde_json::from_str(&text).map_err(|e| Error::Data {
            path,
            cause: format!("is damaged ({e}): restart `whence up`"),
        })
    }

    pub(crate) fn write(&self, data: &Path) -> Result<()> {
        write_private(
            &Self::path(data),
            &serde_json::to_vec_pretty(self).unwrap_or_default(),
        )
    }

    pub(crate) fn remove(data: &Path) {
        let _ = fs::remove_file(Self::path(data));
    }

    fn path(data: &Path) -> PathBuf {
        data.join("run").join("endpoints.json")
    }
}

impl fmt::Debug for Endpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoints")
            .field("nats_url", &redacted(&self.nats_url))
            .field("postgres_url", &redacted(&self.postgres_url))
            .finish()
    }
}

/// A URL without the password in it.
pub(crate) fn redacted(url: &str) -> String {
    let Some((scheme, rest)) = url.split_once("://") else {
        return "…".to_owned();
    };
    match rest.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://…@{host}"),
        None => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_in_debug() {
        let endpoints = Endpoints {
            nats_url: "nats://u:hunter2@127.0.0.1:1".to_owned(),
            postgres_url: "postgres://u:hunter2@127.0.0.1:2/d".to_owned(),
        };
        let shown = format!("{endpoints:?}");
        assert!(
            !shown.contains("hunter2") && shown.contains("127.0.0.1:2/d"),
            "{shown}"
        );
    }
}
