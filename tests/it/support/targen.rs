//! Archives byte by byte, right or wrong in any field. No library helps here: one that did would not let a test write
//! what no library writes.

const BLOCK: usize = 512;

/// An archive that is being put together.
#[derive(Clone, Default)]
pub(crate) struct TarGen {
    bytes: Vec<u8>,
}

impl TarGen {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds a regular file as an honest writer would.
    pub(crate) fn file(self, name: &str, data: &[u8]) -> Self {
        self.entry(Head::file(name, data.len() as u64), data)
    }

    /// Adds a directory as an honest writer would.
    pub(crate) fn dir(self, name: &str) -> Self {
        self.entry(Head::dir(name), b"")
    }

    /// Adds a header and data, which is padded; the header's size is what the header says.
    pub(crate) fn entry(self, head: Head, data: &[u8]) -> Self {
        self.raw(&head.block()).raw(data).pad()
    }

    /// Adds an `x` or `g` header with records of the right lengths.
    pub(crate) fn pax(self, flag: u8, records: &[(&str, &str)]) -> Self {
        let data: Vec<u8> = records.iter().flat_map(|(k, v)| record(k, v)).collect();
        self.pax_raw(flag, &data)
    }

    /// Adds an `x` or `g` header with any data.
    pub(crate) fn pax_raw(self, flag: u8, data: &[u8]) -> Self {
        let head = Head::file("PaxHeader", data.len() as u64).flag(flag);
        self.entry(head, data)
    }

    /// Adds the long name that GNU tar writes before an entry.
    pub(crate) fn gnu_name(self, name: &str) -> Self {
        let data = [name.as_bytes(), b"\0"].concat();
        let head = Head::file("././@LongLink", data.len() as u64);
        self.entry(head.flag(b'L').gnu(), &data)
    }

    /// Where the next entry begins.
    pub(crate) fn at(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Adds bytes as they are.
    pub(crate) fn raw(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// Adds whole blocks of zeros.
    pub(crate) fn zeros(self, blocks: usize) -> Self {
        self.raw(&vec![0; blocks * BLOCK])
    }

    /// Fills up to the next block.
    pub(crate) fn pad(mut self) -> Self {
        self.bytes
            .resize(self.bytes.len().next_multiple_of(BLOCK), 0);
        self
    }

    /// Adds the two blocks of zeros and returns the archive.
    pub(crate) fn end(self) -> Vec<u8> {
        self.zeros(2).bytes
    }

    /// Returns the archive without an end.
    pub(crate) fn open_end(self) -> Vec<u8> {
        self.bytes
    }
}

/// Returns a PAX record, which counts its own length.
pub(crate) fn record(key: &str, value: &str) -> Vec<u8> {
    let body = format!(" {key}={value}\n");
    let length = (body.len()..body.len() + 20)
        .find(|length| length.to_string().len() + body.len() == *length)
        .unwrap();
    format!("{length}{body}").into_bytes()
}

/// Returns the checksum of a header, as it is written there.
pub(crate) fn checksum(block: &[u8; BLOCK]) -> [u8; 8] {
    let (before, after) = (&block[..148], &block[156..]);
    let sum: u32 = before.iter().chain(after).map(|b| u32::from(*b)).sum();
    let text = format!("{:06o}\0 ", sum + 8 * u32::from(b' '));
    text.as_bytes().try_into().unwrap()
}

/// A header that is being put together; the checksum is put in last, unless it is given.
#[derive(Clone)]
pub(crate) struct Head {
    block: [u8; BLOCK],
    checksum: Option<[u8; 8]>,
}

impl Head {
    pub(crate) fn file(name: &str, size: u64) -> Self {
        let head = Self {
            block: [0; BLOCK],
            checksum: None,
        };
        head.name(name.as_bytes())
            .field(100, b"0000644\0")
            .field(108, b"0000000\0")
            .field(116, b"0000000\0")
            .size(size)
            .field(136, b"00000000000\0")
            .flag(b'0')
            .field(257, b"ustar\x0000")
            .field(329, b"0000000\x000000000\0")
    }

    pub(crate) fn dir(name: &str) -> Self {
        Self::file(name, 0).flag(b'5').mode(0o755)
    }

    /// Overwrites bytes at an offset.
    pub(crate) fn field(mut self, offset: usize, bytes: &[u8]) -> Self {
        self.block[offset..offset + bytes.len()].copy_from_slice(bytes);
        self
    }

    /// Puts the first 100 bytes of a name in, as honest writers do with one that is too long.
    pub(crate) fn name(mut self, name: &[u8]) -> Self {
        self.block[..100].fill(0);
        self.field(0, &name[..name.len().min(100)])
    }

    pub(crate) fn prefix(self, prefix: &str) -> Self {
        self.field(345, prefix.as_bytes())
    }

    pub(crate) fn link(self, target: &str) -> Self {
        self.field(157, target.as_bytes())
    }

    pub(crate) fn flag(self, flag: u8) -> Self {
        self.field(156, &[flag])
    }

    pub(crate) fn mode(self, mode: u32) -> Self {
        self.field(100, format!("{mode:07o}\0").as_bytes())
    }

    pub(crate) fn size(self, size: u64) -> Self {
        self.field(124, format!("{size:011o}\0").as_bytes())
    }

    /// Makes it a header of GNU's dialect.
    pub(crate) fn gnu(self) -> Self {
        self.field(257, b"ustar  \0")
    }

    pub(crate) fn checksum(mut self, checksum: [u8; 8]) -> Self {
        self.checksum = Some(checksum);
        self
    }

    pub(crate) fn block(self) -> [u8; BLOCK] {
        let mut block = self.block;
        let checksum = self.checksum.unwrap_or_else(|| checksum(&block));
        block[148..156].copy_from_slice(&checksum);
        block
    }
}
