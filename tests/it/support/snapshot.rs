//! A directory tree at one moment, to show that a failed command changed nothing.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::hex;

/// Path, kind, mode, size and content of everything below a directory; links are not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Snapshot(BTreeMap<PathBuf, Entry>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Entry {
    kind: &'static str,
    mode: u32,
    size: u64,
    /// The sha256 of a file, the target of a link.
    content: String,
}

impl Snapshot {
    /// Takes the tree below `root`; what does not exist is an empty tree.
    pub(crate) fn of(root: impl AsRef<Path>) -> Self {
        let mut entries = BTreeMap::new();
        let root = root.as_ref();
        if root.symlink_metadata().is_ok() {
            collect(root, Path::new("."), &mut entries);
        }
        Self(entries)
    }

    /// The paths, relative to the root, of everything but the root itself.
    pub(crate) fn paths(&self) -> Vec<String> {
        let inside = self.0.keys().filter(|path| *path != Path::new("."));
        inside.map(|path| path.display().to_string()).collect()
    }

    /// One line for each difference: `+` came, `-` went, `~` changed.
    pub(crate) fn diff(&self, after: &Self) -> Vec<String> {
        let mut lines = Vec::new();
        for (path, old) in &self.0 {
            match after.0.get(path) {
                None => lines.push(format!("- {}: {old}", path.display())),
                Some(new) if new != old => {
                    lines.push(format!("~ {}: {old}  =>  {new}", path.display()));
                }
                Some(_) => {}
            }
        }
        for (path, new) in &after.0 {
            if !self.0.contains_key(path) {
                lines.push(format!("+ {}: {new}", path.display()));
            }
        }
        lines
    }

    /// Asserts that the tree below `root` is still the one that was taken.
    #[track_caller]
    pub(crate) fn assert_same(&self, root: impl AsRef<Path>) {
        let root = root.as_ref();
        let lines = self.diff(&Self::of(root));
        assert!(
            lines.is_empty(),
            "{} has changed:\n  {}",
            root.display(),
            lines.join("\n  ")
        );
    }
}

fn collect(root: &Path, relative: &Path, entries: &mut BTreeMap<PathBuf, Entry>) {
    let path = root.join(relative);
    let metadata = path.symlink_metadata().unwrap();
    let kind = metadata.file_type();
    let (kind, size, content) = if kind.is_dir() {
        ("directory", 0, String::new())
    } else if kind.is_symlink() {
        let target = path.read_link().unwrap();
        ("link", 0, target.display().to_string())
    } else if kind.is_file() {
        ("file", metadata.len(), sha256_of_file(&path))
    } else if kind.is_fifo() {
        ("fifo", 0, String::new())
    } else {
        ("special", 0, String::new())
    };
    let entry = Entry {
        kind,
        mode: metadata.permissions().mode() & 0o7777,
        size,
        content,
    };
    let is_directory = kind == "directory";
    entries.insert(relative.to_owned(), entry);
    if is_directory {
        for child in path.read_dir().unwrap() {
            let name = child.unwrap().file_name();
            let below = match relative.to_str() {
                Some(".") => PathBuf::from(name),
                _ => relative.join(name),
            };
            collect(root, &below, entries);
        }
    }
}

fn sha256_of_file(path: &Path) -> String {
    let mut hasher = Sha256::new();
    let mut file = std::fs::File::open(path).unwrap();
    let mut part = vec![0; 1 << 16];
    loop {
        match file.read(&mut part).unwrap() {
            0 => break,
            n => hasher.update(&part[..n]),
        }
    }
    hex(&hasher.finalize())
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:04o}", self.kind, self.mode)?;
        match self.kind {
            "file" => write!(f, " {} bytes {:.12}", self.size, self.content),
            "link" => write!(f, " -> {}", self.content),
            _ => Ok(()),
        }
    }
}
