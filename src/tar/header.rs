//! One header block of an archive, read without any leniency that another reader might not share.

use std::borrow::Cow;

/// The size of a block.
pub(super) const BLOCK: usize = 512;

/// What writes a header and so decides what its bytes mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// POSIX: `ustar`, NUL, `00`; the name may have a prefix.
    Posix,
    /// GNU: `ustar`, two spaces, NUL; there is no prefix.
    Gnu,
}

/// What a header block says, as far as it matters to a tree of files.
#[derive(Debug)]
pub(super) struct Header<'a> {
    pub(super) dialect: Dialect,
    /// The type flag: `0` file, `5` directory, `x` and `g` PAX records, `L` a long name, and much that is refused.
    pub(super) flag: u8,
    pub(super) name: &'a [u8],
    pub(super) prefix: &'a [u8],
    pub(super) link: &'a [u8],
    pub(super) mode: u32,
    pub(super) size: u64,
}

/// Says why a header is refused; a fragment that follows the entry's name.
pub(super) type Fault = Cow<'static, str>;

impl<'a> Header<'a> {
    /// Reads a block that is not all zero.
    pub(super) fn parse(block: &'a [u8; BLOCK]) -> Result<Self, Fault> {
        let fields = Fields { block };
        // First, so that a damaged header is called damaged and not unusual.
        let sum = fields.number("checksum", 148, 8)?;
        if sum != fields.checksum() {
            return Err("has a header with a wrong checksum".into());
        }
        let dialect = match fields.bytes(257, 8) {
            b"ustar\x0000" => Dialect::Posix,
            b"ustar  \0" => Dialect::Gnu,
            _ => return Err("has a header that is neither POSIX nor GNU".into()),
        };
        let prefix = match dialect {
            Dialect::Posix => fields.text("prefix", 345, 155)?,
            // Incremental dumps keep times and maps here, and some readers take the bytes for a prefix even so.
            Dialect::Gnu if fields.bytes(345, 155).iter().all(|b| *b == 0) => &[],
            // Its map stands there; it is refused for what it is.
            Dialect::Gnu if block[156] == b'S' => &[],
            Dialect::Gnu => return Err("has the header of an incremental dump".into()),
        };
        if fields.bytes(500, 12).iter().any(|b| *b != 0) {
            return Err("has a header with data after its last field".into());
        }
        // Nobody's tree depends on these, but what is no number in them is a number to some readers and an error to others.
        let id = u64::from(u32::MAX);
        let time = i64::MAX.cast_unsigned();
        for (what, offset, width, most) in [
            ("user", 108, 8, id),
            ("group", 116, 8, id),
            ("time", 136, 12, time),
            ("device", 329, 8, id),
            ("device", 337, 8, id),
        ] {
            fields.any_number(what, offset, width, most)?;
        }
        let mode = fields.number("mode", 100, 8)? & 0o7777;
        Ok(Self {
            dialect,
            flag: block[156],
            name: fields.text("name", 0, 100)?,
            prefix,
            link: fields.text("link target", 157, 100)?,
            mode: u32::try_from(mode).unwrap_or(0o7777),
            size: fields.number("size", 124, 12)?,
        })
    }

    /// Says what an entry is that is neither a file nor a directory nor says something about one.
    pub(super) fn refused_kind(&self) -> Fault {
        let what = match self.flag {
            0 => "a file of the old type NUL",
            b'1' => "a hard link",
            b'2' => "a symbolic link",
            b'3' => "a character device",
            b'4' => "a block device",
            b'6' => "a named pipe",
            b'7' => "a contiguous file",
            b'A' => "an access control list",
            b'D' => "the listing of a directory",
            b'K' => "the long target of a link",
            b'M' => "the continuation of a file from another volume",
            b'N' => "a list of long names",
            b'S' => "a sparse file",
            b'V' => "the name of a volume",
            flag => return format!("is of the unknown type 0x{flag:02x}").into(),
        };
        format!("is {what}; only files and directories can be carried").into()
    }
}

/// The fields of a block by offset and width. All offsets here are constants inside the block.
#[derive(Clone, Copy)]
struct Fields<'a> {
    block: &'a [u8; BLOCK],
}

impl<'a> Fields<'a> {
    fn bytes(self, offset: usize, width: usize) -> &'a [u8] {
        self.block
            .get(offset..offset.saturating_add(width))
            .unwrap_or_default()
    }

    /// Returns the bytes up to the first NUL, after which nothing but NULs may come.
    fn text(self, what: &str, offset: usize, width: usize) -> Result<&'a [u8], Fault> {
        let bytes = self.bytes(offset, width);
        let end = bytes.iter().position(|b| *b == 0).unwrap_or(width);
        let (text, rest) = bytes.split_at(end);
        if rest.iter().any(|b| *b != 0) {
            return Err(format!("has a {what} that goes on after a NUL").into());
        }
        Ok(text)
    }

    /// Reads an octal number: spaces, digits, then nothing but spaces and NULs.
    fn number(self, what: &str, offset: usize, width: usize) -> Result<u64, Fault> {
        let field = self.bytes(offset, width);
        let digits = field.trim_ascii_start();
        let end = digits
            .iter()
            .position(|b| !(b'0'..=b'7').contains(b))
            .unwrap_or(digits.len());
        let (digits, rest) = digits.split_at(end);
        if digits.is_empty() || rest.iter().any(|b| !matches!(b, 0 | b' ')) {
            return Err(format!("has a {what} that is no octal number").into());
        }
        // At most twelve digits, so 36 bits.
        Ok(digits
            .iter()
            .fold(0, |value, digit| value << 3 | u64::from(digit & 7)))
    }

    /// Checks a number that may also be absent, or binary as GNU writes large ones, if it is not negative.
    fn any_number(self, what: &str, offset: usize, width: usize, most: u64) -> Result<(), Fault> {
        let field = self.bytes(offset, width);
        match field.split_first() {
            Some((0x80, rest)) => {
                let (high, low) = rest.split_at(rest.len().saturating_sub(8));
                let value = low.iter().fold(0, |value, b| value << 8 | u64::from(*b));
                if value > most || high.iter().any(|b| *b != 0) {
                    return Err(format!("has a {what} that is too large").into());
                }
                Ok(())
            }
            _ if field.iter().all(|b| *b == 0) => Ok(()),
            _ => self.number(what, offset, width).map(|_| ()),
        }
    }

    /// Adds up all bytes, the checksum itself counted as spaces. Only the unsigned sum is known here.
    fn checksum(self) -> u64 {
        let all: u64 = self.block.iter().map(|b| u64::from(*b)).sum();
        let own: u64 = self.bytes(148, 8).iter().map(|b| u64::from(*b)).sum();
        all.saturating_sub(own).saturating_add(8 * u64::from(b' '))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A good header; `change` may break it before the checksum is put in.
    fn block(change: impl Fn(&mut [u8; BLOCK])) -> [u8; BLOCK] {
        let mut block = [0; BLOCK];
        block[..4].copy_from_slice(b"name");
        block[100..108].copy_from_slice(b"0000644\0");
        block[108..116].copy_from_slice(b"0000000\0");
        block[116..124].copy_from_slice(b"0000000\0");
        block[124..136].copy_from_slice(b"00000000017\0");
        block[136..148].copy_from_slice(b"00000000000\0");
        block[156] = b'0';
        block[257..265].copy_from_slice(b"ustar\x0000");
        change(&mut block);
        sum(&mut block);
        block
    }

    fn sum(block: &mut [u8; BLOCK]) {
        block[148..156].fill(b' ');
        let sum: u64 = block.iter().map(|b| u64::from(*b)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }

    fn put(offset: usize, bytes: &'static [u8]) -> impl Fn(&mut [u8; BLOCK]) {
        move |block| block[offset..offset + bytes.len()].copy_from_slice(bytes)
    }

    #[test]
    fn what_honest_writers_write_is_read() {
        for change in [
            put(257, b"ustar  \0"),
            put(345, b"pre/fix"),
            put(100, b"100644 \0"),
            put(100, b"   644 \0"),
            put(124, b"         17 "),
            put(124, b"000000000017"),
            // A user number beyond octal, as GNU writes it.
            put(108, b"\x80\0\0\0\x3b\x9a\xca\0"),
            // The largest there is.
            put(108, b"\x80\0\0\0\xff\xff\xff\xff"),
            put(136, b"\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff"),
            put(136, b"\x80\0\0\0\0\0\0\x02\0\0\0\0"),
            put(108, b"\0\0\0\0\0\0\0\0"),
            put(329, b"0000000\x000000000\0"),
        ] {
            let block = block(change);
            let header = Header::parse(&block).unwrap();
            assert_eq!((header.name, header.size), (&b"name"[..], 15));
            assert_eq!(header.mode, 0o644);
        }
        let long = block(|b| b[..100].fill(b'x'));
        assert_eq!(Header::parse(&long).unwrap().name.len(), 100);
    }

    #[test]
    fn what_two_readers_could_read_differently_is_refused() {
        for (change, words) in [
            (put(4, b"\0x"), "name that goes on after a NUL"),
            (put(345, b"a\0b"), "prefix that goes on"),
            (put(157, b"a\0b"), "link target that goes on"),
            (put(257, b"\0\0\0\0\0\0\0\0"), "neither POSIX nor GNU"),
            (put(257, b"ustar\x0001"), "neither POSIX nor GNU"),
            (put(508, b"tar\0"), "after its last field"),
            (put(124, b"0000000001x\0"), "size that is no octal number"),
            (put(124, b"00000000018\0"), "size that is no octal number"),
            (put(124, b"-0000000001\0"), "size that is no octal number"),
            (
                put(124, b"\0\0\0\0\0\0\0\0\0\0\0\0"),
                "size that is no octal",
            ),
            (
                put(124, b"0000017\x00017\0"),
                "size that is no octal number",
            ),
            (
                put(124, b"\x80\0\0\0\0\0\0\0\0\0\0\x01"),
                "size that is no octal",
            ),
            (
                put(124, b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"),
                "size that",
            ),
            (put(100, b"rw-r--r-"), "mode that is no octal number"),
            (
                put(136, b"\xff\xff\xff\xff\x80\0\0\0\0\0\0\0"),
                "time that is no octal",
            ),
            (
                put(136, b"\x80\0\0\0\x80\0\0\0\0\0\0\0"),
                "time that is too large",
            ),
            (
                put(136, b"\x80\x01\0\0\0\0\0\0\0\0\0\0"),
                "time that is too large",
            ),
            (
                put(108, b"\xff\xff\xff\xff\xff\xff\xff\xff"),
                "user that is no octal",
            ),
            (put(108, b"\x80\0\0\x01\0\0\0\0"), "user that is too large"),
            (put(337, b"zzzzzzz\0"), "device that is no octal number"),
        ] {
            let block = block(change);
            let fault = Header::parse(&block).unwrap_err();
            assert!(fault.contains(words), "{fault}, not {words}");
        }
        let gnu = block(|b| {
            put(257, b"ustar  \0")(b);
            put(345, b"00000000000\0")(b);
        });
        assert!(Header::parse(&gnu).unwrap_err().contains("incremental"));
    }

    #[test]
    fn the_checksum_is_the_unsigned_one() {
        let mut wrong = block(|_| ());
        wrong[0] ^= 1;
        assert!(Header::parse(&wrong).unwrap_err().contains("checksum"));
        // The signed sum of a name with bytes over 127, which some readers take as well.
        let mut signed = block(put(0, b"\xc3\xa4"));
        assert!(Header::parse(&signed).is_ok());
        let sum: i64 = signed
            .iter()
            .enumerate()
            .map(|(at, b)| match at {
                148..156 => 32,
                _ => i64::from(b.cast_signed()),
            })
            .sum();
        signed[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        assert!(Header::parse(&signed).unwrap_err().contains("checksum"));
    }
}
