//! Writing a directory or a file whole or not at all.
//!
//! Made in a staging directory, put on disk, then moved: into the place of nothing or of an empty directory by a
//! rename, which fails on anything else, and into the place of a directory by an exchange.

use std::cell::Cell;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::ops::Bound;
use std::path::Path;
use std::sync::atomic::Ordering;

use rustix::fs::FileType;

use super::destination::Destination;
use super::file::open_directory;
use super::place::{
    exchange, replace_file, restore_file, settle_directory, settle_file, sync_parent, unsettle,
};
use super::staging::{MADE, Staging};
use super::survey::{Coming, Losses, Survey, open_at};
use super::tree::{create, make};
use super::{WriteOptions, Written};
use crate::bundle::Files;
use crate::content::Content;
use crate::error::{Error, Kind, Result};
use crate::escape::shown;

/// How many names an error lists.
const NAMES_SHOWN: usize = 10;

/// Writes files as a new directory, or in the place of one.
///
/// Files get mode 0644 and directories 0755 less the umask. The result is on disk when this returns.
///
/// Does nothing when the directory has these files and nothing else, unless [`WriteOptions::force`].
/// Fails with [`Kind::Conflict`] when something else is at `destination` that is no empty directory, unless
/// [`WriteOptions::force`]; when files would be lost that no bundle put there, unless [`WriteOptions::prune`] as well;
/// and when it is a link or a file, whatever the options. After any failure the destination is what it was, with one
/// exception that the message tells: the former content could not be removed.
pub fn write(files: &Files, destination: &Path, options: &WriteOptions) -> Result<Written> {
    let destination = Destination::open(destination)?;
    let former = match Former::look(&destination, files, options)? {
        There::Same => {
            Staging::clear(&destination);
            return Ok(Written {
                unchanged: true,
                ..Written::default()
            });
        }
        There::Nothing => None,
        There::Former(former) => Some(former),
    };
    let staging = Staging::beside(&destination)?;
    let begun = Cell::new(0_u64);
    let marked = make(files, &destination, &staging, || {
        begun.set(begun.get().saturating_add(1));
        options.progress.tell(begun.get(), files.len());
        check_interrupt(options)
    })?;
    check_interrupt(options)?;
    let replaced = former.is_some();
    let written = match former {
        None => {
            settle_directory(&destination, &staging)?;
            Written::default()
        }
        Some(former) => {
            exchange(&destination, &staging)?;
            // Whoever wrote into it since it was looked at gets it back.
            let unsure = match former.is_still(&staging, &destination) {
                Ok(true) => None,
                Ok(false) => Some(destination.changed()),
                Err(error) => Some(destination.or_changed(error)),
            };
            if let Some(error) = unsure {
                return Err(match exchange(&destination, &staging) {
                    Ok(()) => error,
                    Err(error) => staging.keep(error),
                });
            }
            Written {
                replaced: true,
                removed: former.losses.removed,
                overwritten: former.losses.overwritten,
                ..Written::default()
            }
        }
    };
    if let Err(error) = sync_parent(&destination) {
        // Nobody knows what a power cut would leave; what was there is known to be on disk.
        if !replaced {
            unsettle(&destination, &staging);
        } else if let Err(error) = exchange(&destination, &staging) {
            return Err(staging.keep(error));
        }
        return Err(error);
    }
    staging.remove().map_err(|error| {
        let place = destination.shown();
        error.at(format_args!(
            "`{place}` is written, but its former content is left"
        ))
    })?;
    Ok(Written { marked, ..written })
}

/// Writes one file, in the place of nothing or, with [`WriteOptions::force`], of a file; says whether one was replaced.
///
/// The file gets mode 0644 less the umask and is on disk when this returns. Fails with [`Kind::Conflict`] when a file
/// exists and may not be replaced, or when something else is there; the destination is what it was then.
pub fn write_file(destination: &Path, content: &Content, options: &WriteOptions) -> Result<bool> {
    write_file_with(destination, options, |file| {
        let mut reader = content.reader();
        io::copy(&mut reader, file)
            .map(drop)
            .map_err(|error| Error::io("cannot write", destination, error))
    })
}

/// Writes one file as [`write_file`] does, with the bytes that `fill` puts into it.
pub fn write_file_with(
    destination: &Path,
    options: &WriteOptions,
    fill: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<bool> {
    let destination = Destination::open(destination)?;
    let exists = destination.expect(FileType::RegularFile)?;
    if exists && !options.force {
        return Err(destination.exists());
    }
    let staging = stage(&destination, options, fill)?;
    settle(&destination, &staging, exists, options)?;
    Ok(exists)
}

/// Writes one file as [`write_file_with`] does, unless a file with the same bytes is there; says whether it was written.
pub fn write_file_unless_same(
    destination: &Path,
    options: &WriteOptions,
    fill: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<bool> {
    let destination = Destination::open(destination)?;
    let exists = destination.expect(FileType::RegularFile)?;
    let staging = stage(&destination, options, fill)?;
    if exists {
        // What cannot be read is not the same.
        if is_same(&destination, &staging).unwrap_or(false) {
            return Ok(false);
        }
        if !options.force {
            return Err(destination.exists());
        }
    }
    settle(&destination, &staging, exists, options)?;
    Ok(true)
}

/// Tells whether the file that is there has the bytes of the one that was made.
fn is_same(destination: &Destination, staging: &Staging<'_>) -> io::Result<bool> {
    const PIECE: usize = 64 * 1024;
    let content = |directory, name| Content::of_file(File::from(open_at(directory, name)?));
    let there = content(&destination.parent, Path::new(&destination.name))?;
    let made = content(&staging.fd, Path::new(MADE))?;
    if there.len() != made.len() {
        return Ok(false);
    }
    let (mut one, mut other) = (vec![0; PIECE], vec![0; PIECE]);
    let mut position = 0_u64;
    while position < made.len() {
        let (read, again) = (
            made.read_at(&mut one, position)?,
            there.read_at(&mut other, position)?,
        );
        let both = read.min(again);
        if both == 0 || one.get(..both) != other.get(..both) {
            return Ok(false);
        }
        position = position.saturating_add(both as u64);
    }
    Ok(true)
}

/// Makes the file beside its place and puts it on disk.
fn stage<'d>(
    destination: &'d Destination,
    options: &WriteOptions,
    fill: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<Staging<'d>> {
    let staging = Staging::beside(destination)?;
    let cannot = |error: io::Error| Error::io("cannot write", &destination.path, error);
    let mut file = File::from(create(&staging.fd, OsStr::new(MADE)).map_err(cannot)?);
    // A writer may say anything about the error that stopped it; that it was asked to stop is what the caller knows.
    fill(&mut Stoppable(&mut file, options))
        .map_err(|error| check_interrupt(options).err().unwrap_or(error))?;
    check_interrupt(options)?;
    file.sync_all().map_err(cannot)?;
    check_interrupt(options)?;
    Ok(staging)
}

/// Moves the file that was made to its place.
fn settle(
    destination: &Destination,
    staging: &Staging<'_>,
    exists: bool,
    options: &WriteOptions,
) -> Result<()> {
    if options.force {
        replace_file(destination, staging)?;
    } else {
        settle_file(destination, staging)?;
    }
    sync_parent(destination).inspect_err(|_| {
        if exists {
            restore_file(destination, staging);
        } else {
            unsettle(destination, staging);
        }
    })
}

/// A file that takes no more bytes once the caller wants to stop.
struct Stoppable<'a>(&'a mut File, &'a WriteOptions);

impl Write for Stoppable<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        check_interrupt(self.1).map_err(Error::into_io)?;
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// A directory that is to be replaced.
struct Former {
    survey: Survey,
    losses: Losses,
}

/// What is at the destination.
enum There {
    /// Nothing, or an empty directory.
    Nothing,
    /// What shall be written.
    Same,
    /// A directory that is to be replaced.
    Former(Former),
}

impl Former {
    /// Looks at what is at the destination, and refuses what may not be replaced.
    fn look(destination: &Destination, files: &Files, options: &WriteOptions) -> Result<There> {
        if !destination.expect(FileType::Directory)? {
            return Ok(There::Nothing);
        }
        let root = open_directory(&destination.parent, &destination.name)
            .map_err(|error| Error::io("cannot open", &destination.path, error))
            .map_err(|error| destination.or_changed(error))?;
        let survey =
            Survey::of(&root, &destination.path).map_err(|error| destination.or_changed(error))?;
        if survey.is_empty() {
            return Ok(There::Nothing);
        }
        if !options.force {
            return if survey.is(&root, files) {
                Ok(There::Same)
            } else {
                Err(destination.exists())
            };
        }
        let losses = survey.losses(&root, &destination.path, &|path| {
            let Some(path) = path.to_str() else {
                return Coming::Nothing;
            };
            match files.get(path) {
                Some(content) => Coming::Content(content),
                None if has_below(files, path) => Coming::Directory,
                None => Coming::Nothing,
            }
        });
        let losses = losses.map_err(|error| destination.or_changed(error))?;
        refuse_losses(destination, &losses, options)?;
        Ok(There::Former(Self { survey, losses }))
    }

    /// Tells whether the directory, now in the staging directory, is as it was when it was looked at.
    fn is_still(&self, staging: &Staging<'_>, destination: &Destination) -> Result<bool> {
        let root = open_directory(&staging.fd, OsStr::new(MADE))
            .map_err(|error| Error::io("cannot open", &destination.path, error))?;
        Ok(Survey::of(&root, &destination.path)? == self.survey)
    }
}

/// Tells whether a path is that of a directory with files in it.
fn has_below(files: &Files, path: &str) -> bool {
    let above = format!("{path}/");
    let mut following = files.range::<str, _>((Bound::Included(&*above), Bound::Unbounded));
    following
        .next()
        .is_some_and(|(file, _)| file.as_str().starts_with(&above))
}

/// Fails when something would be lost, unless it may be.
pub(super) fn refuse_losses(
    destination: &Destination,
    losses: &Losses,
    options: &WriteOptions,
) -> Result<()> {
    if losses.foreign.is_empty() || options.prune {
        return Ok(());
    }
    let place = destination.shown();
    let mut names: Vec<String> = losses
        .foreign
        .iter()
        .take(NAMES_SHOWN)
        .map(|name| format!("`{}`", shown(name)))
        .collect();
    if losses.foreign.len() > NAMES_SHOWN {
        names.push("…".into());
    }
    let (count, names) = (losses.foreign.len(), names.join(", "));
    let error = if losses.unrecorded {
        Error::conflict(format!(
            "`{place}` has no record of who wrote it (copied or cloned?), and would lose ({count}): {names}"
        ))
        .hint("write to a new name, or add `--prune`, which also removes every file that the bundle does not have and what was changed by hand")
    } else {
        Error::conflict(format!(
            "`{place}` holds what no bundle put there or what was changed since ({count}): {names}"
        ))
        .hint("move it away, or let `--prune` delete it")
    };
    Err(error.file(destination.path.display()))
}

fn check_interrupt(options: &WriteOptions) -> Result<()> {
    match &options.interrupted {
        Some(flag) if flag.load(Ordering::Relaxed) => {
            Err(Error::new(Kind::Interrupted, "stopped on request"))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests;
