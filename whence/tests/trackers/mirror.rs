//! A real log, passes over one source into it, and what the log then holds as
//! documents: all that a test of a tracker looks at.

use serde_json::Value;
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio_util::sync::CancellationToken;
use whence_contract::{Document, TicketKey, Timestamp};
use whence_harvest::{HarvestError, Opening, RunOptions, Settings, Source, SourceSpec, run_once};
use whence_log::{Log, LogOptions, RunRecord, RunStatus, Selection};
use whence_provision::testing::Servers;

/// A log and one source.
pub(crate) struct Mirror {
    pub(crate) log: Log,
    _servers: Servers,
    spec: String,
    table: Value,
    settings: Settings,
    /// What the source waited for, as people see it.
    pub(crate) notices: Arc<Mutex<Vec<String>>>,
}

impl Mirror {
    /// A new log. `table` are the settings of the source's kind; the environment
    /// of the test is not looked at.
    pub(crate) async fn new(spec: &str, table: Value) -> Self {
        let servers = Servers::nats_only().await.unwrap();
        let options = LogOptions {
            url: servers.nats_url().to_owned(),
            name: "test".into(),
            ..LogOptions::default()
        };
        let log = Log::connect(&options).await.unwrap();
        log.set_up(&["test_model".to_owned()]).await.unwrap();
        let kind = spec.split_once(':').unwrap().0.to_owned();
        Self {
            log,
            _servers: servers,
            spec: spec.to_owned(),
            settings: Settings::new(BTreeMap::from([(kind, table.clone())])).with_env(|_| None),
            table,
            notices: Arc::default(),
        }
    }

    /// Another value of one setting.
    pub(crate) fn set_one(&mut self, key: &str, value: Value) {
        let mut table = self.table.clone();
        table[key] = value;
        self.set(table);
    }

    /// A pass with a sweep that may fail.
    pub(crate) async fn try_sweep(&self) -> RunRecord {
        let options = RunOptions {
            sweep_after: Duration::ZERO,
            ..RunOptions::default()
        };
        let stop = CancellationToken::new();
        self.run(options, &stop).await.unwrap()
    }

    /// Another source on the same log, with the same settings.
    pub(crate) fn point_at(&mut self, spec: &str) {
        self.spec = spec.to_owned();
    }

    /// Other settings for the same source on the same log.
    pub(crate) fn set(&mut self, table: Value) {
        let kind = self.spec.split_once(':').unwrap().0.to_owned();
        self.table = table.clone();
        self.settings = Settings::new(BTreeMap::from([(kind, table)])).with_env(|_| None);
    }

    /// The source as the binary would open it.
    pub(crate) fn source(&self) -> Box<dyn Source> {
        let sink = self.notices.clone();
        let opening = Opening {
            settings: self.settings.clone(),
            notice: Arc::new(move |line| sink.lock().unwrap().push(line.to_owned())),
            ..Opening::new(Timestamp::now)
        };
        let spec: SourceSpec = self.spec.parse().unwrap();
        spec.open(&opening).unwrap()
    }

    /// One pass over what changed; no sweep unless it is the first one.
    pub(crate) async fn pass(&self) -> RunRecord {
        self.expect(RunOptions {
            sweep_after: Duration::MAX,
            ..RunOptions::default()
        })
        .await
    }

    /// One pass with a sweep.
    pub(crate) async fn sweep(&self) -> RunRecord {
        self.expect(RunOptions {
            sweep_after: Duration::ZERO,
            ..RunOptions::default()
        })
        .await
    }

    async fn expect(&self, options: RunOptions) -> RunRecord {
        let record = self.run(options, &CancellationToken::new()).await.unwrap();
        assert_eq!(record.status, RunStatus::Succeeded, "{record:#?}");
        record
    }

    /// One pass that may fail, or be stopped.
    pub(crate) async fn run(
        &self,
        options: RunOptions,
        stop: &CancellationToken,
    ) -> Result<RunRecord, HarvestError> {
        let source = self.source();
        run_once(&self.log, source.as_ref(), &options, stop, &|_| ()).await
    }

    /// Every live ticket as the normalizer reads it, by its present id. Two keys
    /// with one id are a ticket that is there twice: a failure.
    pub(crate) async fn documents(&self) -> BTreeMap<String, Document> {
        let mut documents = BTreeMap::new();
        for (key, document) in self.keyed().await {
            let id = document.id.clone();
            let twin = documents.insert(id.clone(), document);
            assert!(twin.is_none(), "{id} is there twice, once as {key}");
        }
        documents
    }

    /// The same by key.
    pub(crate) async fn keyed(&self) -> BTreeMap<TicketKey, Document> {
        let mut documents = BTreeMap::new();
        for known in self.log.known(&Selection::default()).await.unwrap() {
            if let Some(raw) = self.log.raw(&known.key).await.unwrap() {
                let document = whence_normalize::normalize(&raw, &known.key).unwrap();
                documents.insert(known.key, document);
            }
        }
        documents
    }

    /// Letters of all stages.
    pub(crate) async fn dead_letters(&self) -> Vec<whence_log::Buried> {
        self.log.dead_letters(&Selection::default()).await.unwrap()
    }
}
