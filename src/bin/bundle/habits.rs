//! Flags that people type out of habits from other tools, and what to write here.

/// A command (any, where it is empty), a flag that it does not have, and what to do instead.
const HABITS: [(&str, &str, &str); 12] = [
    ("", "--digest", DIGEST),
    ("login", "-p", PASSWORD),
    ("", "--password", PASSWORD),
    ("render", "-o", RENDERED),
    ("render", "--output", RENDERED),
    ("images", "-o", STDOUT),
    ("inspect", "-o", STDOUT),
    ("list", "-o", STDOUT),
    ("pull", "-d", PULLED),
    ("pull", "--destination", PULLED),
    ("pull", "--untar", PULLED),
    ("", "--tls-verify", TLS),
];

const DIGEST: &str =
    "a digest is a part of the reference: HOST/REPOSITORY@sha256:…, or oci:DIR@sha256:…";
const PASSWORD: &str = "everybody on this machine can read a command line: pipe the password in with --password-stdin, or set BUNDLE_PASSWORD";
const RENDERED: &str =
    "the objects go to stdout: write `> FILE`, or --output-dir DIR for a file of each";
const STDOUT: &str = "the answer goes to stdout: write `> FILE`; --format json is for machines";
const PULLED: &str = "`-o DIR` says where it is unpacked to";
const TLS: &str = "--insecure skips the verification of the certificate, and --plain-http is HTTP";

/// Returns what to do instead of a flag that a command does not have.
pub(crate) fn hint(command: &str, flag: &str) -> Option<&'static str> {
    let flag = flag.split('=').next().unwrap_or(flag);
    HABITS
        .iter()
        .find(|(of, known, _)| (of.is_empty() || *of == command) && *known == flag)
        .map(|(_, _, hint)| *hint)
}

/// Tells whether a flag may be a slip of the pen for another: one begins as the other, or few letters differ.
pub(crate) fn is_near(typed: &str, known: &str) -> bool {
    let bare = |flag: &str| flag.trim_start_matches('-').to_owned();
    let (typed, known) = (bare(typed), bare(known));
    let shorter = typed.len().min(known.len());
    if shorter >= 3 && (typed.starts_with(&known) || known.starts_with(&typed)) {
        return true;
    }
    distance(&typed, &known) <= if shorter > 4 { 2 } else { 1 }
}

/// Counts the letters to put in, to leave out and to exchange.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, c) in one.chars().enumerate() {
        let mut next = vec![at.saturating_add(1)];
        let steps = row.iter().zip(row.iter().skip(1)).zip(&other);
        for ((diagonal, above), letter) in steps {
            let exchanged = diagonal.saturating_add(usize::from(*letter != c));
            let left = next.last().copied().unwrap_or_default();
            next.push(
                exchanged
                    .min(above.saturating_add(1))
                    .min(left.saturating_add(1)),
            );
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_slips_of_the_pen_are_near() {
        for (typed, known, near) in [
            ("--digest", "--quiet", false),
            ("--forse", "--force", true),
            ("--fromat", "--format", true),
            ("--username", "--user", true),
            ("--user", "--username", true),
            ("--no", "--no-head", false),
            ("--al", "--all", true),
            ("--x", "--all", false),
        ] {
            assert_eq!(is_near(typed, known), near, "{typed} {known}");
        }
    }

    #[test]
    fn a_habit_is_of_one_command_or_of_all() {
        assert_eq!(hint("login", "-p"), Some(PASSWORD));
        assert_eq!(hint("push", "-p"), None);
        assert_eq!(hint("copy", "--tls-verify=false"), Some(TLS));
        assert_eq!(hint("verify", "--digest"), Some(DIGEST));
    }
}
