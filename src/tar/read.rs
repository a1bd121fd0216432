//! The strict reader.
//!
//! An entry is one header, before which may stand one PAX header or one long name of GNU's, never both and never two.
//! The archive ends with two blocks of zeros, after which only zeros come.

use std::borrow::Cow;
use std::io::{self, Read};

use super::header::{BLOCK, Dialect, Fault, Header};
use super::input::{Input, Padding};
use super::pax;
use super::{Entry, EntryKind, Rules};
use crate::content::Content;
use crate::error::{Error, Kind, Result};
use crate::escape::shown_bytes;
use crate::limits::Ceiling;
use crate::path::BundlePath;
use crate::tree::Tree;

/// The most zeros that may follow an archive; writers fill up to a record, which is 10 KiB and rarely more.
const TRAILING: u64 = 1024 * 1024;

/// How much of a name a message shows, in bytes: so much that the place behind it is not cut off.
const NAME_SHOWN: usize = 256;

/// Reads the entries of an archive one after the other.
pub struct Reader<'a> {
    input: Input<'a>,
    rules: Rules<'a>,
    tree: Tree,
    /// The whiteouts, which exclude each other as entries do, and of entries only their own paths.
    removed: Tree,
    /// What stood before the next entry and is about it.
    extension: Option<Extension>,
    /// The bytes of extension headers since the last entry.
    row: u64,
    entries: u64,
    total: u64,
    /// The root may have an entry of its own, with this mode.
    root: Option<u32>,
}

/// What an extension header says about the entry that follows.
enum Extension {
    Pax(pax::Local),
    LongName(Vec<u8>),
}

impl std::fmt::Debug for Reader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Reader(at byte {})", self.input.position())
    }
}

/// Where an entry is and what it is called, for messages.
struct Place<'a> {
    name: &'a [u8],
    at: u64,
}

impl Place<'_> {
    fn text(&self) -> String {
        let whole = shown_bytes(self.name);
        let begin = whole.char_indices().take_while(|(at, _)| *at < NAME_SHOWN);
        let mut name: String = begin.map(|(_, c)| c).collect();
        if name.len() < whole.len() {
            name.push('…');
        }
        format!("entry `{name}` at byte {}", self.at)
    }

    /// Says in which entry a decompressor stopped.
    fn failed(&self, error: io::Error) -> Error {
        match cannot_read(error) {
            error if error.kind() == Kind::Io => error,
            error => self.locate(error),
        }
    }

    fn fault(&self, fault: impl AsRef<str>) -> Error {
        Error::unsafe_content(format!("{} {}", self.text(), fault.as_ref())).file(self.file())
    }

    fn locate(&self, error: Error) -> Error {
        error.at(self.text()).file(self.file())
    }

    fn file(&self) -> String {
        shown_bytes(self.name)
    }
}

impl<'a> Reader<'a> {
    /// Reads an archive that is decompressed while it is read.
    pub fn new(source: &'a mut dyn Read, rules: Rules<'a>) -> Self {
        Self::with(Input::stream(source), rules)
    }

    /// Reads an archive that can be jumped in, without reading the contents of files.
    pub fn over(content: &Content, rules: Rules<'a>) -> Self {
        Self::with(Input::content(content), rules)
    }

    fn with(input: Input<'a>, rules: Rules<'a>) -> Self {
        Self {
            input,
            rules,
            tree: Tree::default(),
            removed: Tree::default(),
            extension: None,
            row: 0,
            entries: 0,
            total: 0,
            root: None,
        }
    }

    /// Counts what other archives of the same bundle held against the ceilings.
    #[must_use]
    pub fn after(mut self, entries: u64, total: u64) -> Self {
        self.entries = entries;
        self.total = total;
        self
    }

    /// Returns how many entries and bytes of files were read, those of [`Reader::after`] among them.
    pub fn so_far(&self) -> (u64, u64) {
        (self.entries, self.total)
    }

    /// Returns the next entry, whose content was passed over, or nothing once the whole archive was read and was right.
    ///
    /// # Errors
    ///
    /// [`crate::Kind::Mismatch`] for an archive that was cut off, [`crate::Kind::Limit`] above a ceiling,
    /// [`crate::Kind::Unsafe`] for everything else that is not as it must be, and what the source fails with. After an
    /// error the reader is useless.
    pub fn next_entry(&mut self) -> Result<Option<Entry>> {
        loop {
            let at = self.input.position();
            let Some(block) = self.block(at)? else {
                return Err(Error::unsafe_content(format!(
                    "the archive ends at byte {at} without the two blocks of zeros that end an archive"
                )));
            };
            if is_zero(&block) {
                self.end(at)?;
                return Ok(None);
            }
            let name = block.split(|b| *b == 0).next().unwrap_or_default();
            let place = Place {
                name: name.get(..100).unwrap_or(name),
                at,
            };
            let header = Header::parse(&block).map_err(|fault| place.fault(fault))?;
            match header.flag {
                b'0' | b'5' => {
                    if let Some(entry) = self.entry(&header, at)? {
                        return Ok(Some(entry));
                    }
                }
                b'x' | b'g' | b'L' => self.extend(&header, &place)?,
                _ => return Err(self.refused_kind(&header, at)),
            }
        }
    }

    /// Reads a whole block, or nothing at the end.
    fn block(&mut self, at: u64) -> Result<Option<[u8; BLOCK]>> {
        let mut block = [0; BLOCK];
        let filled = self.input.fill(&mut block);
        match filled.map_err(|error| failed_at(at, error))? {
            0 => Ok(None),
            BLOCK => Ok(Some(block)),
            found => Err(Error::mismatch(
                &format!("the archive is cut off in the block at byte {at}"),
                format_args!("{BLOCK} bytes"),
                found,
            )),
        }
    }

    /// Reads the end of the archive, whose first block of zeros was read.
    fn end(&mut self, at: u64) -> Result<()> {
        if self.row > 0 {
            return Err(Error::unsafe_content(format!(
                "the archive ends at byte {at} after an extension header that belongs to no entry"
            )));
        }
        let at = self.input.position();
        match self.block(at)? {
            Some(second) if is_zero(&second) => {}
            Some(_) => {
                return Err(Error::unsafe_content(format!(
                    "at byte {at}, data follows a single block of zeros: to some readers the archive ends there"
                )));
            }
            None => {
                return Err(Error::unsafe_content(format!(
                    "the archive ends at byte {at} after one block of zeros, where there must be two"
                )));
            }
        }
        let at = self.input.position();
        let zeros = self.input.zeros_to_the_end(TRAILING);
        if !zeros.map_err(|error| failed_at(at, error))? {
            return Err(Error::unsafe_content(format!(
                "the archive ended at byte {at}, and more than zeros, or too many of them, follow"
            )));
        }
        Ok(())
    }

    /// Reads an extension header and keeps what it says for the next entry.
    fn extend(&mut self, header: &Header<'_>, place: &Place<'_>) -> Result<()> {
        let gnu = header.flag == b'L';
        if gnu != (header.dialect == Dialect::Gnu) {
            return Err(place.fault("is an extension header of one dialect in the form of another"));
        }
        if self.extension.is_some() {
            return Err(place.fault("is a second extension header for one entry"));
        }
        let limits = self.rules.limits;
        let whole = header.size.saturating_add(BLOCK as u64);
        self.row = self.row.saturating_add(whole);
        for (ceiling, found) in [
            (Ceiling::ArchiveHeader, header.size),
            (Ceiling::ArchiveHeaders, self.row),
        ] {
            if found > limits[ceiling] {
                return Err(place.locate(Error::limit(ceiling, limits[ceiling], found)));
            }
        }
        // Small enough for memory: the ceiling was checked.
        let mut data = vec![0; usize::try_from(header.size).unwrap_or(0)];
        let found = self.input.fill(&mut data);
        let found = found.map_err(|error| place.failed(error))?;
        self.after_data(place, header.size, found as u64)?;
        let fault = |fault: Fault| place.fault(fault);
        match header.flag {
            b'g' => pax::global(&data).map_err(fault)?,
            b'x' => self.extension = Some(Extension::Pax(pax::local(&data).map_err(fault)?)),
            _ => {
                // The name ends with a NUL as GNU writes it, or without.
                let name = data.strip_suffix(b"\0").unwrap_or(&data);
                if name.is_empty() || name.contains(&0) {
                    return Err(place.fault("is a long name that is empty or has a NUL inside"));
                }
                self.extension = Some(Extension::LongName(name.to_vec()));
            }
        }
        Ok(())
    }

    /// Reads a file or directory; nothing for one that is there already.
    fn entry(&mut self, header: &Header<'_>, at: u64) -> Result<Option<Entry>> {
        let extension = self.extension.take();
        self.row = 0;
        let raw = raw_name(header, extension.as_ref());
        let place = Place {
            name: raw.as_deref().unwrap_or(header.name),
            at,
        };
        let raw = raw.as_deref().map_err(|fault| place.fault(fault))?;
        self.count(header, &place)?;
        let directory = header.flag == b'5';
        if directory && header.size > 0 {
            return Err(place.fault("is a directory with content"));
        }
        if let Some(Extension::Pax(pax::Local {
            size: Some(size), ..
        })) = extension
            && size != header.size
        {
            return Err(place.fault(format!("has two sizes, {} and {size}", header.size)));
        }
        if !header.link.is_empty() {
            return Err(place.fault("has the target of a link, and is none"));
        }
        let offset = self.input.position();
        let found = self.input.skip(header.size);
        let found = found.map_err(|error| place.failed(error))?;
        self.after_data(&place, header.size, found)?;

        if raw == b"./" && directory {
            let known = *self.root.get_or_insert(header.mode);
            if known != header.mode {
                return Err(place.fault("is there twice, with two modes"));
            }
            return Ok(None);
        }
        let name = raw.strip_prefix(b"./").unwrap_or(raw);
        let (path, kind) = if directory {
            let name = name.strip_suffix(b"/").unwrap_or(name);
            (BundlePath::admit(name), EntryKind::Directory)
        } else {
            self.file_name(name, header.size)
        };
        let path = path.map_err(|error| place.locate(error))?;
        let new = self.place(&path, kind, header.mode);
        Ok(new.map_err(|error| place.locate(error))?.then_some(Entry {
            path,
            kind,
            mode: header.mode,
            offset,
            size: header.size,
        }))
    }

    /// Adds an entry to the tree that it is part of; tells whether it is new there.
    fn place(&mut self, path: &BundlePath, kind: EntryKind, mode: u32) -> Result<bool> {
        let both = match kind {
            EntryKind::Opaque => return Ok(true),
            EntryKind::Whiteout => {
                self.removed.file(path)?;
                self.tree.has(path)
            }
            EntryKind::File | EntryKind::Directory => self.removed.has_above(path),
        };
        if both {
            // It removes from the layers below, but some readers would remove what came before it in its own layer.
            return Err(Error::unsafe_content(format!(
                "the layer removes and has `{path}`"
            )));
        }
        match kind {
            EntryKind::Directory => self.tree.directory(path, mode),
            EntryKind::File => self.tree.file(path).map(|()| true),
            EntryKind::Whiteout | EntryKind::Opaque => Ok(true),
        }
    }

    /// Counts an entry before anything is made of it.
    fn count(&mut self, header: &Header<'_>, place: &Place<'_>) -> Result<()> {
        self.entries = self.entries.saturating_add(1);
        self.total = self.total.saturating_add(header.size);
        let limits = self.rules.limits;
        for (ceiling, found) in [
            (Some(Ceiling::Entries), self.entries),
            (Some(self.rules.file), header.size),
            (self.rules.total, self.total),
        ] {
            if let Some(ceiling) = ceiling
                && found > limits[ceiling]
            {
                return Err(place.locate(Error::limit(ceiling, limits[ceiling], found)));
            }
        }
        Ok(())
    }

    /// Takes the name of a file, which may say that another one is gone.
    fn file_name(&self, name: &[u8], size: u64) -> (Result<BundlePath>, EntryKind) {
        let (directory, last) = match name.iter().rposition(|b| *b == b'/') {
            Some(at) => name.split_at(at.saturating_add(1)),
            None => name.split_at(0),
        };
        let Some(hidden) = last.strip_prefix(b".wh.").filter(|_| self.rules.whiteouts) else {
            return (BundlePath::admit(name), EntryKind::File);
        };
        let fault = |why: &str| Err(Error::unsafe_content(format!("the whiteout {why}")));
        if size > 0 {
            return (fault("has content"), EntryKind::Whiteout);
        }
        if hidden == b".wh..opq" {
            // At the root it would hide all of what is below: no layer then needs what it stands on.
            let directory = match directory.strip_suffix(b"/") {
                Some(directory) => BundlePath::admit(directory),
                None => fault("hides all layers below"),
            };
            return (directory, EntryKind::Opaque);
        }
        if hidden.starts_with(b".wh.") {
            return (fault("is of an unknown kind"), EntryKind::Whiteout);
        }
        (
            BundlePath::admit(&[directory, hidden].concat()),
            EntryKind::Whiteout,
        )
    }

    /// Checks that data was all there, and reads its padding.
    fn after_data(&mut self, place: &Place<'_>, size: u64, found: u64) -> Result<()> {
        let padding = self.input.padding(size);
        let padding = padding.map_err(|error| place.failed(error))?;
        if found < size || padding == Padding::Short {
            let what = format!("the archive is cut off in {}", place.text());
            let padded = if found < size { "" } else { " without padding" };
            let found = format!("{found} bytes{padded}");
            return Err(
                Error::mismatch(&what, format_args!("{size} bytes and padding"), found)
                    .file(place.file()),
            );
        }
        match padding {
            Padding::Other => Err(place.fault("has padding that is not zero")),
            _ => Ok(()),
        }
    }

    /// Says what an entry is that cannot be carried, under the name that it would have.
    fn refused_kind(&self, header: &Header<'_>, at: u64) -> Error {
        let raw = raw_name(header, self.extension.as_ref());
        let place = Place {
            name: raw.as_deref().unwrap_or(header.name),
            at,
        };
        let error = place.fault(header.refused_kind());
        match header.flag {
            b'1' | b'2' => error.found(format_args!("a link to `{}`", shown_bytes(header.link))),
            _ => error,
        }
    }
}

/// Puts a name together from the header's fields and what stood before, if all of them can be meant.
fn raw_name<'n>(
    header: &Header<'n>,
    extension: Option<&'n Extension>,
) -> std::result::Result<Cow<'n, [u8]>, Fault> {
    let own = header.name;
    let prefix = header.prefix;
    let long = match extension {
        Some(Extension::Pax(pax::Local {
            path: Some(path), ..
        })) => Some(path),
        Some(Extension::LongName(name)) => Some(name),
        _ => None,
    };
    let Some(long) = long else {
        if own.is_empty() {
            return Err("has no name".into());
        }
        if prefix.is_empty() {
            return Ok(own.into());
        }
        if prefix == b"."
            || prefix.starts_with(b"/")
            || prefix.ends_with(b"/")
            || own.starts_with(b"/")
        {
            return Err("has a name and a prefix that do not join to one path".into());
        }
        return Ok([prefix, b"/", own].concat().into());
    };
    // Writers that fill the fields even so put the beginning of the path there. Anything else is a second name.
    let begins = long
        .strip_prefix(prefix)
        .is_some_and(|rest| rest.starts_with(b"/"));
    if !prefix.is_empty() && !begins {
        return Err("has a prefix that its long name does not begin with".into());
    }
    if long.starts_with(b"./") && !own.starts_with(b"./") && prefix.is_empty() {
        return Err("has a long name that begins with `./` where its short name does not".into());
    }
    Ok(long.into())
}

fn is_zero(block: &[u8; BLOCK]) -> bool {
    block.iter().all(|b| *b == 0)
}

/// Says at which block a decompressor stopped; what this machine cannot read is at no place in the archive.
fn failed_at(at: u64, error: io::Error) -> Error {
    match cannot_read(error) {
        error if error.kind() == Kind::Io => error,
        error => error.at(format_args!("the archive at byte {at}")),
    }
}

fn cannot_read(error: io::Error) -> Error {
    Error::from_io("cannot read the archive", error)
}

#[cfg(test)]
mod tests;
