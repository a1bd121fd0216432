//! The writer.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write};

use tar::{EntryType, Header};

use super::header::BLOCK;
use crate::content::{CHUNK, Content};
use crate::error::{Error, Result};
use crate::limits::Ceiling;
use crate::path::BundlePath;
use crate::tree::Tree;

/// The largest file that a header can state in octal digits.
const SIZE_MAX: u64 = 0o777_7777_7777;

/// Writes an archive of files and the directories that hold them, and its end.
///
/// The bytes depend on nothing but the paths and contents (P2): entries are sorted by the bytes of their names, a
/// directory's name ends with `/`, files are 0644 and directories 0755, there are no owners and no times.
///
/// # Errors
///
/// [`crate::Kind::Unsafe`] for paths that exclude each other, and what reading or writing fails with; what was written
/// by then is no archive.
pub fn write(files: &BTreeMap<BundlePath, Content>, out: &mut dyn Write) -> Result<()> {
    let mut buffer = vec![0; CHUNK];
    for (name, content) in entries(files)? {
        match content {
            None => begin(out, &name, EntryType::Directory, 0o755, 0).map_err(cannot_write)?,
            Some(content) => {
                let size = content.len();
                if size > SIZE_MAX {
                    return Err(Error::limit(Ceiling::File, SIZE_MAX, size).file(name));
                }
                begin(out, &name, EntryType::Regular, 0o644, size).map_err(cannot_write)?;
                copy(content, &name, out, &mut buffer)?;
                pad(out, size).map_err(cannot_write)?;
            }
        }
    }
    out.write_all(&[0; 2 * BLOCK]).map_err(cannot_write)
}

/// Returns the entries by their names as they are written, in order.
fn entries(files: &BTreeMap<BundlePath, Content>) -> Result<BTreeMap<String, Option<&Content>>> {
    let mut tree = Tree::default();
    let mut entries = BTreeMap::new();
    for (path, content) in files {
        // What this refuses, the reader would refuse (P3).
        tree.file(path)?;
        entries.insert(path.to_string(), Some(content));
        let mut above = path.parent();
        while let Some(directory) = above {
            if entries.insert(format!("{directory}/"), None).is_some() {
                break;
            }
            above = directory.parent();
        }
    }
    Ok(entries)
}

/// Writes the headers of an entry.
fn begin(out: &mut dyn Write, name: &str, kind: EntryType, mode: u32, size: u64) -> io::Result<()> {
    let mut header = header(kind, mode, size);
    if let Some((prefix, rest)) = split(name) {
        put_name(&mut header, prefix, rest);
    } else {
        let record = record("path", name);
        let mut extension = self::header(EntryType::XHeader, 0o644, record.len() as u64);
        put_name(&mut extension, "", "././@PaxHeader");
        out.write_all(extension.as_bytes())?;
        out.write_all(record.as_bytes())?;
        pad(out, record.len() as u64)?;
        put_name(&mut header, "", &fallback(name));
    }
    out.write_all(header.as_bytes())
}

fn header(kind: EntryType, mode: u32, size: u64) -> Header {
    let mut header = Header::new_ustar();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_mtime(0);
    header.set_size(size);
    header
}

/// Puts name and checksum in; both parts fit.
fn put_name(header: &mut Header, prefix: &str, name: &str) {
    if let Some(ustar) = header.as_ustar_mut() {
        for (field, text) in [(&mut ustar.name[..], name), (&mut ustar.prefix[..], prefix)] {
            for (slot, byte) in field.iter_mut().zip(text.bytes()) {
                *slot = byte;
            }
        }
    }
    header.set_cksum();
}

/// Splits a name into prefix and name as POSIX has them, as late as possible, as GNU tar does; nothing if it does not fit.
///
/// Only ASCII fits: what other bytes mean there is up to each system, while a PAX record is UTF-8 everywhere.
fn split(name: &str) -> Option<(&str, &str)> {
    const NAME: usize = 100;
    const PREFIX: usize = 155;
    if !name.is_ascii() {
        return None;
    }
    if name.len() <= NAME {
        return Some(("", name));
    }
    let slashes = name.bytes().enumerate().filter(|(_, b)| *b == b'/');
    let at = slashes
        .map(|(at, _)| at)
        .take_while(|at| *at <= PREFIX && at.saturating_add(1) < name.len())
        .last()?;
    let (prefix, rest) = name.split_at_checked(at)?;
    let rest = rest.get(1..)?;
    (rest.len() <= NAME).then_some((prefix, rest))
}

/// Returns what a reader that knows no PAX shall call an entry: its last component, in ASCII and cut.
fn fallback(name: &str) -> String {
    let (path, end) = match name.strip_suffix('/') {
        Some(path) => (path, "/"),
        None => (name, ""),
    };
    let last = path.rsplit('/').next().unwrap_or(path);
    let ascii = last.chars().map(|c| if c.is_ascii() { c } else { '_' });
    let mut short: String = ascii.take(99).collect();
    short.push_str(end);
    short
}

/// Writes a PAX record, whose length counts its own digits.
fn record(key: &str, value: &str) -> String {
    // ` KEY=VALUE\n`
    let rest = key.len().saturating_add(value.len()).saturating_add(3);
    let mut length = rest;
    loop {
        let with_digits = rest.saturating_add(length.to_string().len());
        if with_digits == length {
            return format!("{length} {key}={value}\n");
        }
        length = with_digits;
    }
}

/// Copies a content, which must have as many bytes as it says.
fn copy(content: &Content, name: &str, out: &mut dyn Write, buffer: &mut [u8]) -> Result<()> {
    let cannot_read =
        |error| Error::from_io(format_args!("cannot read `{name}`"), error).file(name);
    let mut reader = content.reader();
    while reader.position() < content.len() {
        let read = reader.read(buffer).map_err(cannot_read)?;
        if read == 0 {
            return Err(cannot_read(io::ErrorKind::UnexpectedEof.into()));
        }
        out.write_all(buffer.get(..read).unwrap_or_default())
            .map_err(cannot_write)?;
    }
    Ok(())
}

fn pad(out: &mut dyn Write, size: u64) -> io::Result<()> {
    let over = usize::try_from(size.rem_euclid(BLOCK as u64)).unwrap_or(0);
    let padding = BLOCK.saturating_sub(over) & (BLOCK - 1);
    out.write_all([0; BLOCK].get(..padding).unwrap_or_default())
}

fn cannot_write(error: io::Error) -> Error {
    Error::from_io("cannot write the archive", error)
}
