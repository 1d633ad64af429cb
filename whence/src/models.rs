//! Models as the configuration wants them: in this process or on a server.

use crate::{config::Config, embedded};
use anyhow::{Context as _, Result, bail};
use std::time::Duration;
use whence_model::{Encoder, EncoderOptions, Endpoint, Key, ModelSpec, Models, Tokenizer};

/// The models that there are: the built-in ones, and those of `model.file`.
pub(crate) fn table(config: &Config) -> Result<Models> {
    Ok(match &config.model.file {
        Some(file) => Models::with_file(file)?,
        None => Models::built_in()?,
    })
}

/// The encoder of `spec`. A local one is loaded, and fetched where it is not
/// there; a server is not asked yet.
pub(crate) async fn encoder(config: &Config, spec: &ModelSpec) -> Result<Encoder> {
    if let Some(endpoint) = endpoint(config, spec)? {
        let tokenizer = tokenizer(config, spec).await?;
        return Ok(Encoder::connect(spec, tokenizer, &endpoint)?);
    }
    let (spec, cache) = (spec.clone(), embedded::cache(config)?);
    let threads = config.model.threads.unwrap_or(0);
    let load = move || -> Result<Encoder> {
        let files = whence_model::fetch(&spec, &cache)?;
        Ok(Encoder::load(&spec, &files, EncoderOptions { threads })?)
    };
    tokio::task::spawn_blocking(load)
        .await
        .context("loading the model panicked")?
}

/// Where the model's server is; `None` for one in this process.
fn endpoint(config: &Config, spec: &ModelSpec) -> Result<Option<Endpoint>> {
    let model = &config.model;
    match (spec.provider.is_local(), &model.url) {
        (true, None) => Ok(None),
        (true, Some(_)) => bail!(
            "the model {} runs in this process, and model.url names a server; remove one of them",
            spec.name
        ),
        (false, None) => bail!(
            "the model {} runs on a server ({}); set model.url to its address",
            spec.name,
            spec.provider
        ),
        (false, Some(url)) => Ok(Some(Endpoint {
            url: url.clone(),
            key: key("model.key_env", model.key_env.as_deref())?,
            concurrency: model.concurrency,
            question_timeout: Duration::from_millis(model.question_timeout_ms),
        })),
    }
}

/// The key in the variable `name`, which `setting` has named.
fn key(setting: &str, name: Option<&str>) -> Result<Option<Key>> {
    let Some(name) = name else { return Ok(None) };
    match std::env::var(name) {
        Ok(key) if !key.is_empty() => Ok(Some(Key::new(key))),
        _ => bail!("{setting} names the variable {name}, which is not set; export it with the key"),
    }
}

/// What counts the tokens of texts for `spec`.
pub(crate) async fn tokenizer(config: &Config, spec: &ModelSpec) -> Result<Tokenizer> {
    let (spec, cache) = (spec.clone(), embedded::cache(config)?);
    let load = move || -> Result<Tokenizer> {
        let file = whence_model::fetch_tokenizer(&spec, &cache)?;
        Ok(Tokenizer::load(&file)?)
    };
    tokio::task::spawn_blocking(load)
        .await
        .context("loading the tokenizer panicked")?
}

/// Whether every chunk fits the model's window, prompt included.
pub(crate) fn check_room(config: &Config, spec: &ModelSpec, tokenizer: &Tokenizer) -> Result<()> {
    let prompt = tokenizer.count(&spec.passage_prompt) - tokenizer.count("");
    let room = spec.max_tokens.saturating_sub(prompt);
    if config.chunk.max_tokens > room {
        bail!(
            "chunk.max_tokens is {}, and the model {} has room for {room}; lower it",
            config.chunk.max_tokens,
            spec.name
        );
    }
    Ok(())
}
