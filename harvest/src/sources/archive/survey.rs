//! One file before anything of it is sent: its hash, its repository, and which
//! occurrence of a number is the last.

use super::{
    item,
    scan::{Piece, Scanner},
};
use flate2::read::MultiGzDecoder;
use sha2::{Digest, Sha256};
use std::{
    collections::HashMap,
    fs::File,
    io::{self, BufReader, Read, Seek},
    path::Path,
};

/// More than this a file does not unpack to, whatever it claims.
const LARGEST_UNPACKED: u64 = 16 << 30;

/// What the first walk through an archive found.
#[derive(Debug)]
pub(super) struct Survey {
    pub(super) repo: String,
    /// When the archive was made, as it says itself; of two archives of one
    /// repository the later counts.
    pub(super) timestamp: String,
    /// For each number, which item of the file (counted over all lists) is the
    /// last that bears it.
    pub(super) last: HashMap<u64, u64>,
    /// Items that bear a number which a later one bears too.
    pub(super) repeated: u64,
}

/// Opens for one walk from the beginning; gzip is known by its first bytes.
pub(super) fn open(path: &Path) -> io::Result<Box<dyn Read + Send>> {
    let mut file = File::open(path)?;
    let mut magic = Vec::new();
    file.by_ref().take(2).read_to_end(&mut magic)?;
    file.rewind()?;
    Ok(if magic == [0x1F, 0x8B] {
        let unpacked = MultiGzDecoder::new(BufReader::new(file));
        Box::new(unpacked.take(LARGEST_UNPACKED))
    } else {
        Box::new(file)
    })
}

/// SHA-256 of the file as it lies there, in hex.
pub(super) fn hash(path: &Path) -> io::Result<String> {
    let mut hasher = Sha256::new();
    io::copy(&mut File::open(path)?, &mut hasher)?;
    Ok(hex::encode(hasher.finalize()))
}

/// Walks through the file once. The error says why it is no archive.
pub(super) fn survey(path: &Path) -> Result<Survey, String> {
    let reader = open(path).map_err(|error| format!("it cannot be read: {error}"))?;
    let mut scanner = Scanner::new(reader, item::LISTS);
    let (mut repo, mut timestamp) = (None, String::new());
    let mut last = HashMap::new();
    let (mut ordinal, mut repeated) = (0, 0);
    let broken = loop {
        match scanner.next() {
            Ok(None) => break None,
            Err(broken) => break Some(broken),
            Ok(Some(Piece::Field { name, bytes })) if name == "repo" => {
                repo = Some(repo_of(&bytes)?);
            }
            Ok(Some(Piece::Field { name, bytes })) if name == "timestamp" => {
                timestamp = serde_json::from_slice(&bytes).unwrap_or_default();
            }
            Ok(Some(Piece::Field { name, bytes })) if item::LISTS.contains(&name.as_str()) => {
                if bytes != b"null" {
                    return Err(format!("its field `{name}` is not a list"));
                }
            }
            Ok(Some(Piece::Field { .. })) => {}
            Ok(Some(Piece::Item { bytes, .. })) => {
                if let Ok((_, number)) = item::read(&bytes)
                    && last.insert(number, ordinal).is_some()
                {
                    repeated += 1;
                }
                ordinal += 1;
            }
        }
    };
    let repo = match (repo, &broken) {
        (Some(repo), _) => repo,
        (None, Some(broken)) => {
            return Err(format!(
                "it is not the JSON of an archive, or is cut off before it names its \
                 repository: byte {}: {}",
                broken.byte, broken.cause
            ));
        }
        (None, None) => {
            return Err("it is no archive: it has no field `repo` (owner/name)".to_owned());
        }
    };
    if broken.is_none() && !scanner.saw_list() {
        return Err("it is no archive: it has neither `issues` nor `pulls`".to_owned());
    }
    Ok(Survey {
        repo,
        timestamp,
        last,
        repeated,
    })
}

fn repo_of(bytes: &[u8]) -> Result<String, String> {
    let repo: String = serde_json::from_slice(bytes)
        .map_err(|error| format!("its field `repo` cannot be read: {error}"))?;
    if item::is_repo(&repo) {
        Ok(repo)
    } else {
        Err(format!("its field `repo` is {repo:?}, not owner/name"))
    }
}
