//! Contents of files and blobs, held as handles so that large ones stay out of memory.
//!
//! A [`Content`] is either a few bytes or a range of an open file, and never changes once it is made. A [`Spool`] makes
//! them: it keeps small contents in memory and appends the rest to one anonymous temporary file. This is the only module
//! below floor 2 that touches a file, and it touches only files that it made itself or that were handed to it open.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;

use crate::digest::{Digest, Hasher};

/// How much is read or written at a time.
pub const CHUNK: usize = 64 * 1024;

/// How many bytes a [`Spool`] holds in memory before it begins a file.
pub const IN_MEMORY: u64 = 4 * 1024 * 1024;

/// Bytes that can be read again and again, without holding them in memory.
#[derive(Debug, Clone)]
pub enum Content {
    /// In memory.
    Bytes(Bytes),
    /// A range of an open file.
    File {
        /// The file; never written within the range.
        file: Arc<File>,
        /// Where the range begins.
        offset: u64,
        /// How long it is.
        len: u64,
    },
}

impl Content {
    /// Returns the whole of an open file as content.
    pub fn of_file(file: File) -> io::Result<Self> {
        let len = file.metadata()?.len();
        Ok(Self::File {
            file: Arc::new(file),
            offset: 0,
            len,
        })
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File { len, .. } => *len,
        }
    }

    /// Tells whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns a part of this content, or nothing when it is not wholly inside.
    pub fn slice(&self, start: u64, length: u64) -> Option<Self> {
        let end = start.checked_add(length).filter(|end| *end <= self.len())?;
        Some(match self {
            Self::Bytes(bytes) => {
                Self::Bytes(bytes.slice(usize::try_from(start).ok()?..usize::try_from(end).ok()?))
            }
            Self::File { file, offset, .. } => Self::File {
                file: Arc::clone(file),
                offset: offset.checked_add(start)?,
                len: length,
            },
        })
    }

    /// Reads some bytes at a position, as many as there are and fit; none at the end.
    pub fn read_at(&self, buffer: &mut [u8], position: u64) -> io::Result<usize> {
        let left = self.len().saturating_sub(position);
        let want = usize::try_from(left)
            .unwrap_or(usize::MAX)
            .min(buffer.len());
        let Some(buffer) = buffer.get_mut(..want) else {
            return Ok(0);
        };
        match self {
            Self::Bytes(bytes) => {
                let start = usize::try_from(position).unwrap_or(usize::MAX);
                let source = bytes.get(start..).unwrap_or_default();
                let mut source = source.get(..want).unwrap_or_default();
                source.read(buffer)
            }
            Self::File { file, offset, .. } => {
                let at = offset
                    .checked_add(position)
                    .ok_or(io::ErrorKind::InvalidInput)?;
                loop {
                    match file.read_at(buffer, at) {
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        Ok(0) if want > 0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                        other => return other,
                    }
                }
            }
        }
    }

    /// Returns a reader from the first byte to the last.
    pub fn reader(&self) -> Reader {
        Reader {
            content: self.clone(),
            position: 0,
        }
    }

    /// Returns all bytes in memory. The caller has checked that [`Content::len`] is small enough.
    pub fn to_bytes(&self) -> io::Result<Bytes> {
        match self {
            Self::Bytes(bytes) => Ok(bytes.clone()),
            Self::File { .. } => {
                let mut all = Vec::with_capacity(usize::try_from(self.len()).unwrap_or(0));
                self.reader().read_to_end(&mut all)?;
                Ok(all.into())
            }
        }
    }

    /// Computes the digest, with the hasher of the algorithm that is wanted.
    pub fn digest(&self, mut hasher: Hasher) -> io::Result<Digest> {
        match self {
            Self::Bytes(bytes) => hasher.update(bytes),
            Self::File { .. } => {
                let mut buffer = vec![0; CHUNK];
                let mut reader = self.reader();
                loop {
                    let n = reader.read(&mut buffer)?;
                    if n == 0 {
                        break;
                    }
                    hasher.update(buffer.get(..n).unwrap_or_default());
                }
            }
        }
        Ok(hasher.finish())
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes.into())
    }
}

impl From<Bytes> for Content {
    fn from(bytes: Bytes) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<&'static str> for Content {
    fn from(text: &'static str) -> Self {
        Self::Bytes(Bytes::from_static(text.as_bytes()))
    }
}

/// Reads a [`Content`] from the first byte to the last.
#[derive(Debug)]
pub struct Reader {
    content: Content,
    position: u64,
}

impl Reader {
    /// Returns the position of the next byte.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Moves to a position; past the end, nothing more is read.
    pub fn seek_to(&mut self, position: u64) {
        self.position = position;
    }
}

impl Read for Reader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.content.read_at(buffer, self.position)?;
        self.position = self.position.saturating_add(n as u64);
        Ok(n)
    }
}

/// Collects contents: small amounts in memory, the rest in one temporary file that has no name.
#[derive(Debug)]
pub struct Spool {
    directory: PathBuf,
    in_memory: u64,
    held: u64,
    file: Option<Arc<File>>,
    end: u64,
}

impl Spool {
    /// Makes a spool whose file, if it comes to that, is made in `directory`.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self {
            directory: directory.into(),
            in_memory: IN_MEMORY,
            held: 0,
            file: None,
            end: 0,
        }
    }

    /// Makes a spool that keeps at most `in_memory` bytes in memory.
    pub fn with_memory(directory: impl Into<PathBuf>, in_memory: u64) -> Self {
        Self {
            in_memory,
            ..Self::new(directory)
        }
    }

    /// Returns the directory where the temporary file is or would be.
    pub fn directory(&self) -> &std::path::Path {
        &self.directory
    }

    /// Begins a content; what is written to it becomes the content when it is finished.
    ///
    /// One content is written at a time. One that is dropped unfinished leaves nothing but unused space.
    pub fn begin(&mut self) -> Writer<'_> {
        Writer {
            spool: self,
            buffer: Vec::new(),
            start: None,
            len: 0,
        }
    }

    /// Copies everything that a reader gives into a content.
    pub fn store(&mut self, reader: &mut dyn Read) -> io::Result<Content> {
        let mut writer = self.begin();
        io::copy(reader, &mut writer)?;
        writer.finish()
    }

    fn file(&mut self) -> io::Result<Arc<File>> {
        if let Some(file) = &self.file {
            return Ok(Arc::clone(file));
        }
        let file = Arc::new(tempfile::tempfile_in(&self.directory)?);
        self.file = Some(Arc::clone(&file));
        Ok(file)
    }
}

/// Writes one content into a [`Spool`].
#[derive(Debug)]
pub struct Writer<'a> {
    spool: &'a mut Spool,
    buffer: Vec<u8>,
    /// Where the content begins in the file, once it is there.
    start: Option<u64>,
    len: u64,
}

impl Writer<'_> {
    /// Returns how many bytes were written.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Tells whether nothing was written yet.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Ends the content and returns it.
    pub fn finish(mut self) -> io::Result<Content> {
        match self.start {
            None => {
                self.spool.held = self.spool.held.saturating_add(self.len);
                Ok(Content::Bytes(std::mem::take(&mut self.buffer).into()))
            }
            Some(offset) => {
                self.write_buffer()?;
                Ok(Content::File {
                    file: self.spool.file()?,
                    offset,
                    len: self.len,
                })
            }
        }
    }

    /// Appends the buffer to the file.
    fn write_buffer(&mut self) -> io::Result<()> {
        let file = self.spool.file()?;
        file.write_all_at(&self.buffer, self.spool.end)?;
        self.spool.end = self.spool.end.saturating_add(self.buffer.len() as u64);
        self.buffer.clear();
        Ok(())
    }
}

impl Write for Writer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        self.len = self.len.saturating_add(bytes.len() as u64);
        if self.start.is_none() && self.spool.held.saturating_add(self.len) > self.spool.in_memory {
            self.start = Some(self.spool.end);
        }
        if self.start.is_some() && self.buffer.len() >= CHUNK {
            self.write_buffer()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(content: &Content) -> Vec<u8> {
        let mut all = Vec::new();
        content.reader().read_to_end(&mut all).unwrap();
        all
    }

    #[test]
    fn contents_are_the_same_in_memory_and_in_a_file() {
        let directory = tempfile::tempdir().unwrap();
        for in_memory in [0, 5, 1_000_000] {
            let mut spool = Spool::with_memory(directory.path(), in_memory);
            let parts: Vec<Vec<u8>> = vec![
                b"abc".to_vec(),
                Vec::new(),
                vec![7; 200_000],
                b"end".to_vec(),
            ];
            let contents: Vec<Content> = parts
                .iter()
                .map(|part| spool.store(&mut part.as_slice()).unwrap())
                .collect();
            for (part, content) in parts.iter().zip(&contents) {
                assert_eq!(content.len(), part.len() as u64);
                assert_eq!(&read_all(content), part);
                assert_eq!(&content.to_bytes().unwrap()[..], &part[..]);
                assert_eq!(content.digest(Hasher::sha256()).unwrap(), Digest::of(part));
            }
            let slice = contents[0].slice(1, 2).unwrap();
            assert_eq!(read_all(&slice), b"bc");
            assert!(contents[0].slice(1, 3).is_none());
            assert!(contents[0].slice(u64::MAX, 1).is_none());
            assert_eq!(
                std::fs::read_dir(directory.path()).unwrap().count(),
                0,
                "the file has no name"
            );
        }
    }

    #[test]
    fn what_exceeds_the_memory_goes_to_the_file() {
        let directory = tempfile::tempdir().unwrap();
        let mut spool = Spool::with_memory(directory.path(), 5);
        let mut is_file = |bytes: &[u8]| {
            let content = spool.store(&mut &bytes[..]).unwrap();
            matches!(content, Content::File { .. })
        };
        assert!(!is_file(b"abc"));
        assert!(!is_file(b"de"));
        assert!(!is_file(b""));
        assert!(is_file(b"f"));
    }

    #[test]
    fn a_writer_holds_less_than_a_chunk_once_there_is_a_file() {
        let directory = tempfile::tempdir().unwrap();
        let mut spool = Spool::with_memory(directory.path(), 0);
        let mut writer = spool.begin();
        assert!(writer.is_empty());
        for written in 1..=100 {
            writer.write_all(&[7; 1000]).unwrap();
            assert!(!writer.is_empty());
            assert_eq!(writer.len(), written * 1000);
            assert!(writer.buffer.len() < CHUNK);
            // Little at a time is not written little by little.
            assert_eq!(writer.spool.end > 0, written > 65);
        }
        assert!(writer.spool.end >= CHUNK as u64);
        assert_eq!(writer.finish().unwrap().len(), 100_000);
    }

    #[test]
    fn a_reader_goes_on_where_it_is_told() {
        let content = Content::from("abcdef");
        assert!(!content.is_empty());
        assert!(Content::from("").is_empty());
        let mut reader = content.reader();
        assert_eq!(reader.position(), 0);
        reader.seek_to(4);
        let mut rest = String::new();
        reader.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "ef");
        assert_eq!(reader.position(), 6);
        reader.seek_to(u64::MAX);
        assert_eq!(reader.read(&mut [0; 4]).unwrap(), 0);
    }

    #[test]
    fn a_file_that_shrank_is_an_error_and_not_a_short_content() {
        let file = tempfile::tempfile().unwrap();
        file.write_all_at(b"12345", 0).unwrap();
        let content = Content::of_file(file.try_clone().unwrap()).unwrap();
        file.set_len(2).unwrap();
        assert!(content.to_bytes().is_err());
    }
}
