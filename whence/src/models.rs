//! Models as the configuration wants them: in this process or on a server.

use crate::{config::Config, embedded};
use anyhow::{Context as _, Result, bail};
use std::time::Duration;
use whence_model::{
    CrossEncoderOptions, Encoder, EncoderOptions, Endpoint, Key, ModelSpec, Models, RemoteOptions,
    RerankProvider, Reranker, Tokenizer,
};

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
        let options = RemoteOptions {
            concurrency: config.model.concurrency,
            question_timeout: Duration::from_millis(config.model.question_timeout_ms),
        };
        return Ok(Encoder::connect(spec, tokenizer, &endpoint, options)?);
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

/// The reranker of the configuration, if it names one; made as [`encoder`] is.
pub(crate) async fn reranker(config: &Config) -> Result<Option<Reranker>> {
    let rerank = &config.rerank;
    let Some(name) = &rerank.model else {
        return Ok(None);
    };
    let spec = table(config)?.reranker(name)?;
    let local = spec.provider == RerankProvider::Onnx;
    if let Some(url) = &rerank.url {
        if local {
            bail!(
                "the reranker {name} runs in this process, and rerank.url names a server; remove \
                 one of them"
            );
        }
        let endpoint = Endpoint {
            url: url.clone(),
            key: key("rerank.key_env", rerank.key_env.as_deref())?,
        };
        return Ok(Some(Reranker::connect(&spec, &endpoint)?));
    }
    if !local {
        let provider = spec.provider;
        bail!("the reranker {name} runs on a server ({provider}); set rerank.url to its address");
    }
    let cache = embedded::cache(config)?;
    let threads = rerank.threads.unwrap_or(0);
    let load = move || -> Result<Reranker> {
        let files = whence_model::fetch_reranker(&spec, &cache)?;
        Ok(Reranker::load(
            &spec,
            &files,
            CrossEncoderOptions { threads },
        )?)
    };
    tokio::task::spawn_blocking(load)
        .await
        .context("loading the reranker panicked")?
        .map(Some)
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
    let prompt = tokenizer.count(&spec.passage_prompt);
    let prompt = prompt.saturating_sub(tokenizer.count(""));
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
