//! Where archives lie: a file, a folder of files, or an address.

use crate::SourceError;
use reqwest::Url;
use std::{
    fs,
    net::IpAddr,
    path::{Path, PathBuf},
};

/// As configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    Local(PathBuf),
    Remote(Url),
}

impl Place {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        if !text.contains("://") {
            return Ok(Self::Local(PathBuf::from(text)));
        }
        let url = Url::parse(text).map_err(|error| format!("its address is none: {error}"))?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err("its address carries a user or a password, which would be stored".into());
        }
        match url.scheme() {
            "https" => Ok(Self::Remote(url)),
            "http" if is_loopback(&url) => Ok(Self::Remote(url)),
            "http" => Err("http is for this machine only; use https".to_owned()),
            other => Err(format!("{other} addresses are not read; use https")),
        }
    }
}

/// Whether a request to `url` stays on this machine.
pub(super) fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse().is_ok_and(|ip: IpAddr| ip.is_loopback())
}

/// The files to read.
#[derive(Debug)]
pub(super) struct Files {
    /// Where all of it lies, as one absolute name.
    pub(super) root: String,
    pub(super) files: Vec<ArchiveFile>,
    /// A file that is no archive is one bad item in a folder, and an error
    /// where it is all that was named.
    pub(super) is_folder: bool,
    /// Kept until all was read.
    pub(super) _download: Option<tempfile::NamedTempFile>,
}

/// One file.
#[derive(Debug)]
pub(super) struct ArchiveFile {
    /// For messages and the cursor: as a person would name it.
    pub(super) shown: String,
    pub(super) path: PathBuf,
}

/// The archive files at `path`: itself, or those in the folder and in the
/// folders directly below it, by name.
pub(super) fn files(path: &Path) -> Result<Files, SourceError> {
    let unreadable = |path: &Path, error| {
        SourceError::because(
            format!(
                "cannot read {}; does it exist, and may this user read it?",
                path.display()
            ),
            error,
        )
    };
    let root = fs::canonicalize(path).map_err(|e| unreadable(path, e))?;
    let is_folder = root.is_dir();
    let mut paths = Vec::new();
    if is_folder {
        let mut folders = vec![path.to_owned()];
        let top = folders.len();
        let mut at = 0;
        while let Some(folder) = folders.get(at).cloned() {
            for entry in fs::read_dir(&folder).map_err(|e| unreadable(&folder, e))? {
                let entry = entry.map_err(|e| unreadable(&folder, e))?;
                let name = entry.file_name().to_string_lossy().into_owned();
                let kind = entry.file_type().map_err(|e| unreadable(&folder, e))?;
                if kind.is_dir() && at < top && !name.starts_with('.') {
                    folders.push(entry.path());
                // Following links; a pipe would be waited for, for ever.
                } else if is_archive_name(&name) && entry.path().is_file() {
                    paths.push(entry.path());
                }
            }
            at += 1;
        }
        paths.sort();
    } else if !root.is_file() {
        return Err(SourceError::bare(format!(
            "{} is neither a file nor a folder",
            path.display()
        )));
    } else {
        fs::File::open(path).map_err(|e| unreadable(path, e))?;
        paths.push(path.to_owned());
    }
    if paths.is_empty() {
        return Err(SourceError::bare(format!(
            "no *.json and no *.json.gz lies in {} or in a folder directly below it",
            path.display()
        )));
    }
    Ok(Files {
        root: root.display().to_string(),
        files: paths
            .into_iter()
            .map(|path| ArchiveFile {
                shown: path.display().to_string(),
                path,
            })
            .collect(),
        is_folder,
        _download: None,
    })
}

fn is_archive_name(name: &str) -> bool {
    !name.starts_with('.') && (name.ends_with(".json") || name.ends_with(".json.gz"))
}
