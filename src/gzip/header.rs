//! What stands before a member: the compressed bytes as they come, and the fields of a header.

use std::io::{self, Read};

use flate2::Crc;

use crate::content::CHUNK;
use crate::error::{Error, Result};
use crate::limits::Ceiling;

/// Reads the fields of a header and counts them.
pub(super) struct HeaderReader<'a, R: Read> {
    pub(super) input: &'a mut Input<R>,
    pub(super) crc: Crc,
    pub(super) begin: u64,
    pub(super) most: u64,
    /// What earlier headers count.
    pub(super) before: u64,
}

impl<R: Read> HeaderReader<'_, R> {
    pub(super) fn length(&self) -> u64 {
        let own = self.input.taken.saturating_sub(self.begin);
        own.saturating_add(self.before)
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let bytes = self.input.array()?;
        self.crc.update(&bytes);
        if self.length() > self.most {
            return Err(Error::limit(Ceiling::GzipHeader, self.most, self.length()));
        }
        Ok(bytes)
    }

    /// Reads what follows the magic number.
    pub(super) fn fields(&mut self) -> Result<()> {
        let [method, flags, ..] = self.array::<8>()?;
        if method != 8 {
            return Err(Error::unsafe_content(format!(
                "the gzip content uses the unknown method {method}"
            )));
        }
        if flags & 0b1110_0000 != 0 {
            return Err(Error::unsafe_content(format!(
                "the gzip header has reserved flags: 0x{flags:02x}"
            )));
        }
        if flags & 0b100 != 0 {
            let extra = u16::from_le_bytes(self.array()?);
            for _ in 0..extra {
                self.array::<1>()?;
            }
        }
        // A name and a comment, each up to a NUL.
        for flag in [0b1000, 0b1_0000] {
            while flags & flag != 0 && self.array()? != [0] {}
        }
        if flags & 0b10 != 0 {
            let [low, high, ..] = self.crc.sum().to_le_bytes();
            let found = self.array()?;
            if found != [low, high] {
                return Err(Error::mismatch(
                    "checksum of the gzip header",
                    format_args!("{:04x}", u16::from_le_bytes(found)),
                    format_args!("{:04x}", u16::from_le_bytes([low, high])),
                ));
            }
        }
        Ok(())
    }
}

/// The compressed bytes, and how many of them were used.
pub(super) struct Input<R: Read> {
    source: R,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    pub(super) taken: u64,
}

impl<R: Read> Input<R> {
    pub(super) fn new(source: R) -> Self {
        Self {
            source,
            buffer: vec![0; CHUNK].into(),
            start: 0,
            end: 0,
            taken: 0,
        }
    }

    /// Returns the bytes that come next, at least one unless it is the end.
    pub(super) fn peek(&mut self) -> Result<&[u8]> {
        while self.start == self.end {
            self.start = 0;
            self.end = 0;
            match self.source.read(&mut self.buffer) {
                Ok(0) => break,
                Ok(read) => self.end = read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    return Err(Error::from_io("cannot read the gzip content", error));
                }
            }
        }
        Ok(self.buffer.get(self.start..self.end).unwrap_or_default())
    }

    /// Passes over bytes that were seen.
    pub(super) fn take(&mut self, count: u64) {
        let there = self.end.saturating_sub(self.start);
        let count = usize::try_from(count).unwrap_or(usize::MAX).min(there);
        self.start = self.start.saturating_add(count);
        self.taken = self.taken.saturating_add(count as u64);
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut bytes = [0; N];
        for byte in &mut bytes {
            match self.peek()?.first() {
                Some(next) => *byte = *next,
                None => return Err(self.cut_off()),
            }
            self.take(1);
        }
        Ok(bytes)
    }

    pub(super) fn cut_off(&self) -> Error {
        Error::mismatch(
            "the gzip content is cut off",
            "its end",
            format_args!("nothing after byte {}", self.taken),
        )
    }
}
