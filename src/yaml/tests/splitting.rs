//! Where files are split, and on which lines documents begin.

use serde_json::json;

use super::super::{documents, metadata_document};
use super::{all, fault, value};
use crate::limits::Limits;

#[test]
fn files_are_split_where_kubernetes_splits_them() {
    let a = || value(json!({"a": 1}));
    let b = || value(json!({"b": 2}));
    let null = || value(json!(null));
    for (text, want) in [
        ("", vec![]),
        ("\n \t\r\n", vec![]),
        ("---", vec![]),
        ("---\n---\n\n---\n", vec![]),
        ("# only a comment\n", vec![null()]),
        ("~\n", vec![null()]),
        ("a: 1", vec![a()]),
        ("---\na: 1\n---\n", vec![a()]),
        ("a: 1\n---\nb: 2\n", vec![a(), b()]),
        ("a: 1\r\n---\r\nb: 2\r\n", vec![a(), b()]),
        // A comment or blanks may follow the dashes, even without a blank between them.
        ("a: 1\n--- # second\nb: 2\n", vec![a(), b()]),
        ("a: 1\n---   \nb: 2\n", vec![a(), b()]),
        ("a: 1\n---\t# x\nb: 2\n", vec![a(), b()]),
        ("a: 1\n---#x\nb: 2\n", vec![a(), b()]),
        ("# licence\n---\na: 1\n", vec![null(), a()]),
        ("a: 1\n---\n# nothing\n---\nb: 2\n", vec![a(), null(), b()]),
        // The end of a document may be marked.
        ("a: 1\n...\n", vec![a()]),
        ("a: 1\n...\n# end\n---\nb: 2\n", vec![a(), b()]),
        // The first document of a file may begin behind the dashes.
        ("--- {a: 1}\n", vec![a()]),
        ("# c\n--- {a: 1}\n---\nb: 2\n", vec![a(), b()]),
        ("--- !!map\na: 1\n", vec![a()]),
        // Dashes elsewhere are text.
        ("a: 1 # ---\n---\nb: 2\n", vec![a(), b()]),
        (
            "t: |\n  ---\n  ...\n  x\n",
            vec![value(json!({"t": "---\n...\nx\n"}))],
        ),
        ("t: \"\n  ---\n  y\"\n", vec![value(json!({"t": " --- y"}))]),
        ("x---y: ---z\n", vec![value(json!({"x---y": "---z"}))]),
        ("----\n", vec![value(json!("----"))]),
        ("---x\n", vec![value(json!("---x"))]),
        ("- 1\n- 2\n", vec![value(json!([1, 2]))]),
        // A mark of the encoding may begin each document.
        ("\u{feff}a: 1\n---\n\u{feff}b: 2\n", vec![a(), b()]),
        ("\u{feff}---\na: 1\n", vec![a()]),
    ] {
        assert_eq!(all(text), want, "{text:?}");
    }
}

#[test]
fn a_document_that_kubernetes_would_drop_is_a_fault() {
    let a = || value(json!({"a": 1}));
    for (text, want) in [
        ("a: 1\n--- text\n", "lost-document 2:1"),
        ("a: 1\n--- {b: 2}\n", "lost-document 2:1"),
        ("a: 1\n---\tb\n", "lost-document 2:1"),
        ("a: 1\n--- |\n  text\n", "lost-document 2:1"),
        ("a: 1\n--- &x\nb: 2\n", "lost-document 2:1"),
        ("a: 1\n...\nb: 2\n", "lost-document 3:1"),
        ("a: 1\n...\n\n  b: 2\n", "lost-document 4:3"),
        ("a: 1\r---\rb: 2\r\n", "lost-document 2:1"),
    ] {
        assert_eq!(all(text), [fault(want)], "{text:?}");
        let after = format!("{text}---\na: 1\n");
        assert_eq!(all(&after), [fault(want), a()], "{after:?}");
    }
}

#[test]
fn a_fault_takes_the_place_of_its_document_only() {
    let text =
        "a: [\n---\na: \"\n---\nb: 2\n---\nc: 1\nc: 2\n---\n- x\n y: [\n---\nd: \u{1}\n---\ne: 5\n";
    assert_eq!(
        all(text),
        [
            fault("syntax 1:4"),
            fault("syntax 3:4"),
            value(json!({"b": 2})),
            fault("duplicate-key 8:1"),
            fault("syntax 11:3"),
            fault("control-character 13:4"),
            value(json!({"e": 5})),
        ]
    );
}

#[test]
fn documents_know_their_lines_and_bytes() {
    let text = "# one\na: 1\n--- # two\n\n\nb: 2\n---\n---\n# three\n---\r\n  c: 3";
    let limits = Limits::default();
    let found: Vec<_> = documents(text.as_bytes(), &limits)
        .map(|document| {
            let document = document.unwrap();
            let part = &text[document.range.clone()];
            (
                document.line,
                document.root.line,
                document.root.column,
                document.is_empty,
                part,
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            (1, 2, 1, false, "# one\na: 1\n"),
            (4, 6, 1, false, "\n\nb: 2\n"),
            (9, 9, 1, true, "# three\n"),
            (11, 11, 3, false, "  c: 3"),
        ]
    );
}

#[test]
fn separators_are_found_at_every_offset() {
    for before in 0..200 {
        let text = format!("#{}\n---\na: 1\n", "x".repeat(before));
        assert_eq!(
            all(&text),
            [value(json!(null)), value(json!({"a": 1}))],
            "{before}"
        );
        let text = format!("a: {}\n-- -\n--\n-\n", "x".repeat(before));
        assert_eq!(all(&text).len(), 1, "{before}");
        let text = format!("#{}\n---", "x".repeat(before));
        assert_eq!(all(&text), [value(json!(null))], "{before}");
    }
}

#[test]
fn metadata_is_one_plain_document() {
    let limits = Limits::default();
    let read =
        |text: &str| super::seen(metadata_document(text.as_bytes(), &limits).map(|d| d.root));
    let ok = || value(json!({"annotations": {"k": "v"}}));
    for (text, want) in [
        ("annotations:\n  k: v\n", ok()),
        ("# c\n---\nannotations: {k: v} # d\n---\n# e\n", ok()),
        ("{\"annotations\": {\"k\": \"v\"}}", ok()),
        ("\u{feff}annotations:\r\n  k: 'v'\r\n", ok()),
        (
            "k: '*a &b !c <<'\n'<<': 1\n",
            value(json!({"k": "*a &b !c <<", "<<": 1})),
        ),
        ("", fault("not-one-document 1:1")),
        ("# c\n", fault("not-one-document 1:1")),
        ("a: 1\n---\n  b: 2\n", fault("not-one-document 3:3")),
        ("a: 1\n---\n~\n", fault("not-one-document 3:1")),
        ("a: 1\n---\nb: [\n", fault("syntax 3:4")),
        ("a: 1\n...\ngarbage\n", fault("lost-document 3:1")),
        ("a: &x 1\n", fault("not-plain 1:4")),
        ("&x a: 1\n", fault("not-plain 1:1")),
        ("a: &x\n  b: 1\n", fault("not-plain 1:4")),
        ("a: &x [1]\n", fault("not-plain 1:4")),
        ("a: !!str 1\n", fault("not-plain 1:4")),
        ("a: !mine\n  b: 1\n", fault("not-plain 1:4")),
        ("a: !!python/object:os.system x\n", fault("not-plain 1:4")),
        ("<<: {b: 1}\n", fault("not-plain 1:1")),
        ("a: *x\n", fault("unknown-alias 1:4")),
        ("a: 1\na: 2\n", fault("duplicate-key 2:1")),
        ("%YAML 1.1\n---\na: 1\n", fault("syntax 1:1")),
    ] {
        assert_eq!(read(text), want, "{text:?}");
    }
}
