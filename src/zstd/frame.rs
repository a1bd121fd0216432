//! The header of a frame.

use crate::error::{Error, Kind, Result};

/// The largest window: 8 MiB, which every decoder must support and which bounds the memory.
pub(super) const WINDOW_MAX: u64 = 8 * 1024 * 1024;

/// The longest header after the magic number.
pub(super) const HEADER_MAX: usize = 14;

/// The magic number of a frame of content.
pub(super) const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// What a header says.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FrameHeader {
    /// How much content there is, if the header says so.
    pub(super) content: Option<u64>,
    pub(super) checksum: bool,
}

/// Returns the length of a header after the magic number from its first byte.
pub(super) fn length(descriptor: u8) -> usize {
    let (window, dictionary, content) = widths(descriptor);
    [window, dictionary, content]
        .into_iter()
        .fold(1, usize::saturating_add)
}

fn widths(descriptor: u8) -> (usize, usize, usize) {
    let single = descriptor & 0b10_0000 != 0;
    let dictionary = match descriptor & 0b11 {
        0 => 0,
        1 => 1,
        2 => 2,
        _ => 4,
    };
    let content = match descriptor >> 6 {
        0 => usize::from(single),
        1 => 2,
        2 => 4,
        _ => 8,
    };
    (usize::from(!single), dictionary, content)
}

/// Reads a header after the magic number; `bytes` are [`length`] of them.
pub(super) fn parse(bytes: &[u8]) -> Result<FrameHeader> {
    let fault = |why: &str| Err(Error::unsafe_content(format!("the zstd frame {why}")));
    let Some((&descriptor, rest)) = bytes.split_first() else {
        return fault("has no header");
    };
    if descriptor & 0b1_1000 != 0 {
        return fault("has a reserved bit set");
    }
    let (window_width, dictionary_width, content_width) = widths(descriptor);
    let (window, rest) = rest.split_at_checked(window_width).unwrap_or_default();
    let (dictionary, content) = rest.split_at_checked(dictionary_width).unwrap_or_default();
    if dictionary.iter().any(|b| *b != 0) {
        return fault("needs a dictionary");
    }
    let content = match content_width {
        0 => None,
        // Two bytes count from 256.
        2 => Some(little_endian(content).saturating_add(256)),
        _ => Some(little_endian(content)),
    };
    let window = match window.first() {
        Some(byte) => {
            let eighth = 1_u64 << u32::from(byte >> 3).saturating_add(7);
            eighth.saturating_mul(u64::from(byte & 0b111).saturating_add(8))
        }
        // One segment: the content is its own window.
        None => content.unwrap_or(0),
    };
    if window > WINDOW_MAX {
        return Err(Error::new(
            Kind::Limit,
            format!("the zstd frame needs a window of {window} bytes, the most is {WINDOW_MAX}"),
        )
        .expected(format!("at most {WINDOW_MAX}"))
        .found(window)
        .hint("compress it without --long or --ultra"));
    }
    Ok(FrameHeader {
        content,
        checksum: descriptor & 0b100 != 0,
    })
}

/// Reads at most eight bytes.
fn little_endian(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |value, byte| value << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_say_how_much_there_is_and_how_large_the_window_is() {
        for (bytes, content, checksum) in [
            (&b"\x20\x05"[..], Some(5), false),
            (b"\x24\x05", Some(5), true),
            (b"\x60\0\x01", Some(512), false),
            (b"\xa0\x05\0\0\0", Some(5), false),
            (b"\xe1\0\x05\0\0\0\0\0\0\0", Some(5), false),
            (b"\x04\x58", None, true),
            (b"\0\x68", None, false),
        ] {
            assert_eq!(length(bytes[0]), bytes.len());
            assert_eq!(parse(bytes).unwrap(), FrameHeader { content, checksum });
        }
    }

    #[test]
    fn large_windows_dictionaries_and_reserved_bits_are_refused() {
        for (bytes, kind) in [
            (&b"\0\x69"[..], Kind::Limit),
            (b"\0\xff", Kind::Limit),
            (b"\xa0\x01\0\x80\0", Kind::Limit),
            (b"\xe0\xff\xff\xff\xff\xff\xff\xff\xff", Kind::Limit),
            (b"\x21\x07\x05", Kind::Unsafe),
            (b"\x28\x05", Kind::Unsafe),
            (b"\x30\x05", Kind::Unsafe),
            (b"", Kind::Unsafe),
        ] {
            assert_eq!(parse(bytes).unwrap_err().kind(), kind, "{bytes:?}");
        }
    }

    #[test]
    fn the_first_byte_says_how_long_a_header_is() {
        for (descriptor, expected) in [
            (0b0000_0000, 2),
            (0b0010_0000, 2),
            (0b0010_0001, 3),
            (0b0010_0010, 4),
            (0b0010_0011, 6),
            (0b0100_0000, 4),
            (0b1000_0000, 6),
            (0b1110_0011, 13),
        ] {
            assert_eq!(length(descriptor), expected, "{descriptor:#b}");
        }
    }
}
