//! Which paths of a source belong to a bundle, and by which rule the others are left out.
//!
//! Patterns have git's syntax and git's order: the last one that matches decides, a list further down beats one further
//! up, and nothing below a directory that is left out is looked at, so it cannot come back. The lists, strongest first:
//! what is included by name, patterns that the caller gave, `.bundleignore` files from the deepest to the root, the
//! built-in rules. Nothing here reads a file; git's own files and settings have no say.

use std::borrow::Cow;
use std::path::Path;

use ::ignore::Match;
use ::ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::error::{Error, Kind, Result};
use crate::escape::shown;

/// The name of the files that hold patterns; they are not carried.
pub const FILE_NAME: &str = ".bundleignore";

/// What is left out unless it is included by name (spec/directory.md, "What is left out").
pub const BUILT_IN: &[&str] = &[
    // Version control.
    ".git",
    ".gitattributes",
    ".gitignore",
    ".gitkeep",
    ".gitmodules",
    ".hg",
    ".hgignore",
    ".jj",
    ".svn",
    ".bzr",
    "_darcs",
    "CVS",
    // What desktops and their archives leave behind.
    ".DS_Store",
    "._*",
    "__MACOSX",
    "Thumbs.db",
    "desktop.ini",
    // Copies and locks of editors.
    "*.swp",
    "*.swo",
    "*~",
    ".#*",
    "\\#*#",
    // Settings that hold secrets.
    ".env",
    ".env.*",
    // The kubelet keeps the generations of a mounted ConfigMap or Secret under such names; no key of one begins so.
    "..*",
];

/// The patterns of one list, for paths below one directory.
#[derive(Debug)]
struct Patterns {
    /// The directory with its final `/`, or nothing for the root.
    directory: String,
    set: Gitignore,
    /// How each line is named when it leaves something out.
    rules: Vec<String>,
}

/// What a list says about a path.
enum Decision {
    Included,
    LeftOut(String),
}

impl Patterns {
    /// Compiles lines; `name` gives the name of a line from its number, for messages and listings.
    fn compile<'a>(
        kind: Kind,
        directory: &str,
        lines: impl Iterator<Item = &'a str>,
        name: impl Fn(usize) -> String,
    ) -> Result<Self> {
        let mut builder = GitignoreBuilder::new("");
        let mut rules = Vec::new();
        for (number, line) in (1..).zip(lines) {
            let name = name(number);
            let bad = |why: &str| {
                let (name, line, why) = (shown(&name), shown(line), shown(why));
                Error::new(kind, format!("{name}: `{line}` is no pattern: {why}"))
            };
            if let Some(why) = never_matches(line) {
                return Err(bad(why));
            }
            // The matcher takes a file's name for each line and gives it back; it gets the number of the rule.
            builder
                .add_line(Some(rules.len().to_string().into()), &without_braces(line))
                .map_err(|error| bad(&error.to_string()))?;
            rules.push(format!("{name} `{}`", line.trim_end()));
        }
        let set = builder.build().map_err(|error| {
            let (place, why) = (shown(&name(1)), shown(&error.to_string()));
            Error::new(kind, format!("{place}: the patterns cannot be used: {why}"))
        })?;
        Ok(Self {
            directory: directory.to_owned(),
            set,
            rules,
        })
    }

    fn decide(&self, path: &Path, is_directory: bool) -> Option<Decision> {
        let path = path.strip_prefix(&self.directory).ok()?;
        match self.set.matched(path, is_directory) {
            Match::None => None,
            Match::Whitelist(_) => Some(Decision::Included),
            Match::Ignore(glob) => {
                let index = glob.from().and_then(|from| from.to_str()?.parse().ok());
                let rule = index.and_then(|index: usize| self.rules.get(index));
                Some(Decision::LeftOut(rule.cloned().unwrap_or_default()))
            }
        }
    }
}

/// Says why a line is a mistake: git takes it and it matches nothing, so what it was to leave out stays in.
fn never_matches(line: &str) -> Option<&'static str> {
    if line.starts_with('#') {
        return None;
    }
    let escaped = |text: &str| {
        let kept = text.trim_end_matches('\\');
        text.len().saturating_sub(kept.len()) % 2 == 1
    };
    let mut pattern = line;
    while let Some(shorter) = pattern.strip_suffix(' ').filter(|text| !escaped(text)) {
        pattern = shorter;
    }
    if pattern.contains("//") {
        return Some("no path has `//` in it");
    }
    let pattern = pattern.strip_suffix('/').unwrap_or(pattern);
    escaped(pattern).then_some("it ends with `\\`")
}

/// Returns a line in which the matcher sees braces as git does: as nothing special.
fn without_braces(line: &str) -> Cow<'_, str> {
    if !line.contains(['{', '}']) {
        return Cow::Borrowed(line);
    }
    let mut text = String::with_capacity(line.len().saturating_add(8));
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match c {
            '{' | '}' => text.extend(['\\', c]),
            '\\' => text.extend([Some(c), rest.next()].into_iter().flatten()),
            '[' => {
                // A class goes up to its bracket, and an unclosed one is just a bracket.
                let end = class_end(rest.as_str());
                text.push(c);
                let (class, after) = rest.as_str().split_at_checked(end).unwrap_or_default();
                text.push_str(class);
                rest = after.chars();
            }
            _ => text.push(c),
        }
    }
    Cow::Owned(text)
}

/// Returns how long a class is, after its `[` and with its `]`; 0 when it is not closed.
fn class_end(rest: &str) -> usize {
    let mut escaped = false;
    let first = usize::from(rest.starts_with(['!', '^']));
    for (at, c) in rest.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ']' if at > first => return at.saturating_add(1),
            _ => {}
        }
    }
    0
}

/// All lists that are in force at one place of a walk from the root downwards.
#[derive(Debug)]
pub struct Ignore {
    included: Patterns,
    given: Patterns,
    files: Vec<Patterns>,
    built_in: Patterns,
}

impl Ignore {
    /// Begins at the root, with what is included by name, the caller's patterns, and the built-in rules if wanted.
    ///
    /// Fails with [`Kind::Usage`] when a pattern cannot be understood.
    pub fn new(include: &[String], given: &[String], built_in: bool) -> Result<Self> {
        fn lines(list: &[String]) -> impl Iterator<Item = &str> {
            list.iter().map(String::as_str)
        }
        let rules = if built_in { BUILT_IN } else { &[] };
        let usage = Kind::Usage;
        Ok(Self {
            included: Patterns::compile(usage, "", lines(include), |_| "included name".into())?,
            given: Patterns::compile(usage, "", lines(given), |_| "given pattern".into())?,
            files: Vec::new(),
            built_in: Patterns::compile(usage, "", rules.iter().copied(), |_| {
                "built-in rule".into()
            })?,
        })
    }

    /// Puts the ignore file of a directory in force; `directory` is empty for the root.
    ///
    /// Compiling takes time and memory: the caller has checked the length of `text` (`ignore-file`).
    ///
    /// Fails with [`Kind::Invalid`] when it is not UTF-8 or a pattern cannot be understood.
    pub fn enter(&mut self, directory: &str, text: &[u8]) -> Result<()> {
        let prefix = match directory {
            "" => String::new(),
            directory => format!("{directory}/"),
        };
        let file = format!("{prefix}{FILE_NAME}");
        let text = str::from_utf8(text)
            .map_err(|_| Error::invalid(format!("`{}` is not UTF-8", shown(&file))).file(&file))?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let name = |number| format!("{file}:{number}");
        let patterns = Patterns::compile(Kind::Invalid, &prefix, text.lines(), name)
            .map_err(|error| error.file(&file))?;
        self.files.push(patterns);
        Ok(())
    }

    /// Takes the ignore file that was entered last out of force.
    pub fn leave(&mut self) {
        self.files.pop();
    }

    /// Returns the rule that leaves a path out, or nothing when it belongs to the bundle.
    ///
    /// The caller walks from the root downwards and asks nothing about what is below a directory that is left out.
    pub fn rule(&self, path: &Path, is_directory: bool) -> Option<String> {
        if self.includes(path, is_directory) {
            return None;
        }
        let lists = std::iter::once(&self.given)
            .chain(self.files.iter().rev())
            .chain(std::iter::once(&self.built_in));
        for list in lists {
            match list.decide(path, is_directory) {
                None => {}
                Some(Decision::Included) => return None,
                Some(Decision::LeftOut(rule)) => return Some(rule),
            }
        }
        None
    }

    /// Tells whether a path was included by name; then no other rule leaves it out.
    pub fn includes(&self, path: &Path, is_directory: bool) -> bool {
        // The list reads like an ignore file, and what it "ignores" is what the caller wants.
        matches!(
            self.included.decide(path, is_directory),
            Some(Decision::LeftOut(_))
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the rule for a path as a walk finds it: by the first of its parents that is left out, or its own.
    fn rule(ignore: &Ignore, path: &str) -> Option<String> {
        let (path, is_directory) = match path.strip_suffix('/') {
            Some(path) => (Path::new(path), true),
            None => (Path::new(path), false),
        };
        let mut parents: Vec<&Path> = path.ancestors().skip(1).collect();
        parents.pop();
        parents
            .into_iter()
            .rev()
            .find_map(|parent| ignore.rule(parent, true))
            .or_else(|| ignore.rule(path, is_directory))
    }

    fn with_files(files: &[(&str, &str)]) -> Ignore {
        let mut ignore = Ignore::new(&[], &[], true).unwrap();
        for (directory, text) in files {
            ignore.enter(directory, text.as_bytes()).unwrap();
        }
        ignore
    }

    #[test]
    fn the_last_pattern_decides_and_names_its_line() {
        let ignore = with_files(&[(
            "",
            "!keep/*.yaml\nkeep/*\nout/\n!out/x.yaml\nhalf/*\n!half/b.yaml\n\\#hash.yaml\ntrail.yaml   \n# no\n\n",
        )]);
        for (path, want) in [
            ("keep/a.yaml", Some(".bundleignore:2 `keep/*`")),
            ("out/x.yaml", Some(".bundleignore:3 `out/`")),
            ("half/a.yaml", Some(".bundleignore:5 `half/*`")),
            ("half/b.yaml", None),
            ("#hash.yaml", Some(".bundleignore:7 `\\#hash.yaml`")),
            ("trail.yaml", Some(".bundleignore:8 `trail.yaml`")),
            ("stay.yaml", None),
            ("no", None),
        ] {
            assert_eq!(rule(&ignore, path).as_deref(), want, "{path}");
        }
    }

    #[test]
    fn a_file_further_down_beats_one_further_up_and_ends_with_its_directory() {
        let mut ignore = with_files(&[("", "*.yaml\n"), ("a/b", "!x.yaml\n/c/\n")]);
        assert_eq!(rule(&ignore, "a/b/x.yaml"), None);
        assert_eq!(rule(&ignore, "a/b/d/x.yaml"), None);
        assert_eq!(
            rule(&ignore, "a/x.yaml").unwrap(),
            ".bundleignore:1 `*.yaml`"
        );
        assert_eq!(
            rule(&ignore, "a/b/c/x").unwrap(),
            "a/b/.bundleignore:2 `/c/`"
        );
        assert_eq!(rule(&ignore, "a/b/d/c/x"), None, "`/c/` is anchored");
        ignore.leave();
        assert!(rule(&ignore, "a/b/x.yaml").is_some());
    }

    #[test]
    fn more_patterns_keep_the_built_in_rules() {
        let given = ["docs/".to_owned()];
        let ignore = Ignore::new(&[], &given, true).unwrap();
        for (path, want) in [
            ("docs/readme.yaml", Some("given pattern `docs/`")),
            ("docs", None),
            (".git/HEAD", Some("built-in rule `.git`")),
            ("sub/.git/HEAD", Some("built-in rule `.git`")),
            ("sub/cm.yaml", None),
            ("a/.DS_Store", Some("built-in rule `.DS_Store`")),
            ("._cm.yaml", Some("built-in rule `._*`")),
            ("__MACOSX/._cm.yaml", Some("built-in rule `__MACOSX`")),
            (".cm.yaml.swp", Some("built-in rule `*.swp`")),
            ("cm.yaml~", Some("built-in rule `*~`")),
            ("#cm.yaml#", Some("built-in rule `\\#*#`")),
            (".env.local", Some("built-in rule `.env.*`")),
            ("..data/", Some("built-in rule `..*`")),
            ("#hash.yaml", None),
            (".envoy.yaml", None),
        ] {
            assert_eq!(rule(&ignore, path).as_deref(), want, "{path}");
        }
        let ignore = Ignore::new(&[], &given, false).unwrap();
        assert_eq!(rule(&ignore, ".DS_Store"), None);
        assert!(rule(&ignore, "docs/x").is_some());
    }

    #[test]
    fn what_is_included_by_name_is_left_out_by_no_rule() {
        let include = ["/.env".to_owned(), "docs/*.yaml".to_owned()];
        let mut ignore = Ignore::new(&include, &["*.yaml".to_owned()], true).unwrap();
        ignore.enter("", b"!._keep\n!b.yaml\n").unwrap();
        assert_eq!(rule(&ignore, ".env"), None);
        assert!(rule(&ignore, "sub/.env").is_some());
        assert_eq!(rule(&ignore, "docs/a.yaml"), None);
        assert_eq!(
            rule(&ignore, "._keep"),
            None,
            "an ignore file may include too"
        );
        assert!(
            rule(&ignore, "b.yaml").is_some(),
            "the caller's patterns are stronger"
        );
        assert!(ignore.includes(Path::new("docs/a.yaml"), false));
        assert!(!ignore.includes(Path::new("._keep"), false));
    }

    #[test]
    fn braces_are_ordinary_characters_as_for_git() {
        let ignore = with_files(&[("", "{a,b}\n[{x]c\n\\{d\n[{e\n")]);
        for (path, want) in [
            ("{a,b}", Some(".bundleignore:1 `{a,b}`")),
            ("a", None),
            ("{c", Some(".bundleignore:2 `[{x]c`")),
            ("{d", Some(".bundleignore:3 `\\{d`")),
            ("[{e", Some(".bundleignore:4 `[{e`")),
        ] {
            assert_eq!(rule(&ignore, path).as_deref(), want, "{path}");
        }
    }

    #[test]
    fn bad_ignore_files_are_refused_with_their_line() {
        let mut ignore = Ignore::new(&[], &[], true).unwrap();
        for (line, why) in [
            ("[z-a]", "invalid"),
            ("a\\", "ends with `\\`"),
            ("a\\/ ", "ends with `\\`"),
            ("a//b", "`//`"),
        ] {
            let text = format!("ok\n# a\\\n{line}\n");
            let error = ignore.enter("a", text.as_bytes()).unwrap_err();
            assert_eq!(error.kind(), Kind::Invalid);
            assert!(error.message().contains("a/.bundleignore:3"), "{error}");
            assert!(error.message().contains(why), "{error}");
        }
        ignore.enter("", b"a\\ \n").unwrap();
        let error = ignore.enter("", b"\xff").unwrap_err();
        assert!(error.message().contains("not UTF-8"), "{error}");
    }
}
