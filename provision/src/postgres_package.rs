//! Unpacks PostgreSQL and pgvector from the launcher binary that carries them.
//!
//! The launcher holds gzipped tar archives in its own bytes: PostgreSQL, pgvector,
//! and the ICU and XML libraries both need. They are read from there directly. The
//! launcher itself is never run: it would write below the home folder, refuses
//! root, and starts a server with fsync off.

use std::fs;
use std::io::Read;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Component, Path, PathBuf};

use flate2::read::GzDecoder;
use tar::{Archive, EntryType};

use crate::error::{Error, Result};

/// Where an unpacked or installed PostgreSQL lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PostgresInstall {
    /// The folder with `postgres` and `initdb`.
    pub bin_dir: PathBuf,
    /// Libraries that must be on `LD_LIBRARY_PATH`; `None` for an installed one.
    pub lib_dir: Option<PathBuf>,
}

/// A gzip member with no flags, as all of them are written.
const GZIP: [u8; 4] = [0x1f, 0x8b, 0x08, 0x00];

/// Unpacks all archives of `launcher` into the new folder `to`.
pub(crate) fn unpack(launcher: &Path, to: &Path) -> Result<()> {
    let bytes = fs::read(launcher).map_err(Error::io("read", launcher))?;
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(GZIP.len()).position(|w| w == GZIP) {
        at += found;
        // The magic also occurs by chance: only what starts as a tar counts.
        if is_tar(&bytes[at..]) {
            unpack_tar(&bytes[at..], to)?;
        }
        at += GZIP.len();
    }
    link_sonames(&to.join("lib"))?;
    let needed = [
        "bin/postgres",
        "bin/initdb",
        "lib/vector.so",
        "share/extension/vector.control",
    ];
    for inner in needed {
        if !to.join(inner).is_file() {
            return Err(Error::NotInPackage {
                path: launcher.to_owned(),
                inner: inner.to_owned(),
            });
        }
    }
    Ok(())
}

fn is_tar(bytes: &[u8]) -> bool {
    let mut header = [0; 512];
    GzDecoder::new(bytes).read_exact(&mut header).is_ok() && tar_checksum_holds(&header)
}

/// A tar header sums its own bytes, the sum's field counted as spaces. (The
/// libraries' archive is of the oldest kind and has no magic.)
fn tar_checksum_holds(header: &[u8; 512]) -> bool {
    let sum: u32 = header
        .iter()
        .enumerate()
        .map(|(i, b)| {
            if (148..156).contains(&i) {
                32
            } else {
                u32::from(*b)
            }
        })
        .sum();
    let field = String::from_utf8_lossy(&header[148..156]);
    let field = field.trim_matches(|c: char| c == '\0' || c == ' ');
    u32::from_str_radix(field, 8).is_ok_and(|stated| stated == sum)
}

fn unpack_tar(bytes: &[u8], to: &Path) -> Result<()> {
    let mut archive = Archive::new(GzDecoder::new(bytes));
    for entry in archive.entries().map_err(Error::io("unpack below", to))? {
        let mut entry = entry.map_err(Error::io("unpack below", to))?;
        let path = entry
            .path()
            .map_err(Error::io("unpack below", to))?
            .into_owned();
        let Some(target) = target(&path) else {
            continue;
        };
        let target = to.join(target);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(Error::io("create the folder", parent))?;
        }
        match entry.header().entry_type() {
            EntryType::Regular => {
                entry.unpack(&target).map_err(Error::io("write", &target))?;
            }
            EntryType::Symlink => {
                let link = entry.link_name().map_err(Error::io("write", &target))?;
                // All links of the package name a file beside them.
                if let Some(link) = link.filter(|l| l.components().count() == 1) {
                    let _ = fs::remove_file(&target);
                    symlink(&*link, &target).map_err(Error::io("write", &target))?;
                }
            }
            _ => {}
        }
    }
    open_to_all(to)
}

/// Where an archive's entry goes: its leading folder is dropped, bare libraries go
/// to `lib`. Headers, bitcode and static libraries serve no server and are left out.
fn target(path: &Path) -> Option<PathBuf> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(part) => parts.push(part.to_str()?),
            Component::CurDir => {}
            _ => return None,
        }
    }
    let target: PathBuf = match parts.as_slice() {
        [] => return None,
        [library] if library.contains(".so") => Path::new("lib").join(library),
        [_] => return None,
        [_, "include", ..] | [_, "lib", "pgxs" | "bitcode" | "pkgconfig", ..] => return None,
        [_, rest @ ..] => rest.iter().collect(),
    };
    if target.extension().is_some_and(|e| e == "a" || e == "bc") {
        None
    } else {
        Some(target)
    }
}

/// `libx.so.70.1` is found by programs as `libx.so.70`.
fn link_sonames(lib: &Path) -> Result<()> {
    for entry in fs::read_dir(lib).map_err(Error::io("list", lib))?.flatten() {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let Some((stem, version)) = name.split_once(".so.") else {
            continue;
        };
        let Some((major, _)) = version.split_once('.') else {
            continue;
        };
        let link = lib.join(format!("{stem}.so.{major}"));
        if link.symlink_metadata().is_err() {
            symlink(name, &link).map_err(Error::io("write", &link))?;
        }
    }
    Ok(())
}

/// The server may run as another user than the one who unpacked it.
fn open_to_all(folder: &Path) -> Result<()> {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755))
        .map_err(Error::io("open to other users", folder))?;
    for entry in fs::read_dir(folder)
        .map_err(Error::io("list", folder))?
        .flatten()
    {
        let path = entry.path();
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_dir() {
            open_to_all(&path)?;
        } else if kind.is_file() {
            let mode = entry.metadata().map_or(0o644, |m| m.permissions().mode());
            let mode = if mode & 0o100 != 0 { 0o755 } else { 0o644 };
            fs::set_permissions(&path, fs::Permissions::from_mode(mode))
                .map_err(Error::io("open to other users", &path))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_go_where_the_server_looks() {
        let to = |p: &str| target(Path::new(p)).map(|t| t.display().to_string());
        assert_eq!(
            to("postgresql-18/bin/postgres").as_deref(),
            Some("bin/postgres")
        );
        assert_eq!(
            to("pgvector-x/lib/vector.so").as_deref(),
            Some("lib/vector.so")
        );
        assert_eq!(
            to("libicuuc.so.70.1").as_deref(),
            Some("lib/libicuuc.so.70.1")
        );
        assert_eq!(to("postgresql-18/include/x.h"), None);
        assert_eq!(to("postgresql-18/lib/libpq.a"), None);
        assert_eq!(to("../etc/passwd"), None);
        assert_eq!(to("/etc/passwd"), None);
    }
}
