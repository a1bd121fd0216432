//! The strict reader: members in a row and nothing else, every checksum compared, growth bounded.

use std::io::{self, Read};

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::header::{HeaderReader, Input};
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
    own_header: u64,
    crc: Crc,
    /// What came out of this member.
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
            own_header: 0,
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
        let headers = header.length();
        self.own_header = headers.saturating_sub(self.headers);
        self.headers = headers;
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
            self.headers = self.headers.saturating_sub(self.own_header);
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

fn trailing(at: u64) -> Error {
    Error::unsafe_content(format!(
        "something that is not gzip follows the gzip content at byte {at}"
    ))
}

fn invalid(at: u64) -> Error {
    Error::unsafe_content(format!("the gzip content is not valid near byte {at}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;
    use crate::gzip::Writer;
    use std::io::Write as _;

    fn member(data: &[u8]) -> Vec<u8> {
        let mut writer = Writer::new(Vec::new(), 1);
        writer.write_all(data).unwrap();
        writer.finish().unwrap()
    }

    /// A member with header fields: flags, and what follows the fixed part.
    fn with_fields(flags: u8, fields: &[u8]) -> Vec<u8> {
        let plain = member(b"hello");
        let mut bytes = plain[..10].to_vec();
        bytes[3] = flags;
        bytes.extend_from_slice(fields);
        bytes.extend_from_slice(&plain[10..]);
        bytes
    }

    fn read_with(bytes: &[u8], limits: &Limits) -> Result<Vec<u8>> {
        let mut found = Vec::new();
        let mut reader = Reader::new(bytes, limits);
        match reader.read_to_end(&mut found) {
            Ok(_) => Ok(found),
            Err(error) => Err(Error::from_io("cannot read", error)),
        }
    }

    fn read(bytes: &[u8]) -> Result<Vec<u8>> {
        read_with(bytes, &Limits::default())
    }

    #[test]
    fn members_in_a_row_are_one_content() {
        let hello = member(b"hello ");
        let header_checksum = {
            let mut crc = Crc::new();
            crc.update(&[0x1f, 0x8b, 8, 0b10, 0, 0, 0, 0, 0, 255]);
            crc.sum().to_le_bytes()
        };
        for (bytes, want) in [
            (member(b""), &b""[..]),
            (hello.clone(), b"hello "),
            ([hello.clone(), member(b"world")].concat(), b"hello world"),
            (
                [member(b""), hello.clone(), member(b"")].concat(),
                b"hello ",
            ),
            (with_fields(0b1_1000, b"name\0comment\0"), b"hello"),
            (with_fields(0b100, b"\x03\0abc"), b"hello"),
            (with_fields(0b1, b""), b"hello"),
            (with_fields(0b10, &header_checksum[..2]), b"hello"),
        ] {
            assert_eq!(read(&bytes).unwrap(), want);
        }
        let large: Vec<u8> = (0..3_000_000_u32).flat_map(u32::to_le_bytes).collect();
        assert!(read(&member(&large)).unwrap() == large);
    }

    #[test]
    fn what_is_not_gzip_or_not_only_gzip_is_refused() {
        let hello = member(b"hello");
        let after = |bytes: &[u8]| [&hello, bytes].concat();
        let changed = |at: usize, byte: u8| {
            let mut bytes = hello.clone();
            bytes[at] = byte;
            bytes
        };
        let mut archive = vec![0; 512];
        archive[257..262].copy_from_slice(b"ustar");
        for (bytes, words) in [
            (Vec::new(), "it looks like nothing at all"),
            (b"<html>".to_vec(), "it looks like HTML"),
            (b"\xfd7zXZ\0".to_vec(), "it looks like xz"),
            (b"BZh91AY".to_vec(), "it looks like bzip2"),
            (b"PK\x03\x04".to_vec(), "it looks like zip"),
            (b"\x28\xb5\x2f\xfd".to_vec(), "it looks like zstd"),
            (archive, "it looks like an uncompressed tar archive"),
            (b"\x1f\x9d".to_vec(), "the content is not gzip"),
            (after(b"GARBAGE"), "something that is not gzip follows"),
            (after(&[0; 512]), "something that is not gzip follows"),
            (after(b"\0"), "at byte 25"),
            (after(b"\x1f\x00"), "something that is not gzip follows"),
            (changed(2, 7), "unknown method 7"),
            (changed(3, 0b10_0000), "reserved flags"),
            (changed(3, 0b1000_0000), "reserved flags"),
            (changed(10, 0b111), "not valid near byte"),
        ] {
            let error = read(&bytes).unwrap_err();
            assert_eq!(error.kind(), Kind::Unsafe, "{error}");
            assert!(error.message().contains(words), "{error}, not: {words}");
        }
    }

    #[test]
    fn what_is_cut_off_or_has_a_wrong_checksum_is_a_mismatch() {
        let whole = with_fields(0b1_1100, b"\x03\0abcname\0comment\0");
        for cut in 1..whole.len() {
            let error = read(&whole[..cut]).unwrap_err();
            assert_eq!(error.kind(), Kind::Mismatch, "{cut}: {error}");
        }
        let two = [member(b"hello"), member(b"world")].concat();
        for cut in 26..two.len() {
            let error = read(&two[..cut]).unwrap_err();
            assert_eq!(error.kind(), Kind::Mismatch, "{cut}: {error}");
        }
        for at in 1..=8 {
            let mut bytes = whole.clone();
            let at = bytes.len() - at;
            bytes[at] ^= 1;
            assert_eq!(read(&bytes).unwrap_err().kind(), Kind::Mismatch);
        }
        let error = read(&with_fields(0b10, b"\0\0")).unwrap_err();
        assert!(error.message().starts_with("checksum of the gzip header"));
    }

    #[test]
    fn growth_ends_at_the_ceilings() {
        let zeros = |len: usize| member(&vec![0; len]);
        let mib = 1024 * 1024;
        let refused = |bytes: &[u8], limits: &Limits, words: &str| {
            let error = read_with(bytes, limits).unwrap_err();
            assert_eq!(error.kind(), Kind::Limit, "{error}");
            assert!(error.message().starts_with(words), "{error}, not: {words}");
        };
        // Zeros shrink a thousandfold; only after 8 MiB does that matter.
        let limits = Limits::default();
        assert_eq!(read(&zeros(8 * mib)).unwrap().len(), 8 * mib);
        refused(&zeros(9 * mib), &limits, "limit `ratio` = 200");
        let bomb = zeros(16 * mib);
        let ratio = (16 * mib as u64).div_ceil(bomb.len() as u64);
        let limits = limits.with(Ceiling::Ratio, ratio + 100);
        assert!(read_with(&bomb, &limits).is_ok());

        let limits = Limits::default().with(Ceiling::Unpacked, 1000);
        assert!(read_with(&zeros(1000), &limits).is_ok());
        refused(&zeros(1001), &limits, "limit `unpacked` = 1000");
        refused(
            &[zeros(600), zeros(600)].concat(),
            &limits,
            "limit `unpacked`",
        );

        let name = |len: usize| with_fields(0b1000, &[vec![b'x'; len], vec![0]].concat());
        assert!(read(&name(65_536 - 11)).is_ok());
        refused(
            &name(65_536 - 10),
            &Limits::default(),
            "limit `gzip-header` = 65536",
        );
        let endless = [&member(b"x")[..3], &[0b1000], &vec![b'x'; 100_000][..]].concat();
        refused(&endless, &Limits::default(), "limit `gzip-header`");
    }

    #[test]
    fn members_that_hold_nothing_come_to_an_end() {
        let refused = read(&member(b"").repeat(1_000_000)).unwrap_err();
        assert_eq!(refused.kind(), Kind::Limit, "{refused}");
        assert!(read(&member(b"").repeat(6_000)).unwrap().is_empty());
        let mixed = [member(b"").repeat(4_000), member(&[b'x'; 512])].concat();
        assert!(read(&mixed).is_ok());
        let refused = read(&mixed.repeat(2)).unwrap_err();
        assert_eq!(refused.kind(), Kind::Limit, "{refused}");
        // As many members as one likes, if there is something in them.
        let many = member(&[b'x'; 512]).repeat(10_000);
        assert_eq!(read(&many).unwrap().len(), 512 * 10_000);
    }

    #[test]
    fn an_error_of_the_source_is_passed_on() {
        struct Failing;
        impl Read for Failing {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(Error::new(Kind::Unreachable, "gone").into_io())
            }
        }
        let mut reader = Reader::new(Failing, &Limits::default());
        let error = reader.read(&mut [0; 10]).unwrap_err();
        assert_eq!(Error::from_io("x", error).kind(), Kind::Unreachable);
    }

    #[test]
    fn an_interrupted_source_is_asked_again() {
        struct Interrupted<'a>(&'a [u8], bool);
        impl Read for Interrupted<'_> {
            fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
                self.1 = !self.1;
                if self.1 {
                    return Err(io::ErrorKind::Interrupted.into());
                }
                let target = target.get_mut(..1).unwrap();
                self.0.read(target)
            }
        }
        let packed = member(b"hello");
        let mut reader = Reader::new(Interrupted(&packed, false), &Limits::default());
        let mut found = Vec::new();
        reader.read_to_end(&mut found).unwrap();
        assert_eq!(found, b"hello");
    }
}
