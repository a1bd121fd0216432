//! The reader: frame after frame, each block checked before it is decoded.

use std::io::{self, BufReader, Read};

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::frame::{self, FrameHeader, HEADER_MAX, MAGIC, WINDOW_MAX};
use crate::content::CHUNK;
use crate::error::{Error, Kind, Result};
use crate::escape::shown;
use crate::expansion::{Expansion, looks_like};
use crate::limits::Limits;

/// The most frames that may hold nothing, or be skipped.
const EMPTY_FRAMES: u32 = 1_000;

/// Reads the content of zstd frames, which may be many, as one.
///
/// Every error is an [`Error`] that [`Error::from_io`] takes out of the [`io::Error`], of the kinds that
/// [`crate::gzip::Reader`] has.
pub struct Reader<R: Read> {
    source: Source<R>,
    decoder: FrameDecoder,
    expansion: Expansion,
    frame: Option<FrameHeader>,
    /// What came out of this frame.
    content: u64,
    frames: u32,
    empty: u32,
    /// How much of the source the expansion knows of.
    counted: u64,
    over: bool,
}

impl<R: Read> std::fmt::Debug for Reader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Reader(frame {}, {:?})", self.frames, self.expansion)
    }
}

impl<R: Read> Reader<R> {
    /// Reads a stream whose content may be as large as all files of a bundle.
    pub fn new(source: R, limits: &Limits) -> Self {
        Self::with_room(source, limits, 0)
    }

    /// Allows `room` more bytes, for what stands around the files.
    pub(crate) fn with_room(source: R, limits: &Limits, room: u64) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(WINDOW_MAX);
        Self {
            source: Source {
                inner: BufReader::with_capacity(CHUNK, source),
                taken: 0,
                failed: None,
            },
            decoder,
            expansion: Expansion::new(limits, room),
            frame: None,
            content: 0,
            frames: 0,
            empty: 0,
            counted: 0,
            over: false,
        }
    }

    fn next_bytes(&mut self, target: &mut [u8]) -> Result<usize> {
        while !self.over {
            if self.frame.is_none() {
                self.begin()?;
                continue;
            }
            let given = self
                .decoder
                .read(target)
                .map_err(|error| self.source.fault(&error))?;
            if given > 0 {
                self.count(given)?;
                return Ok(given);
            }
            if self.decoder.is_finished() {
                self.end()?;
            } else {
                self.block()?;
            }
        }
        Ok(0)
    }

    /// Reads the header of a frame, passes over one that is to be skipped, or finds the end.
    fn begin(&mut self) -> Result<()> {
        let at = self.source.taken;
        let mut magic = [0; 4];
        let found = self.source.fill(&mut magic)?;
        if found == 0 && self.frames > 0 {
            self.over = true;
            return Ok(());
        }
        let skippable = matches!(magic, [0x50..=0x5f, 0x2a, 0x4d, 0x18]);
        if found < magic.len() || !(magic == MAGIC || skippable) {
            let start = magic.get(..found).unwrap_or_default();
            let skip = matches!(start, [0x50..=0x5f, rest @ ..] if [0x2a, 0x4d].starts_with(rest));
            if found > 0 && (skip || MAGIC.starts_with(start)) {
                return Err(self.source.cut_off());
            }
            return Err(if found == 0 && at > 0 {
                Error::unsafe_content("there is no content between the zstd frames to be skipped")
            } else if self.frames == 0 && at == 0 {
                let like = looks_like(start);
                Error::unsafe_content(format!("the content is not zstd, it looks like {like}"))
                    .expected("zstd")
            } else {
                Error::unsafe_content(format!(
                    "something that is not zstd follows the zstd content at byte {at}"
                ))
            });
        }
        if skippable {
            self.count_empty()?;
            let length = u32::from_le_bytes(self.source.array()?);
            return self.source.skip(u64::from(length));
        }
        let mut header = [0; MAGIC.len() + HEADER_MAX];
        let [descriptor] = self.source.array()?;
        let length = frame::length(descriptor);
        for (slot, byte) in header.iter_mut().zip(MAGIC.into_iter().chain([descriptor])) {
            *slot = byte;
        }
        let end = MAGIC.len().saturating_add(length);
        if let Some(rest) = header.get_mut(MAGIC.len().saturating_add(1)..end)
            && self.source.fill(rest)? < rest.len()
        {
            return Err(self.source.cut_off());
        }
        self.frame = Some(frame::parse(
            header.get(MAGIC.len()..end).unwrap_or_default(),
        )?);
        self.decoder
            .reset(header.get(..end).unwrap_or_default())
            .map_err(|error| self.source.fault(&error))?;
        self.frames = self.frames.saturating_add(1);
        self.content = 0;
        Ok(())
    }

    /// Decodes one block.
    fn block(&mut self) -> Result<()> {
        self.decoder
            .decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1))
            .map_err(|error| self.source.fault(&error))?;
        Ok(())
    }

    /// Counts what came out of a frame, which may not be more than its header says.
    fn count(&mut self, given: usize) -> Result<()> {
        let given = given as u64;
        self.content = self.content.saturating_add(given);
        let packed = self.source.taken.saturating_sub(self.counted);
        self.counted = self.source.taken;
        self.expansion.add(packed, given)?;
        match self.frame.as_ref().and_then(|frame| frame.content) {
            Some(content) if self.content > content => Err(wrong_size(content, "more".to_owned())),
            _ => Ok(()),
        }
    }

    /// Compares the end of a frame with its header.
    fn end(&mut self) -> Result<()> {
        let Some(frame) = self.frame.take() else {
            return Ok(());
        };
        if let Some(content) = frame.content
            && content != self.content
        {
            return Err(wrong_size(content, self.content.to_string()));
        }
        let stored = self.decoder.get_checksum_from_data();
        let computed = self.decoder.get_calculated_checksum();
        if frame.checksum && stored != computed {
            return Err(Error::mismatch(
                "checksum of the zstd content",
                format_args!("{:08x}", stored.unwrap_or(0)),
                format_args!("{:08x}", computed.unwrap_or(0)),
            ));
        }
        if self.content == 0 {
            self.count_empty()?;
        }
        Ok(())
    }

    fn count_empty(&mut self) -> Result<()> {
        self.empty = self.empty.saturating_add(1);
        if self.empty > EMPTY_FRAMES {
            return Err(Error::new(
                Kind::Limit,
                format!("the zstd content has more than {EMPTY_FRAMES} frames that hold nothing"),
            ));
        }
        Ok(())
    }
}

impl<R: Read> Read for Reader<R> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        if target.is_empty() {
            return Ok(0);
        }
        self.next_bytes(target).map_err(Error::into_io)
    }
}

/// The compressed bytes, and what went wrong when they were read for the decoder, which only knows that it failed.
struct Source<R: Read> {
    inner: BufReader<R>,
    taken: u64,
    failed: Option<io::Error>,
}

impl<R: Read> Source<R> {
    /// Fills the target as far as there are bytes; returns how many there were.
    fn fill(&mut self, target: &mut [u8]) -> Result<usize> {
        let mut filled = 0;
        while let Some(rest) = target.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.read(rest) {
                Ok(0) => break,
                Ok(read) => filled = filled.saturating_add(read),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(self.unread(error)),
            }
        }
        Ok(filled)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        if self.fill(&mut bytes)? < N {
            return Err(self.cut_off());
        }
        Ok(bytes)
    }

    fn skip(&mut self, count: u64) -> Result<()> {
        let passed = io::copy(&mut Read::take(&mut *self, count), &mut io::sink());
        let passed = passed.map_err(|error| self.unread(error))?;
        if passed < count {
            return Err(self.cut_off());
        }
        Ok(())
    }

    /// Says why a read failed, as it was said before its kind alone was passed on.
    fn unread(&mut self, error: io::Error) -> Error {
        cannot_read(self.failed.take().unwrap_or(error))
    }

    /// Says what the decoder failed on.
    fn fault(&mut self, error: &dyn std::error::Error) -> Error {
        match self.failed.take() {
            Some(end) if end.kind() == io::ErrorKind::UnexpectedEof => self.cut_off(),
            Some(error) => cannot_read(error),
            None => Error::unsafe_content(format!(
                "the zstd content is not valid before byte {}: {}",
                self.taken,
                shown(&error.to_string())
            )),
        }
    }

    fn cut_off(&self) -> Error {
        Error::mismatch(
            "the zstd content is cut off",
            "its end",
            format_args!("nothing after byte {}", self.taken),
        )
    }
}

impl<R: Read> Read for Source<R> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        match self.inner.read(target) {
            Ok(0) if !target.is_empty() => {
                self.failed = Some(io::ErrorKind::UnexpectedEof.into());
                Ok(0)
            }
            Ok(read) => {
                self.taken = self.taken.saturating_add(read as u64);
                Ok(read)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(error) => {
                let kind = error.kind();
                self.failed = Some(error);
                Err(kind.into())
            }
        }
    }
}

fn cannot_read(error: io::Error) -> Error {
    Error::from_io("cannot read the zstd content", error)
}

fn wrong_size(stated: u64, found: String) -> Error {
    Error::unsafe_content(format!(
        "the zstd frame says that it holds {stated} bytes and holds {found}"
    ))
    .expected(stated)
    .found(found)
}

#[cfg(test)]
mod tests;
