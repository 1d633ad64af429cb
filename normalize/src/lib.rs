//! Raw payload to document: one pure reader per dialect.
//!
//! Whatever an upstream wrote, what leaves here is text that every later stage
//! can store: valid UTF-8, LF line ends, no NUL and no control character but
//! `\n` and `\t`. Prose is never interpreted; hostile text stays text.
//!
//! Where do I add a dialect: one file with one `read` function, one arm in
//! [`normalize`].

mod clean;
mod closing;
mod error;
mod fields;
mod front_matter;
mod github_archive;
mod lenient;
mod markdown_note;
mod note_links;
mod prose;
mod stage;
mod whence_document;

pub use clean::{clean_line, clean_text};
pub use error::{NormalizeError, Problem};
pub use stage::{NormalizeStage, VERSION};

use whence_contract::{Dialect, Document, RawTicket, TicketKey};

/// The document of one raw ticket: a function of its two arguments alone.
///
/// Fields that are absent, null or of a wrong type are left out; the wrong
/// ones are named in `meta["ignored_fields"]`. The exception is
/// [`Dialect::WhenceDocument`], our own shape, where a wrong field is an error
/// that names it.
///
/// # Errors
/// When the payload is no JSON object, is nested deeper than 127 levels, or
/// does not say which ticket it is.
pub fn normalize(raw: &RawTicket, key: &TicketKey) -> Result<Document, NormalizeError> {
    let payload = lenient::object(raw.payload.get()).map_err(|cause| cause.of(raw, key))?;
    let document = match raw.dialect {
        Dialect::GithubArchiveIssue | Dialect::GithubArchivePull => {
            github_archive::read(payload, raw.dialect, key)
        }
        Dialect::MarkdownNote => markdown_note::read(payload, key),
        Dialect::WhenceDocument => whence_document::read(payload),
    };
    document.map_err(|cause| cause.of(raw, key))
}
