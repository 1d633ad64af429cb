//! Webhooks: a service says that a ticket changed. Nothing it says is believed
//! but which ticket to look at, and that only with a good signature.

use crate::{Settings, sources::KINDS};
use thiserror::Error;

/// A request as it came, before anything of it is trusted.
#[derive(Clone, Debug)]
pub struct HookRequest<'a> {
    /// Header names in lower case, and values.
    pub headers: &'a [(String, String)],
    /// The body as it came: signatures are over its very bytes.
    pub body: &'a [u8],
}

impl HookRequest<'_> {
    /// The first header of this name, given in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

/// The tickets that a webhook names, as people write them; perhaps none.
pub(crate) type Hook = fn(&HookRequest<'_>, &Settings) -> Result<Vec<String>, HookError>;

/// Why a webhook is not taken.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HookError {
    /// There is no such service here.
    #[error("no service called {0:?} sends webhooks here")]
    Unknown(String),
    /// Nobody could tell a forged one.
    #[error("webhooks of {kind} are off; set `webhook_secret` in [{kind}]")]
    Off {
        /// The kind of source.
        kind: &'static str,
    },
    /// The signature is missing or wrong.
    #[error("the signature is missing or wrong")]
    Forged,
    /// It is signed, and not what the service documents.
    #[error("the body is not what the service sends: {0}")]
    Malformed(String),
}

/// Reads a webhook of a kind of source.
///
/// # Errors
/// When it is not to be believed or not to be read; nothing is done then.
pub fn read_hook(
    kind: &str,
    request: &HookRequest<'_>,
    settings: &Settings,
) -> Result<Vec<String>, HookError> {
    let hook = KINDS
        .iter()
        .find(|known| known.name == kind)
        .and_then(|kind| kind.hook)
        .ok_or_else(|| HookError::Unknown(kind.to_owned()))?;
    hook(request, settings)
}
