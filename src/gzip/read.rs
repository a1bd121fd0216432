//! The strict reader: members in a row and nothing else, every checksum compared, growth bounded.

use std::io::{self, Read};

use flate2::{Crc, Decompress, FlushDecompress, Status};

use crate::content::CHUNK;
use crate::error::{Error, Result};
use crate::expansion::{Expansion, looks_like};
use crate::limits::{Ceiling, Limits};

/// A member that holds less than this is counted by its header, so that members without end have one.
const SMALL_MEMBER: u64 = 512;

/// Reads the content of gzip members, which may be many, as one.
///
/// Every error is an [`Error`] that [`Error::from_io`] takes out of the [`io::Error`]: [`crate::Kind::Unsafe`] for what
/// is not gzip or is followed by something else, [`crate::Kind::Mismatch`] for what is cut off or has a wrong checksum,
/// [`crate::Kind::Limit`] for what grows too far.
pub struct Reader<R: Read> {
    input: Input<R>,
    inflate: Decompress,
    expansion: Expansion,
    limits: Limits,
    state: State,
    /// Bytes of headers, without those of members that hold something.
    headers: u64,
    crc: Crc,
    member: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    First,
    Between,
    Inside,
    Over,
}

impl<R: Read> std::fmt::Debug for Reader<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Reader({:?}, {:?})", self.state, self.expansion)
    }
}

impl<R: Read> Reader<R> {
    /// Reads a stream whose content may be as large as all files of a bundle.
    pub fn new(source: R, limits: &Limits) -> Self {
        Self::with_room(source, limits, 0)
    }

    /// Allows `room` more bytes, for what stands around the files.
    pub(crate) fn with_room(source: R, limits: &Limits, room: u64) -> Self {
        Self {
            input: Input::new(source),
            inflate: Decompress::new(false),
            expansion: Expansion::new(limits, room),
            limits: limits.clone(),
            state: State::First,
            headers: 0,
            crc: Crc::new(),
            member: 0,
        }
    }

    fn next_bytes(&mut self, target: &mut [u8]) -> Result<usize> {
        loop {
            match self.state {
                State::Over => return Ok(0),
                State::First | State::Between => self.begin()?,
                State::Inside => {
                    let inflated = self.inflate(target)?;
                    if inflated > 0 {
                        return Ok(inflated);
                    }
                }
            }
        }
    }

    /// Reads the header of a member, or finds the end.
    fn begin(&mut self) -> Result<()> {
        let start = self.input.peek()?;
        if start.is_empty() && self.state == State::Between {
            self.state = State::Over;
            return Ok(());
        }
        if !start.starts_with(&[0x1f]) {
            return Err(match self.state {
                State::First => Error::unsafe_content(format!(
                    "the content is not gzip, it looks like {}",
                    looks_like(start)
                ))
                .expected("gzip"),
                _ => trailing(self.input.taken),
            });
        }
        let begin = self.input.taken;
        let mut header = HeaderReader {
            input: &mut self.input,
            crc: Crc::new(),
            begin,
            most: self.limits[Ceiling::GzipHeader],
            before: self.headers,
        };
        if header.array()? != [0x1f, 0x8b] {
            return Err(match self.state {
                State::First => Error::unsafe_content("the content is not gzip").expected("gzip"),
                _ => trailing(begin),
            });
        }
        header.fields()?;
        self.headers = header.length();
        self.inflate.reset(false);
        self.crc.reset();
        self.member = 0;
        self.state = State::Inside;
        Ok(())
    }

    /// Inflates some bytes; none when a member ended.
    fn inflate(&mut self, target: &mut [u8]) -> Result<usize> {
        loop {
            let input = self.input.peek()?;
            let ended = input.is_empty();
            let (before_in, before_out) = (self.inflate.total_in(), self.inflate.total_out());
            let status = self
                .inflate
                .decompress(input, target, FlushDecompress::None)
                .map_err(|_| invalid(self.input.taken))?;
            let taken = self.inflate.total_in().saturating_sub(before_in);
            let given = self.inflate.total_out().saturating_sub(before_out);
            self.input.take(taken);
            let bytes = usize::try_from(given).unwrap_or(usize::MAX);
            let bytes = target.get(..bytes).unwrap_or_default();
            self.crc.update(bytes);
            self.member = self.member.saturating_add(given);
            self.expansion.add(taken, given)?;
            if status == Status::StreamEnd {
                self.end()?;
                return Ok(bytes.len());
            }
            if !bytes.is_empty() {
                return Ok(bytes.len());
            }
            if ended {
                return Err(self.input.cut_off());
            }
            if taken == 0 {
                return Err(invalid(self.input.taken));
            }
        }
    }

    /// Compares the trailer of a member with what came out.
    fn end(&mut self) -> Result<()> {
        let crc = u32::from_le_bytes(self.input.array()?);
        let size = u32::from_le_bytes(self.input.array()?);
        if crc != self.crc.sum() {
            let found = format_args!("{:08x}", self.crc.sum()).to_string();
            return Err(Error::mismatch(
                "checksum of the gzip content",
                format_args!("{crc:08x}"),
                found,
            ));
        }
        if size != self.crc.amount() {
            return Err(Error::mismatch(
                "size of the gzip content",
                size,
                self.crc.amount(),
            ));
        }
        if self.member >= SMALL_MEMBER {
            self.headers = 0;
        }
        self.state = State::Between;
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

/// Reads the fields of a header and counts them.
struct HeaderReader<'a, R: Read> {
    input: &'a mut Input<R>,
    crc: Crc,
    begin: u64,
    most: u64,
    /// What earlier headers count.
    before: u64,
}

impl<R: Read> HeaderReader<'_, R> {
    fn length(&self) -> u64 {
        let own = self.input.taken.saturating_sub(self.begin);
        own.saturating_add(self.before)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let bytes = self.input.array()?;
        self.crc.update(&bytes);
        if self.length() > self.most {
            return Err(Error::limit(Ceiling::GzipHeader, self.most, self.length()));
        }
        Ok(bytes)
    }

    /// Reads what follows the magic number.
    fn fields(&mut self) -> Result<()> {
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
struct Input<R: Read> {
    source: R,
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
    taken: u64,
}

impl<R: Read> Input<R> {
    fn new(source: R) -> Self {
        Self {
            source,
            buffer: vec![0; CHUNK].into(),
            start: 0,
            end: 0,
            taken: 0,
        }
    }

    /// Returns the bytes that come next, at least one unless it is the end.
    fn peek(&mut self) -> Result<&[u8]> {
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
    fn take(&mut self, count: u64) {
        let there = self.end.saturating_sub(self.start);
        let count = usize::try_from(count).unwrap_or(usize::MAX).min(there);
        self.start = self.start.saturating_add(count);
        self.taken = self.taken.saturating_add(count as u64);
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
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

    fn cut_off(&self) -> Error {
        Error::mismatch(
            "the gzip content is cut off",
            "its end",
            format_args!("nothing after byte {}", self.taken),
        )
    }
}

fn trailing(at: u64) -> Error {
    Error::unsafe_content(format!(
        "something that is not gzip follows the gzip content at byte {at}"
    ))
}

fn invalid(at: u64) -> Error {
    Error::unsafe_content(format!("the gzip content is not valid near byte {at}"))
}
