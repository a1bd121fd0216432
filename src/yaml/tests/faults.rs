//! Each fault with its line and column.

use super::super::FaultKind;
use super::{all, fault, one};
use crate::error::Kind;

#[test]
fn faults_have_exact_places() {
    for (text, want) in [
        // Syntax.
        ("a: [1, 2\n", "syntax 1:4"),
        ("[~, , 1]\n", "syntax 1:5"),
        ("a:\n\tb: 1\n", "syntax 2:2"),
        ("a: b: c\n", "syntax 1:5"),
        ("a: 'x\n", "syntax 1:4"),
        ("a: \"\\q\"\n", "syntax 1:4"),
        ("a: @b\n", "syntax 1:4"),
        ("a: `b\n", "syntax 1:4"),
        ("- a\n-b\n", "syntax 2:1"),
        ("a\nb: c\n", "syntax 2:2"),
        ("a: {b: 1\nc: 2\n", "syntax 2:2"),
        ("{{ .Values.x }}\n", "bad-key 1:2"),
        ("a: {{ .x }}\n", "bad-key 1:5"),
        ("{{- if .x }}\na: 1\n", "syntax 1:3"),
        ("a: !e!x 1\n", "syntax 1:4"),
        ("a: *\n", "syntax 1:4"),
        ("%YAML 1.2\n--- {a: 1}\n", "syntax 1:1"),
        ("# c\n%TAG ! tag:x\n", "syntax 2:1"),
        ("a: 1\n... x\n", "syntax 2:5"),
        ("a: 1\n\u{feff}b: 2\n", "control-character 2:1"),
        ("a: \u{feff}b\n", "syntax 1:4"),
        ("a: {b:}\n", "syntax 1:6"),
        ("a: {b:, c: 1}\n", "syntax 1:6"),
        ("a: [b:]\n", "syntax 1:6"),
        ("a: {b:[c]}\n", "syntax 1:6"),
        // Keys.
        ("a: 1\nb: 2\na: 3\n", "duplicate-key 3:1"),
        ("a:\n  b: 1\n  c: 2\n  b: 3\n", "duplicate-key 4:3"),
        ("{a: 1, a: 2}\n", "duplicate-key 1:8"),
        ("a: 1\n'a': 2\n", "duplicate-key 2:1"),
        ("yes: 1\ntrue: 2\n", "duplicate-key 2:1"),
        ("1: a\n'1': b\n", "duplicate-key 2:1"),
        ("1: a\n1.0: b\n", "duplicate-key 2:1"),
        ("- {x: 1}\n- {y: 1, y: 2}\n", "duplicate-key 2:10"),
        ("a: &a {x: 1, x: 2}\n", "duplicate-key 1:14"),
        ("a: {<<: {x: 1}, x: 2, x: 3}\n", "duplicate-key 1:23"),
        ("a: {x: 1, <<: {x: 2}, x: 3}\n", "duplicate-key 1:23"),
        ("~: a\n", "bad-key 1:1"),
        (": a\n", "bad-key 1:1"),
        ("[a]: b\n", "bad-key 1:1"),
        ("{a: b}: c\n", "bad-key 1:1"),
        ("? - a\n: b\n", "bad-key 1:3"),
        ("18446744073709551615: a\n", "bad-key 1:1"),
        ("a: &k [1]\n*k : b\n", "bad-key 2:1"),
        // Merges.
        ("a: {<<: ~}\n", "bad-merge 1:5"),
        ("a: {<<: text}\n", "bad-merge 1:5"),
        ("a:\n  <<: [x]\n", "bad-merge 2:3"),
        ("s: &s [{a: 1}]\nt: {<<: *s}\n", "bad-merge 2:5"),
        ("s: &s {a: 1}\nt: {<<: [[*s]]}\n", "bad-merge 2:5"),
        ("s: &s 1\nt: {<<: *s}\n", "bad-merge 2:5"),
        // Scalars.
        ("a: .inf\n", "not-finite 1:4"),
        ("a:\n  - -.INF\n", "not-finite 2:5"),
        ("a: .NaN\n", "not-finite 1:4"),
        ("a: !!float .inf\n", "not-finite 1:12"),
        ("a: !!int 3.5\n", "bad-tag 1:10"),
        ("a: !!binary a*b\n", "bad-tag 1:13"),
        // Aliases.
        ("a: *b\n", "unknown-alias 1:4"),
        ("a: &a 1\n*a: b\n", "syntax 2:1"),
        ("a: &a.b 1\n", "syntax 1:4"),
        ("- &a:b x\n", "syntax 1:3"),
        ("a: &ä\n  b: 1\n", "syntax 1:4"),
        ("a: 1\n---\nb: *a\n", "unknown-alias 3:4"),
        ("a: *b\nb: &b 1\n", "unknown-alias 1:4"),
        ("a: &a [*a]\n", "self-alias 1:8"),
        ("a: &a\n  b: *a\n", "self-alias 2:6"),
        ("a: &a\n  <<: *a\n", "self-alias 2:7"),
        // Characters.
        ("a: \u{0}\n", "control-character 1:4"),
        ("a: 1\n# ä\u{7f}\n", "control-character 2:4"),
        ("a: |\n  x\u{2028}y\n", "line-break 2:4"),
        ("a: x\u{2029}y\n", "line-break 1:5"),
        ("a: 1 # x\u{2028}y\n", "line-break 1:9"),
        ("a: 'x\u{2028} y'\n", "line-break 1:6"),
        ("a: \"x\u{85}y\"\n", "line-break 1:6"),
        ("a: 1\n# x\u{85}\n", "line-break 2:4"),
        ("a: \"\u{2028}\" #\u{2028}\n", "line-break 1:9"),
    ] {
        let found = all(text);
        assert_eq!(found.last(), Some(&fault(want)), "{text:?}: {found:?}");
    }
}

#[test]
fn characters_that_end_lines_elsewhere_are_kept_in_quotes() {
    for text in [
        "a: \"x\u{2028}y\"\n",
        "a: 'x\u{2028}y' # c\n",
        "'x\u{2028}y': \"x\u{2028}y\"\n",
    ] {
        let node = one(text).unwrap();
        let (_, value) = &node.as_mapping().unwrap()[0];
        assert_eq!(value.as_str(), Some("x\u{2028}y"), "{text:?}");
    }
}

#[test]
fn messages_name_what_is_wrong() {
    for (text, want) in [
        (
            "a: 1\nb: 2\na: 3\n",
            "the key `a` is there twice, first on line 1",
        ),
        (
            "\"\\e\": 1\n\"\\e\": 2\n",
            "the key `\\u{1b}` is there twice, first on line 1",
        ),
        ("a: [*none, 1]\n", "`*none` has no anchor before it"),
        ("a: &a [*a]\n", "`*a` repeats the value that it stands in"),
        ("a: !!int x\n", "`x` does not fit its tag `!!int`"),
        ("a: \u{7}\n", "the character U+0007 is not allowed in YAML"),
        ("~: 1\n", "null cannot be a key; put it in quotes"),
        (
            "a: x\u{2028}y\n",
            "U+2028 ends a line for Kubernetes; write it as `\\u2028` in double quotes",
        ),
    ] {
        assert_eq!(one(text).unwrap_err().message, want);
    }
    let fault = one("k:\n  a: 1\n  b: 2\n  a: 3\n").unwrap_err();
    assert_eq!(
        fault.kind,
        FaultKind::DuplicateKey {
            key: "a".into(),
            first_line: 2
        }
    );
    let shown = "line 4, column 3: the key `a` is there twice, first on line 2";
    assert_eq!(fault.to_string(), shown);
    let error = fault.into_error();
    assert_eq!(
        (error.kind(), error.message(), error.detail().line),
        (Kind::Invalid, shown, Some(4))
    );
}
