//! The system calls of a run, as `strace` writes them, and which of them are worth disturbing.

use std::collections::BTreeMap;
use std::fmt;

use super::scene::{Kind, Scene};

/// The calls that are counted: all that change a file, and those that open one.
pub(super) const CALLS: &str = "openat,mkdir,mkdirat,write,pwrite64,fsync,fdatasync,syncfs,rename,renameat,renameat2,link,\
linkat,unlink,unlinkat,rmdir,ftruncate,fchmod,chmod,fchown,fsetxattr,flock,copy_file_range,sendfile";

/// One call of a run.
#[derive(Clone, Debug)]
pub(super) struct Point {
    pub(super) call: String,
    /// Which of the calls of this name.
    pub(super) nth: usize,
    /// Whether it changes a file.
    pub(super) changes: bool,
}

impl Point {
    /// Whether the run may succeed although the call fails: it takes something away, or does what not all file systems can.
    pub(super) fn may_fail(&self, scene: &Scene) -> bool {
        let extra = ["flock", "fsetxattr", "linkat", "fchown"];
        // Not every file system can flush a directory, and the file is whole either way.
        let flush = self.call == "fsync" && scene.kind == Kind::Credential;
        self.removes() || flush || extra.contains(&&*self.call)
    }

    pub(super) fn removes(&self) -> bool {
        ["unlink", "unlinkat", "rmdir"].contains(&&*self.call) || self.reads()
    }

    /// Whether it opens something that is there, be it to remove it.
    pub(super) fn reads(&self) -> bool {
        self.call == "openat" && !self.changes
    }
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.call, self.nth)
    }
}

/// Reads the points from a trace, whose first line is the directory that they must be in.
pub(super) fn points(trace: &str) -> impl Iterator<Item = Point> {
    points_with_lines(trace).into_iter().map(|(point, _)| point)
}

/// Reads the points from a trace, each with its line.
pub(super) fn points_with_lines(trace: &str) -> Vec<(Point, &str)> {
    let (work, lines) = trace.split_once('\n').unwrap();
    let mut counts = BTreeMap::new();
    let mut points = Vec::new();
    for line in lines.lines() {
        let Some((call, rest)) = line.split_once('(') else {
            continue;
        };
        // With more than one thread, its number comes first, and each has counts of its own.
        let nth = counts.entry(call.to_owned()).or_insert(0);
        *nth += 1;
        let call = call.rsplit(' ').next().unwrap();
        let inside = match call {
            // Which file it is, is told by what comes back.
            "openat" => rest
                .rsplit_once(" = ")
                .is_some_and(|(_, file)| file.contains(&format!("<{work}"))),
            // These have paths only.
            "mkdir" | "rename" | "link" | "unlink" | "rmdir" | "chmod" => true,
            _ => rest
                .split_once(',')
                .unwrap_or((rest, ""))
                .0
                .contains(&format!("<{work}")),
        };
        if inside {
            let changes = call != "flock" && (call != "openat" || rest.contains("O_CREAT"));
            let point = Point {
                call: call.to_owned(),
                nth: *nth,
                changes,
            };
            points.push((point, line));
        }
    }
    assert!(points.len() > 5, "too few calls:\n{trace}");
    points
}
