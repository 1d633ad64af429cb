//! An archive behind an address, into a file that goes when it was read.

use super::place::{ArchiveFile, Files, is_loopback};
use crate::SourceError;
use futures::StreamExt;
use reqwest::{Client, Response, Url, redirect};
use std::{io::Write, time::Duration};

/// An archive is refused beyond this.
const LARGEST_BYTES: u64 = 512 << 20;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// Between two pieces of the answer.
const READ_TIMEOUT: Duration = Duration::from_secs(60);
const MOST_REDIRECTS: usize = 5;

/// Whether something is there.
pub(super) async fn check(url: &Url) -> Result<(), SourceError> {
    request(url).await.map(drop)
}

/// Fetches the whole archive.
pub(super) async fn fetch(url: &Url) -> Result<Files, SourceError> {
    let failed = |error: std::io::Error| {
        SourceError::because(
            format!("cannot store {url} in the folder for temporary files; is it full?"),
            error,
        )
    };
    let too_large = || {
        SourceError::bare(format!(
            "{url} is larger than {LARGEST_BYTES} bytes, refused"
        ))
    };
    let response = request(url).await?;
    if response.content_length().is_some_and(|n| n > LARGEST_BYTES) {
        return Err(too_large());
    }
    let mut file = tempfile::NamedTempFile::new().map_err(failed)?;
    let mut size = 0;
    let mut pieces = response.bytes_stream();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|error| {
            SourceError::because(format!("the download of {url} broke off"), error)
        })?;
        size += piece.len() as u64;
        if size > LARGEST_BYTES {
            return Err(too_large());
        }
        file.write_all(&piece).map_err(failed)?;
    }
    file.flush().map_err(failed)?;
    Ok(Files {
        root: url.to_string(),
        files: vec![ArchiveFile {
            shown: url.to_string(),
            path: file.path().to_owned(),
        }],
        is_folder: false,
        _download: Some(file),
    })
}

async fn request(url: &Url) -> Result<Response, SourceError> {
    // The process may have chosen a provider already; either is fine.
    let _chosen_before = rustls::crypto::ring::default_provider().install_default();
    let policy = redirect::Policy::custom(|attempt| {
        // Never from https to anything else, and never from outside to loopback.
        let first = attempt.previous().first();
        let safe = first.is_some_and(|first| {
            first.scheme() == attempt.url().scheme()
                && is_loopback(first) == is_loopback(attempt.url())
        });
        if attempt.previous().len() > MOST_REDIRECTS {
            attempt.error("too many redirects")
        } else if safe {
            attempt.follow()
        } else {
            attempt.error("a redirect leads to another scheme or to this machine")
        }
    });
    let client = Client::builder()
        .user_agent(concat!("whence/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .read_timeout(READ_TIMEOUT)
        .redirect(policy)
        .build()
        .map_err(|error| SourceError::because("cannot prepare a download", error))?;
    let response = client.get(url.clone()).send().await.map_err(|error| {
        SourceError::because(
            format!("cannot reach {url}; is the address right, and the network there?"),
            error,
        )
    })?;
    let status = response.status();
    if status.is_success() {
        Ok(response)
    } else {
        Err(SourceError::bare(format!(
            "{url} answered {status}; is the address right?"
        )))
    }
}
