//! Frames as honest writers and others write them.

use super::*;
use crate::limits::Ceiling;

/// A frame that states how much it holds, in one raw block.
fn frame(data: &[u8]) -> Vec<u8> {
    let size = u32::try_from(data.len()).unwrap();
    let block = size << 3 | 1;
    [
        &MAGIC[..],
        &[0xa0],
        &size.to_le_bytes(),
        &block.to_le_bytes()[..3],
        data,
    ]
    .concat()
}

/// A frame of one block that repeats a byte, with a window of 8 MiB.
fn run(byte: u8, blocks: u32) -> Vec<u8> {
    let mut bytes = [&MAGIC[..], &[0, 0x68]].concat();
    for n in 1..=blocks {
        let block = (128 * 1024) << 3 | 0b10 | u32::from(n == blocks);
        bytes.extend_from_slice(&block.to_le_bytes()[..3]);
        bytes.push(byte);
    }
    bytes
}

fn skippable(data: &[u8]) -> Vec<u8> {
    let size = u32::try_from(data.len()).unwrap();
    [&[0x5a, 0x2a, 0x4d, 0x18], &size.to_le_bytes()[..], data].concat()
}

fn read_with(bytes: &[u8], limits: &Limits) -> Result<Vec<u8>> {
    let mut found = Vec::new();
    match Reader::new(bytes, limits).read_to_end(&mut found) {
        Ok(_) => Ok(found),
        Err(error) => Err(Error::from_io("cannot read", error)),
    }
}

fn read(bytes: &[u8]) -> Result<Vec<u8>> {
    read_with(bytes, &Limits::default())
}

#[test]
fn frames_in_a_row_are_one_content() {
    for (bytes, want) in [
        (frame(b"hello"), &b"hello"[..]),
        (frame(b""), b""),
        (
            [frame(b"hello "), skippable(b"x"), frame(b"world")].concat(),
            b"hello world",
        ),
        (
            [skippable(b""), frame(b"a"), skippable(&vec![7; 100_000])].concat(),
            b"a",
        ),
    ] {
        assert_eq!(read(&bytes).unwrap(), want);
    }
    assert_eq!(read(&run(b'x', 3)).unwrap(), vec![b'x'; 3 * 128 * 1024]);
}

#[test]
fn what_is_not_zstd_or_lies_about_itself_is_refused() {
    let changed = |at: usize, byte: u8| {
        let mut bytes = frame(b"hello");
        bytes[at] = byte;
        bytes
    };
    let mut lie = frame(b"hello");
    lie.splice(4..5, [0x80, 0]);
    lie[6] = 4;
    for (bytes, words) in [
        (Vec::new(), "it looks like nothing"),
        (b"\x1f\x8b\x08\0".to_vec(), "it looks like gzip"),
        (b"{}".to_vec(), "it looks like JSON"),
        (skippable(b"only"), "there is no content"),
        (
            [skippable(b"x"), b"JUNK".to_vec()].concat(),
            "follows the zstd content at byte 9",
        ),
        (
            [frame(b"a"), b"JUNK".to_vec()].concat(),
            "follows the zstd content at byte",
        ),
        (
            [frame(b"a"), vec![0; 512]].concat(),
            "follows the zstd content",
        ),
        (changed(5, 6), "says that it holds 6 bytes and holds 5"),
        (lie, "says that it holds 4 bytes and holds more"),
        (changed(5, 4), "not valid before byte"),
        (changed(9, 0x2f), "not valid before byte"),
    ] {
        let error = read(&bytes).unwrap_err();
        assert_eq!(error.kind(), Kind::Unsafe, "{error}");
        assert!(error.message().contains(words), "{error}, not: {words}");
    }
}

#[test]
fn what_is_cut_off_or_has_a_wrong_checksum_is_a_mismatch() {
    let whole = [skippable(b"abc"), frame(b"hello")].concat();
    for cut in (1..whole.len()).filter(|cut| *cut != 11) {
        let error = read(&whole[..cut]).unwrap_err();
        assert_eq!(error.kind(), Kind::Mismatch, "{cut}: {error}");
    }
    // The checksum of nothing is the low half of ef46db3751d8e999.
    let empty = |sum: [u8; 4]| [&MAGIC[..], &[0x24, 0, 1, 0, 0], &sum].concat();
    assert!(read(&empty([0x99, 0xe9, 0xd8, 0x51])).unwrap().is_empty());
    let error = read(&empty([0x99, 0xe9, 0xd8, 0x50])).unwrap_err();
    assert_eq!(error.kind(), Kind::Mismatch);
    assert!(error.message().contains("50d8e999"), "{error}");
}

#[test]
fn growth_ends_at_the_ceilings() {
    for (bytes, limits, words) in [
        (run(0, 100), Limits::default(), "limit `ratio` = 200"),
        (
            run(0, 5_000),
            Limits::default().with(Ceiling::Ratio, 1_000_000),
            "limit `unpacked`",
        ),
        (
            frame(&[7; 1001]),
            Limits::default().with(Ceiling::Unpacked, 1000),
            "limit `unpacked` = 1000",
        ),
        (
            frame(b"").repeat(2_000),
            Limits::default(),
            "the zstd content has more than 1000 frames",
        ),
        (
            skippable(b"").repeat(2_000),
            Limits::default(),
            "the zstd content has more than",
        ),
    ] {
        let error = read_with(&bytes, &limits).unwrap_err();
        assert_eq!(error.kind(), Kind::Limit, "{error}");
        assert!(error.message().starts_with(words), "{error}, not: {words}");
    }
    let limits = Limits::default().with(Ceiling::Unpacked, 1000);
    assert!(read_with(&frame(&[7; 1000]), &limits).is_ok());
}

/// Gives a byte at a time, after an interruption each, and fails in the end.
struct Slow<'a>(&'a [u8], bool);

impl Read for Slow<'_> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        self.1 = !self.1;
        if self.1 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        if self.0.is_empty() {
            return Err(Error::new(Kind::Unreachable, "gone").into_io());
        }
        self.0.read(target.get_mut(..1).unwrap())
    }
}

#[test]
fn an_interrupted_source_is_asked_again_and_the_error_of_a_failed_one_is_passed_on() {
    let whole = [skippable(b"abc"), frame(b"hello")].concat();
    for end in 0..=whole.len() {
        let mut found = Vec::new();
        let source = Slow(&whole[..end], false);
        let error = Reader::new(source, &Limits::default()).read_to_end(&mut found);
        let error = Error::from_io("x", error.unwrap_err());
        assert_eq!(error.kind(), Kind::Unreachable, "{end}: {error}");
        let wanted: &[u8] = if end == whole.len() { b"hello" } else { b"" };
        assert_eq!(found, wanted, "{end}");
    }
}

#[test]
fn so_many_empty_frames_may_be_there_and_no_more() {
    let empty = usize::try_from(EMPTY_FRAMES).unwrap();
    let with = |count| [skippable(b"").repeat(count), frame(b"a")].concat();
    assert_eq!(read(&with(empty)).unwrap(), b"a");
    assert_eq!(read(&with(empty + 1)).unwrap_err().kind(), Kind::Limit);
}
