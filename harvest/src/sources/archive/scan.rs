//! Cuts the JSON of an archive into its items without understanding them.
//!
//! Only brackets and strings are told apart, so a broken item, a lone surrogate
//! or bytes that are no UTF-8 stay within their item; a parser of the whole
//! would give up at the first of them. Holds one item at a time in memory.

use std::io::{ErrorKind, Read};

/// No ticket with all that hangs on it comes near this.
const LARGEST_ITEM: usize = 64 << 20;
/// As much of a value that is passed over as is ever looked at.
const LARGEST_FIELD: usize = 64 << 10;

/// One piece of the top-level object.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Piece {
    /// An element of a list that was asked for.
    Item {
        list: &'static str,
        index: u64,
        bytes: Vec<u8>,
    },
    /// Another value: its beginning.
    Field { name: String, bytes: Vec<u8> },
}

/// The JSON does not go on as JSON does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Broken {
    /// Counted from 0, after decompression.
    pub(super) byte: u64,
    pub(super) cause: String,
}

enum State {
    Start,
    /// Before a key or the closing brace; whether a comma may come first.
    Object {
        first: bool,
    },
    List {
        list: &'static str,
        index: u64,
    },
    End,
}

/// Pulls pieces from `reader` until the top-level object closes.
pub(super) struct Scanner<R> {
    reader: R,
    lists: &'static [&'static str],
    buffer: Vec<u8>,
    next: usize,
    /// Bytes before `buffer`.
    before: u64,
    state: State,
    saw_list: bool,
}

impl<R: Read> Scanner<R> {
    /// `lists` names the top-level lists to take apart.
    pub(super) fn new(reader: R, lists: &'static [&'static str]) -> Self {
        Self {
            reader,
            lists,
            buffer: Vec::new(),
            next: 0,
            before: 0,
            state: State::Start,
            saw_list: false,
        }
    }

    /// Whether one of the lists has begun.
    pub(super) fn saw_list(&self) -> bool {
        self.saw_list
    }

    /// The next piece; `None` after the object's end.
    pub(super) fn next(&mut self) -> Result<Option<Piece>, Broken> {
        loop {
            match self.state {
                State::Start => {
                    self.byte_order_mark()?;
                    match self.token("an object")? {
                        b'{' => self.state = State::Object { first: true },
                        _ => return Err(self.broken("the text is no JSON object")),
                    }
                }
                State::Object { first } => {
                    if let Some(piece) = self.member(first)? {
                        return Ok(Some(piece));
                    }
                }
                State::List { list, index } => match self.token("an item or a bracket")? {
                    b']' => self.state = State::Object { first: false },
                    b',' if index > 0 => {
                        let byte = self.token("an item")?;
                        return self.item(list, index, byte).map(Some);
                    }
                    byte if index == 0 => return self.item(list, index, byte).map(Some),
                    _ => return Err(self.broken("a comma is missing between two items")),
                },
                State::End => {
                    return match self.after_whitespace()? {
                        None => Ok(None),
                        Some(_) => Err(self.broken("text follows the end of the object")),
                    };
                }
            }
        }
    }

    /// One key and its value, or the end of the object.
    fn member(&mut self, first: bool) -> Result<Option<Piece>, Broken> {
        let mut byte = self.token("a key or a brace")?;
        if byte == b'}' {
            self.state = State::End;
            return Ok(None);
        }
        if byte == b',' && !first {
            byte = self.token("a key")?;
        } else if !first {
            return Err(self.broken("a comma is missing between two keys"));
        }
        if byte != b'"' {
            return Err(self.broken("a key is missing"));
        }
        let key = self.value(byte, LARGEST_FIELD, false)?;
        let name: String = serde_json::from_slice(&key)
            .map_err(|error| self.broken(format!("a key cannot be read: {error}")))?;
        if self.token("a colon")? != b':' {
            return Err(self.broken(format!("no colon follows the key {name:?}")));
        }
        let byte = self.token("a value")?;
        if byte == b'['
            && let Some(list) = self.lists.iter().find(|list| **list == name)
        {
            self.state = State::List { list, index: 0 };
            self.saw_list = true;
            return Ok(None);
        }
        let bytes = self.value(byte, LARGEST_FIELD, true)?;
        self.state = State::Object { first: false };
        Ok(Some(Piece::Field { name, bytes }))
    }

    fn item(&mut self, list: &'static str, index: u64, first: u8) -> Result<Piece, Broken> {
        let bytes = self.value(first, LARGEST_ITEM, false)?;
        let next = index + 1;
        self.state = State::List { list, index: next };
        Ok(Piece::Item { list, index, bytes })
    }

    /// The bytes of a value that begins with `first`, `first` included. What
    /// exceeds `most` is left out where `cut`, else an error.
    fn value(&mut self, first: u8, most: usize, cut: bool) -> Result<Vec<u8>, Broken> {
        let mut bytes = vec![first];
        let (mut depth, mut string) = match first {
            b'{' | b'[' => (1_u32, false),
            b'"' => (0, true),
            b',' | b':' | b'}' | b']' => return Err(self.broken("a value is missing")),
            _ => return self.scalar(bytes),
        };
        let mut escaped = false;
        while depth > 0 || string {
            let byte = self.byte()?;
            if bytes.len() < most {
                bytes.push(byte);
            } else if !cut {
                return Err(self.broken(format!("one value is longer than {most} bytes")));
            }
            match (string, byte) {
                (true, _) if escaped => escaped = false,
                (true, b'\\') => escaped = true,
                (_, b'"') => string = !string,
                (false, b'{' | b'[') => depth += 1,
                (false, b'}' | b']') => depth -= 1,
                _ => {}
            }
        }
        Ok(bytes)
    }

    fn scalar(&mut self, mut bytes: Vec<u8>) -> Result<Vec<u8>, Broken> {
        loop {
            match self.peek()? {
                None => return Err(self.ends("a value")),
                Some(b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r') => return Ok(bytes),
                Some(_) if bytes.len() >= LARGEST_FIELD => {
                    return Err(self.broken("the text is no JSON"));
                }
                Some(byte) => {
                    bytes.push(byte);
                    self.next += 1;
                }
            }
        }
    }

    fn byte_order_mark(&mut self) -> Result<(), Broken> {
        for expected in [0xEF, 0xBB, 0xBF] {
            if self.peek()? != Some(expected) {
                break;
            }
            self.next += 1;
        }
        Ok(())
    }

    fn token(&mut self, expected: &str) -> Result<u8, Broken> {
        match self.after_whitespace()? {
            Some(byte) => Ok(byte),
            None => Err(self.ends(expected)),
        }
    }

    fn after_whitespace(&mut self) -> Result<Option<u8>, Broken> {
        loop {
            match self.peek()? {
                Some(b' ' | b'\t' | b'\n' | b'\r') => self.next += 1,
                Some(byte) => {
                    self.next += 1;
                    return Ok(Some(byte));
                }
                None => return Ok(None),
            }
        }
    }

    fn byte(&mut self) -> Result<u8, Broken> {
        match self.peek()? {
            Some(byte) => {
                self.next += 1;
                Ok(byte)
            }
            None => Err(self.ends("the rest of a value")),
        }
    }

    fn peek(&mut self) -> Result<Option<u8>, Broken> {
        if self.next == self.buffer.len() {
            self.before += self.buffer.len() as u64;
            self.next = 0;
            self.buffer.resize(64 << 10, 0);
            let read = loop {
                match self.reader.read(&mut self.buffer) {
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    read => break read,
                }
            };
            self.buffer.truncate(*read.as_ref().unwrap_or(&0));
            if let Err(error) = read {
                return Err(self.broken(format!("reading failed: {error}")));
            }
        }
        Ok(self.buffer.get(self.next).copied())
    }

    fn ends(&self, expected: &str) -> Broken {
        self.broken(format!("the text ends where {expected} should come"))
    }

    fn broken(&self, cause: impl Into<String>) -> Broken {
        Broken {
            byte: self.before + self.next as u64,
            cause: cause.into(),
        }
    }
}

/// `json` without the white space between its tokens: the same archive written
/// with another indentation is no change. `json` must be valid.
pub(super) fn compact(json: &str) -> String {
    let mut bytes = Vec::with_capacity(json.len());
    let (mut string, mut escaped) = (false, false);
    for byte in json.bytes() {
        if string {
            string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
        } else if byte.is_ascii_whitespace() {
            continue;
        } else {
            string = byte == b'"';
        }
        bytes.push(byte);
    }
    // Only ASCII was taken out, so what is left is still UTF-8.
    String::from_utf8(bytes).unwrap_or_else(|_| json.to_owned())
}
