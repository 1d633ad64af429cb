//! `.project-conf.toml`: what a repository says of the service and of its own
//! corpus. Other tools own most of the file, so unknown keys are theirs.

use crate::print::clean;
use anyhow::{Context, Result, bail};
use std::{
    io::IsTerminal,
    path::{Path, PathBuf},
};
use toml::{Table, Value};

const FILE: &str = ".project-conf.toml";

/// What the file of the repository around the current folder says.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Project {
    file: PathBuf,
    /// `[rag] endpoint`
    pub(crate) endpoint: Option<String>,
    /// Filters that hold where none is given: `[rag] corpus_scope`, else `system`.
    scope: Vec<(String, String)>,
    /// `key`: the project that a bare number is of.
    pub(crate) key: Option<String>,
}

impl Project {
    /// `None` outside of a repository, and in one without the file.
    pub(crate) fn here() -> Result<Option<Self>> {
        let here = std::env::current_dir().context("the current folder has no path")?;
        find(&here).map(|file| Self::read(&file)).transpose()
    }

    /// A file that names a service, and nothing else.
    #[cfg(test)]
    pub(crate) fn naming(endpoint: &str) -> Self {
        Self {
            endpoint: Some(endpoint.to_owned()),
            ..Self::default()
        }
    }

    fn read(file: &Path) -> Result<Self> {
        let shown = file.display();
        let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {shown}"))?;
        let table: Table = text
            .parse()
            .with_context(|| format!("{shown} is not TOML"))?;
        let empty = Table::new();
        let rag = match table.get("rag") {
            None => &empty,
            Some(Value::Table(rag)) => rag,
            Some(_) => bail!("{shown} at key `rag`: expected a table"),
        };
        let line = |of: &Table, key: &str, full: &str| match of.get(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(_) => bail!("{shown} at key `{full}`: expected a text"),
        };
        let corpora = match rag.get("corpus_scope") {
            None => line(&table, "system", "system")?.into_iter().collect(),
            Some(Value::String(one)) => vec![one.clone()],
            Some(Value::Array(many)) => many
                .iter()
                .map(|one| match one {
                    Value::String(text) => Ok(text.clone()),
                    _ => bail!("{shown} at key `rag.corpus_scope`: expected texts"),
                })
                .collect::<Result<Vec<String>>>()?,
            Some(_) => {
                bail!("{shown} at key `rag.corpus_scope`: expected a text or a list of texts")
            }
        };
        Ok(Self {
            endpoint: line(rag, "endpoint", "rag.endpoint")?,
            scope: scope(&corpora).with_context(|| format!("{shown} at key `rag.corpus_scope`"))?,
            key: line(&table, "key", "key")?,
            file: file.to_owned(),
        })
    }

    /// The filters to add to those that were given: none where these say
    /// themselves where to look.
    pub(crate) fn scope_beside<'a>(
        &self,
        mut given: impl Iterator<Item = &'a str>,
    ) -> &[(String, String)] {
        if given.any(|name| matches!(name, "source" | "project" | "ticket")) {
            return &[];
        }
        if !self.scope.is_empty() && std::io::stderr().is_terminal() {
            use std::io::Write;
            let said: Vec<String> = self.scope.iter().map(|(k, v)| format!("{k}={v}")).collect();
            let _stderr_gone = writeln!(
                std::io::stderr(),
                "only {}, as {} says; --all-sources lifts it",
                clean(&said.join(" ")),
                self.file.display()
            );
        }
        &self.scope
    }
}

/// The nearest file on the way up to the root of the repository.
fn find(here: &Path) -> Option<PathBuf> {
    let root = here
        .ancestors()
        .find(|folder| folder.join(".git").exists())?;
    let within = here
        .ancestors()
        .take_while(|folder| folder.starts_with(root));
    within
        .map(|folder| folder.join(FILE))
        .find(|file| file.is_file())
}

/// `github`, `owner/repo` or `github:owner/repo`, all of one form.
fn scope(corpora: &[String]) -> Result<Vec<(String, String)>> {
    let mut scope: Vec<(String, String)> = Vec::new();
    let mut forms = Vec::new();
    for corpus in corpora {
        let (source, project) = match corpus.split_once(':') {
            Some((source, project)) => (Some(source), Some(project)),
            None if corpus.contains('/') => (None, Some(corpus.as_str())),
            None => (Some(corpus.as_str()), None),
        };
        forms.push((source.is_some(), project.is_some()));
        for (name, value) in [("source", source), ("project", project)] {
            let Some(value) = value else { continue };
            if value.trim().is_empty() {
                bail!("{corpus:?} names nothing; write github, owner/repo or github:owner/repo");
            }
            let filter = (name.to_owned(), value.to_owned());
            if !scope.contains(&filter) {
                scope.push(filter);
            }
        }
    }
    forms.dedup();
    if forms.len() > 1 {
        // Sources and projects narrow each other.
        bail!("give all of them as sources, or all as projects, or all as source:project");
    }
    Ok(scope)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn read(text: &str) -> Result<Project> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(FILE);
        std::fs::write(&file, text).unwrap();
        Project::read(&file)
    }

    fn filters(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        pairs.iter().map(owned).collect()
    }

    #[test]
    fn the_seeds_file_is_read_and_what_others_own_is_left_alone() {
        let project = read(
            "system = \"github\"\nkey = \"iansmith/slopstop\"\n[status_labels]\nin_progress = 1\n\
             [rag]\nendpoint = \"http://127.0.0.1:7777\"\nmine = true",
        )
        .unwrap();
        assert_eq!(project.endpoint.as_deref(), Some("http://127.0.0.1:7777"));
        assert_eq!(project.key.as_deref(), Some("iansmith/slopstop"));
        assert_eq!(project.scope, filters(&[("source", "github")]));
        let scoped = read("system = \"github\"\n[rag]\ncorpus_scope = [\"a/b\", \"a/c\"]").unwrap();
        assert_eq!(
            scoped.scope,
            filters(&[("project", "a/b"), ("project", "a/c")])
        );
        let both = read("[rag]\ncorpus_scope = \"jira:PROJ\"").unwrap();
        assert_eq!(
            both.scope,
            filters(&[("source", "jira"), ("project", "PROJ")])
        );
        assert!(both.scope_beside(["source"].into_iter()).is_empty());
        assert_eq!(both.scope_beside(["label"].into_iter()).len(), 2);
    }

    #[test]
    fn a_wrong_type_names_file_and_key() {
        for (text, key) in [
            ("rag = 1", "`rag`"),
            ("[rag]\nendpoint = 7777", "`rag.endpoint`"),
            ("[rag]\ncorpus_scope = 1", "`rag.corpus_scope`"),
            ("[rag]\ncorpus_scope = [1]", "`rag.corpus_scope`"),
            (
                "[rag]\ncorpus_scope = [\"github\", \"a/b\"]",
                "`rag.corpus_scope`",
            ),
            ("[rag]\ncorpus_scope = \"\"", "`rag.corpus_scope`"),
            ("system = 1", "`system`"),
            ("key = []", "`key`"),
            ("[", "TOML"),
        ] {
            let error = format!("{:#}", read(text).unwrap_err());
            assert!(
                error.contains(key) && error.contains(FILE),
                "{text}: {error}"
            );
        }
    }

    #[test]
    fn only_within_the_repository() {
        let outside = tempfile::tempdir().unwrap();
        let root = outside.path().join("repository");
        let deep = root.join("a/b");
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::write(outside.path().join(FILE), "").unwrap();
        assert_eq!(find(&deep), None, "no repository");
        std::fs::create_dir(root.join(".git")).unwrap();
        assert_eq!(find(&deep), None, "above the repository");
        std::fs::write(root.join(FILE), "").unwrap();
        assert_eq!(find(&deep), Some(root.join(FILE)));
        std::fs::write(root.join("a").join(FILE), "").unwrap();
        assert_eq!(find(&deep), Some(root.join("a").join(FILE)));
    }
}
