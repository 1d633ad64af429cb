//! Subject tokens: any text as one NATS subject token or KV key part, and back.
//!
//! NATS forbids `.`, `*`, `>`, whitespace and control characters in a token, and
//! KV keys allow only `[-/_=.a-zA-Z0-9]`. Bytes outside `[A-Za-z0-9_-]` become
//! `=` and two upper-case hex digits; the empty text becomes a lone `=`. The
//! encoding is injective, so two tickets never share a subject.

use thiserror::Error;

/// A token that [`encode_token`] cannot have made.
#[derive(Debug, Error, PartialEq, Eq)]
#[error("{token:?} is not an encoded subject token")]
pub struct TokenError {
    /// The token as it was found.
    pub token: String,
}

/// Encodes `text` as one subject token; reversed by [`decode_token`].
pub fn encode_token(text: &str) -> String {
    if text.is_empty() {
        return "=".to_owned();
    }
    let mut token = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-' {
            token.push(char::from(byte));
        } else {
            token.push_str(&format!("={byte:02X}"));
        }
    }
    token
}

/// The text that [`encode_token`] made `token` of.
///
/// # Errors
/// When `token` holds a byte or an escape that the encoder never writes.
pub fn decode_token(token: &str) -> Result<String, TokenError> {
    let refused = || TokenError {
        token: token.to_owned(),
    };
    if token == "=" {
        return Ok(String::new());
    }
    let mut bytes = Vec::with_capacity(token.len());
    let mut rest = token.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'=' {
            let pair = [
                rest.next().ok_or_else(refused)?,
                rest.next().ok_or_else(refused)?,
            ];
            let digits = std::str::from_utf8(&pair).map_err(|_| refused())?;
            bytes.push(u8::from_str_radix(digits, 16).map_err(|_| refused())?);
        } else {
            bytes.push(byte);
        }
    }
    let text = String::from_utf8(bytes).map_err(|_| refused())?;
    // Only the canonical spelling is accepted: one text, one token.
    if encode_token(&text) == token {
        Ok(text)
    } else {
        Err(refused())
    }
}
