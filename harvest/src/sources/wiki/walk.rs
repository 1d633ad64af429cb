//! Markdown files below a folder, in the order of their paths.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Folders that hold what others wrote or made.
const PASSED_OVER: &[&str] = &["target", "node_modules"];

/// What a walk meets; paths are relative to the root.
#[derive(Debug)]
pub(super) enum Found {
    Note(PathBuf),
    /// Not followed: what lies below the root is met by its own path, and what
    /// lies outside does not belong to the wiki. So there is no cycle either.
    Link,
    /// A folder of which it is unknown what it holds.
    Unreadable(PathBuf, io::Error),
}

/// Walks depth-first; hidden files and folders are passed over.
pub(super) struct Walk {
    root: PathBuf,
    /// Still to visit, the next one last.
    open: Vec<(PathBuf, Kind)>,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Folder,
    File,
    Link,
}

impl Walk {
    pub(super) fn new(root: &Path) -> Self {
        Self {
            root: root.to_owned(),
            open: vec![(PathBuf::new(), Kind::Folder)],
        }
    }

    fn enter(&mut self, folder: &Path) -> io::Result<()> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(self.root.join(folder))? {
            let entry = entry?;
            let name = entry.file_name();
            let shown = name.to_string_lossy();
            if shown.starts_with('.') {
                continue;
            }
            let kind = entry.file_type()?;
            let kind = if kind.is_symlink() {
                Kind::Link
            } else if kind.is_dir() {
                Kind::Folder
            } else if kind.is_file() {
                Kind::File
            } else {
                // A pipe named like a note would be waited for, for ever.
                continue;
            };
            let wanted = match kind {
                Kind::Folder => !PASSED_OVER.contains(&&*shown),
                Kind::File => is_note(&shown),
                Kind::Link => is_note(&shown) || self.root.join(folder).join(&name).is_dir(),
            };
            if wanted {
                entries.push((folder.join(&name), kind));
            }
        }
        entries.sort_by(|a, b| b.0.cmp(&a.0));
        self.open.extend(entries);
        Ok(())
    }
}

impl Iterator for Walk {
    type Item = Found;

    fn next(&mut self) -> Option<Found> {
        loop {
            let (path, kind) = self.open.pop()?;
            match kind {
                Kind::File => return Some(Found::Note(path)),
                Kind::Link => return Some(Found::Link),
                Kind::Folder => {
                    if let Err(error) = self.enter(&path) {
                        return Some(Found::Unreadable(path, error));
                    }
                }
            }
        }
    }
}

fn is_note(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.ends_with(".md") || name.ends_with(".markdown")
}
