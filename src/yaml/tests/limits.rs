//! Ceilings, at the limit and one beyond, and input that is made to be slow.

use std::fmt::Write as _;

use super::super::documents;
use super::{Seen, all, each, fault, one, seen};
use crate::error::Kind;
use crate::limits::{Ceiling, Limits};

/// Reads all documents with one ceiling set.
fn with(ceiling: Ceiling, value: u64, text: &str) -> Vec<Seen> {
    let limits = Limits::default().with(ceiling, value);
    let all = documents(text.as_bytes(), &limits);
    all.map(|document| seen(document.map(|document| document.root)))
        .collect()
}

#[test]
fn ceilings_hold_at_the_limit_and_not_beyond() {
    let deep = |levels: usize| format!("{}x{}", "[".repeat(levels), "]".repeat(levels));
    let block = |levels: usize| {
        let mut text = String::new();
        for level in 0..levels {
            writeln!(text, "{}a:", " ".repeat(level)).unwrap();
        }
        text
    };
    let alias = |levels: usize| {
        format!(
            "- &a {}\n- {}*a{}\n",
            deep(4),
            "[".repeat(levels),
            "]".repeat(levels)
        )
    };
    let alias_in_mapping = |levels: usize| {
        format!(
            "- &a {{a: {{b: 1}}}}\n- {}*a{}\n",
            "{a: ".repeat(levels),
            "}".repeat(levels)
        )
    };
    for (text, fits) in [
        (deep(10), true),
        (deep(11), false),
        (deep(2000), false),
        (block(10), true),
        (block(11), false),
        ("- ".repeat(10), true),
        ("- ".repeat(11), false),
        ("- ".repeat(500), false),
        (alias(5), true),
        (alias(6), false),
        (alias_in_mapping(7), true),
        (alias_in_mapping(8), false),
    ] {
        let found = with(Ceiling::YamlDepth, 10, &text);
        let is_deep = matches!(&found[..], [Seen::Fault(fault)] if fault.starts_with("too-deep"));
        assert_eq!(is_deep, !fits, "{text} {found:?}");
    }
    // Keys and values are nodes: here a mapping, 2 keys, 2 values, and one node more.
    for (limit, text, want) in [
        (5, "a: 1\nb: 2\n", None),
        (4, "a: 1\nb: 2\n", Some("too-many-nodes 2:4")),
        (3, "a: 1\nb: 2\n", Some("too-many-nodes 2:1")),
        (9, "a: &a [1, 2]\nb: *a\n", Some("alias-expansion 2:4")),
        (10, "a: &a [1, 2]\nb: *a\n", None),
    ] {
        let found = with(Ceiling::YamlNodes, limit, text);
        let want = want.map(fault);
        assert_eq!(
            found.iter().find(|seen| matches!(seen, Seen::Fault(_))),
            want.as_ref(),
            "{limit} {text}"
        );
    }
    let text = "a: 1\n---\nb: 22\n---\nc: 3\n";
    assert_eq!(with(Ceiling::Yaml, 6, text).len(), 3);
    assert_eq!(with(Ceiling::Yaml, 5, text)[1], fault("too-large 3:1"));
    assert_eq!(with(Ceiling::YamlDocuments, 3, text).len(), 3);
    let found = with(Ceiling::YamlDocuments, 2, text);
    assert_eq!(
        found[2..],
        [fault("too-many-documents 5:1")],
        "and nothing after it"
    );
    assert_eq!(
        with(
            Ceiling::YamlDocuments,
            2,
            "---\n---\na: 1\n---\n\n---\nb: 1\n"
        )
        .len(),
        2
    );
}

#[test]
fn ceilings_become_errors_that_name_them() {
    for (ceiling, limit, text) in [
        (Ceiling::YamlDepth, 1, "[[1]]"),
        (Ceiling::YamlNodes, 1, "[1]"),
        (Ceiling::Yaml, 2, "[1]"),
        (Ceiling::YamlDocuments, 0, "[1]"),
    ] {
        let limits = Limits::default().with(ceiling, limit);
        let fault = documents(text.as_bytes(), &limits)
            .next()
            .unwrap()
            .unwrap_err();
        let error = fault.into_error();
        assert_eq!(error.kind(), Kind::Limit);
        assert!(
            error
                .message()
                .contains(&format!("`{}` = {limit}", ceiling.name())),
            "{error}"
        );
        assert_eq!(error.detail().line, Some(1));
    }
}

#[test]
fn a_limit_on_depth_never_lets_the_stack_run_out() {
    let text = format!("{}x{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(
        with(Ceiling::YamlDepth, u64::MAX, &text),
        [fault("too-deep 1:202")]
    );
}

#[test]
fn aliases_cannot_multiply_a_document() {
    let mut bomb = "a: &a [x,x,x,x,x,x,x,x,x]\n".to_owned();
    for (this, last) in "bcdefghi".chars().zip("abcdefgh".chars()) {
        let items = vec![format!("*{last}"); 9].join(",");
        writeln!(bomb, "{this}: &{this} [{items}]").unwrap();
    }
    let long = format!(
        "a: &a '{}'\nb: [{}]\n",
        "x".repeat(1_000_000),
        vec!["*a"; 99].join(", ")
    );
    let wide = format!(
        "a: &a [{}]\nb: [{}]\n",
        vec!["1"; 2000].join(","),
        vec!["*a"; 3000].join(", ")
    );
    let keys = each(1000, |i| format!("k{i}: 1,"));
    let merges = format!("a: &a {{{keys}}}\nb: {{{}}}\n", "<<: *a,".repeat(10_000));
    let list = format!("a: &a {{{keys}}}\nb: {{<<: [{}]}}\n", "*a,".repeat(10_000));
    let anchors = each(60, |i| format!("&a{i} ["));
    let nested = format!("{anchors}{}{}\n", "x,".repeat(20_000), "]".repeat(60));
    for text in [bomb, long, wide, merges, list, nested] {
        let fault = one(&text).unwrap_err();
        assert_eq!(fault.kind.name(), "alias-expansion", "{fault}");
        assert_eq!(fault.message, "aliases expand too far");
        assert_eq!(fault.into_error().kind(), Kind::Limit);
    }
}

#[test]
fn many_real_aliases_pass() {
    let text = format!(
        "a: &a x\nb: [{}]\nc: &c {{k: *a}}\nd: *c\n",
        vec!["*a"; 1000].join(", ")
    );
    assert_eq!(
        one(&text)
            .unwrap()
            .get("b")
            .unwrap()
            .as_sequence()
            .unwrap()
            .len(),
        1000
    );
}

/// Each takes milliseconds; an algorithm that is not linear would take minutes.
#[test]
fn hostile_input_is_read_in_linear_time() {
    const MANY: usize = 40_000;
    for (text, want) in [
        ("[".repeat(MANY), "too-deep 1:66"),
        ("{a: ".repeat(MANY), "too-deep 1:261"),
        ("- ".repeat(MANY), "too-deep 1:129"),
        ("%\n".repeat(MANY), "syntax 1:1"),
        ("\u{2028}".repeat(MANY), "line-break 1:1"),
        (format!("a: \"{}", "\\n".repeat(MANY)), "syntax 1:4"),
        (":".repeat(MANY), "syntax 1:40000"),
        ("? ".repeat(MANY), "bad-key 1:3"),
        ("!".repeat(MANY), "syntax 1:1"),
        ("&a ".repeat(MANY), "syntax 1:4"),
    ] {
        assert_eq!(all(&text), [fault(want)], "{}", &text[..20]);
    }
    let found = with(Ceiling::YamlDocuments, 10_000, &"[\n---\n".repeat(MANY));
    assert_eq!(found.len(), 10_001);
    assert_eq!(found.last(), Some(&fault("too-many-documents 20001:1")));
    assert_eq!(all(&"---\n".repeat(MANY)), []);
    assert_eq!(all(&format!("{}a: 1", " ".repeat(MANY))).len(), 1);
    assert_eq!(all(&format!("a: b{}c", " ".repeat(MANY))).len(), 1);
    for (line, count) in [
        ("k: 1", 0),
        ("- *a", 1),
        ("- &a x", 0),
        ("- \"x\u{2028}y\"", 0),
        ("- !x y", 0),
    ] {
        let text = if line == "k: 1" {
            each(MANY, |i| format!("k{i}: 1\n"))
        } else {
            ["- &a x\n".repeat(count), format!("{line}\n").repeat(MANY)].concat()
        };
        let node = one(&text).unwrap();
        let found = node
            .as_mapping()
            .map(<[_]>::len)
            .or(node.as_sequence().map(<[_]>::len));
        assert_eq!(found, Some(MANY + count), "{line}");
    }
}
