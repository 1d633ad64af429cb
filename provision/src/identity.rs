//! As whom a child runs, and how it dies with its parent.
//!
//! Postgres refuses root. A root parent therefore runs it as another user: the owner
//! of its data if there is some, else the configured one, else the first that exists
//! of `whence`, `postgres` and `nobody`. util-linux' `setpriv` does the switch; it also
//! has the kernel signal the child when the parent dies, however it dies. Where the
//! user cannot reach the data or the binaries because a parent folder is closed to it
//! (`/root`, `mktemp -d`), the child keeps the one capability that lets it pass
//! (CAP_DAC_READ_SEARCH), and only there.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use crate::error::{Error, Result};

/// The user a child of root switches to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

/// How a child is started.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunAs {
    /// `None`: the parent's own user.
    pub(crate) user: Option<User>,
    /// Whether closed parent folders are in the way.
    pub(crate) traverse: bool,
}

impl RunAs {
    /// For Postgres with its data in `data` (existing or not) and its binaries in `bin_dir`.
    pub(crate) fn for_postgres(
        configured: Option<&str>,
        data: &Path,
        bin_dir: &Path,
    ) -> Result<Self> {
        let me = rustix::process::geteuid().as_raw();
        let owner = fs::metadata(data).ok().map(|m| (m.uid(), m.gid()));
        if me != 0 {
            return match owner {
                Some((uid, _)) if uid != me => Err(Error::Data {
                    path: data.to_owned(),
                    cause: format!(
                        "belongs to the user with id {uid}, and this is the user with id {me}: \
                         run as that user or as root, or choose another folder with --data"
                    ),
                }),
                _ => Ok(Self::default()),
            };
        }
        let user = match owner {
            Some((uid, gid)) if uid != 0 => User {
                name: format!("uid {uid}"),
                uid,
                gid,
            },
            _ => find_user(configured)?,
        };
        let closed = [data, bin_dir]
            .into_iter()
            .find_map(|path| closed_parent(path, &user));
        if let (Some(folder), None) = (&closed, setpriv()) {
            return Err(Error::RunAs {
                cause: format!(
                    "the user it would run as, {}, cannot pass the folder {}: install util-linux \
                     (for setpriv), open the folder (chmod o+x), or choose another one with --data",
                    user.name,
                    folder.display()
                ),
            });
        }
        Ok(Self {
            user: Some(user),
            traverse: closed.is_some(),
        })
    }

    /// A command that runs `program`, gets `death_signal` ("INT", "TERM") when the
    /// starting *thread* ends, and is in a process group of its own, so that a
    /// Ctrl-C on the terminal reaches only the parent.
    pub(crate) fn command(&self, program: &Path, death_signal: &str) -> Command {
        let mut command = match setpriv() {
            Some(setpriv) => {
                let mut command = Command::new(setpriv);
                command.args(["--pdeathsig", death_signal]);
                if let Some(user) = &self.user {
                    command.arg(format!("--reuid={}", user.uid));
                    command.arg(format!("--regid={}", user.gid));
                    command.arg("--clear-groups");
                }
                if self.traverse {
                    command.arg("--inh-caps=-all,+dac_read_search");
                    command.arg("--ambient-caps=-all,+dac_read_search");
                    // access(2), which initdb asks about its binaries, counts
                    // capabilities of a user that is not root only with this.
                    command.arg("--securebits=+no_setuid_fixup");
                }
                command.arg("--").arg(program);
                command
            }
            None => {
                let mut command = Command::new(program);
                if let Some(user) = &self.user {
                    // Also drops root's supplementary groups.
                    command.uid(user.uid).gid(user.gid);
                }
                command
            }
        };
        command.process_group(0).stdin(Stdio::null());
        command
    }

    /// Makes a file or folder the child's own.
    pub(crate) fn give(&self, path: &Path) -> Result<()> {
        let Some(user) = &self.user else {
            return Ok(());
        };
        std::os::unix::fs::chown(path, Some(user.uid), Some(user.gid))
            .map_err(Error::io("give to another user", path))
    }
}

/// util-linux' setpriv, if it is there and knows the options needed.
pub(crate) fn setpriv() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOUND
        .get_or_init(|| {
            let program = PathBuf::from("setpriv");
            let works = Command::new(&program)
                .args(["--pdeathsig", "TERM", "--", "true"])
                .stdin(Stdio::null())
                .output()
                .is_ok_and(|out| out.status.success());
            works.then_some(program)
        })
        .as_deref()
}

/// The user for a new database.
pub(crate) fn find_user(configured: Option<&str>) -> Result<User> {
    let path = Path::new("/etc/passwd");
    let table = fs::read_to_string(path).map_err(Error::io("read", path))?;
    let wanted: Vec<&str> = match configured {
        Some(name) => vec![name],
        None => vec!["whence", "postgres", "nobody"],
    };
    wanted
        .iter()
        .find_map(|name| user_in(&table, name))
        .ok_or_else(|| Error::RunAs {
            cause: format!(
                "there is no user {} to run it as: create one (useradd --system whence)",
                wanted.join(" or ")
            ),
        })
}

fn user_in(passwd: &str, name: &str) -> Option<User> {
    passwd.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        match fields.as_slice() {
            [n, _, uid, gid, ..] if *n == name => Some(User {
                name: name.to_owned(),
                uid: uid.parse().ok().filter(|uid| *uid != 0)?,
                gid: gid.parse().ok()?,
            }),
            _ => None,
        }
    })
}

/// The first folder above `path` that the user may not pass, by mode bits.
fn closed_parent(path: &Path, user: &User) -> Option<PathBuf> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut parents: Vec<&Path> = path.ancestors().skip(1).collect();
    parents.reverse();
    parents
        .into_iter()
        .find(|parent| {
            fs::metadata(parent).is_ok_and(|m| {
                let bit = if m.uid() == user.uid {
                    0o100
                } else if m.gid() == user.gid {
                    0o010
                } else {
                    0o001
                };
                m.mode() & bit == 0
            })
        })
        .map(Path::to_owned)
}

/// A minimal environment: nothing of the caller's `PG…` or locale reaches a child.
pub(crate) fn clean_environment(command: &mut Command, library_path: Option<&Path>) {
    command.env_clear();
    let path = std::env::var_os("PATH").unwrap_or_else(|| OsString::from("/usr/bin:/bin"));
    command
        .env("PATH", path)
        .env("LC_ALL", "C")
        .env("TZ", "UTC");
    if let Some(libraries) = library_path {
        command.env("LD_LIBRARY_PATH", libraries);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_name_and_never_root() {
        let passwd =
            "root:x:0:0::/root:/bin/sh\ntoor:x:0:0::/:/bin/sh\nnobody:x:65534:65533:n:/:/x\n";
        assert_eq!(user_in(passwd, "toor"), None);
        let nobody = user_in(passwd, "nobody").unwrap();
        assert_eq!((nobody.uid, nobody.gid), (65534, 65533));
    }

    #[test]
    fn a_closed_parent_is_found() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("a");
        fs::create_dir(&inner).unwrap();
        let user = User {
            name: "x".to_owned(),
            uid: 4_000_000,
            gid: 4_000_000,
        };
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(
            closed_parent(&inner, &user),
            Some(folder.path().canonicalize().unwrap())
        );
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o711)).unwrap();
        assert_eq!(closed_parent(&inner, &user), None);
    }
}
