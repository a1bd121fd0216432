//! Values, keys, merges and places.

use serde_json::json;

use super::super::{Node, Style, Value};
use super::{all, each, fault, one, value};

#[test]
fn values_are_what_kubernetes_sees() {
    for (text, want) in [
        (
            "[y, no, On, 0644, 0o17, 1_000, 0x1f]",
            json!([true, false, true, 420, 15, 1000, 31]),
        ),
        ("['y', \"no\", '0644']", json!(["y", "no", "0644"])),
        (
            "[1:30, 2001-01-01, 12e3456, <<, =]",
            json!(["1:30", "2001-01-01", "12e3456", "<<", "="]),
        ),
        ("[1.10, .5, 1e3, -0.0]", json!([1.1, 0.5, 1000.0, -0.0])),
        (
            "[18446744073709551615, 18446744073709551616]",
            json!([u64::MAX, 18_446_744_073_709_551_616.0]),
        ),
        (
            "a:\nb: ~\nc: Null\nd: ''\n",
            json!({"a": null, "b": null, "c": null, "d": ""}),
        ),
        (
            "a: |\n  x\n  y\n\nb: >\n  x\n  y\n",
            json!({"a": "x\ny\n", "b": "x y\n"}),
        ),
        ("a: |-\n  x\n", json!({"a": "x"})),
        ("a: |+\n  x\n\n\n", json!({"a": "x\n\n\n"})),
        ("a: |\n  without an end", json!({"a": "without an end"})),
        ("a: >\n  without\n  an end", json!({"a": "without an end"})),
        ("a: |2\n   x\n  y\n", json!({"a": " x\ny\n"})),
        (
            "a: 'it''s'\nb: \"\\x41\\u00e9\\t\"\n",
            json!({"a": "it's", "b": "Aé\t"}),
        ),
        ("a: x\n  y\n\n  z\n", json!({"a": "x y\nz"})),
        (
            "a: |\r\n  x\r\n  y\r\nb: 1\r\n",
            json!({"a": "x\ny\n", "b": 1}),
        ),
        (
            "a:\n- b\n- c: 1\n  d: 2\n",
            json!({"a": ["b", {"c": 1, "d": 2}]}),
        ),
        (
            "{a, b: , c: [d: 1]}",
            json!({"a": null, "b": null, "c": [{"d": 1}]}),
        ),
        (
            "a: b#c # d\nu: http://x:80/#y\n",
            json!({"a": "b#c", "u": "http://x:80/#y"}),
        ),
        ("? a\n: b\n? c\n", json!({"a": "b", "c": null})),
        (
            "a: !!str 12\nb: ! 12\nc: !x 12\nd: !!float 3\n",
            json!({"a": "12", "b": "12", "c": "12", "d": 3.0}),
        ),
        (
            "a: !!str\nb: !!binary aGVsbG8=\nc: !!set {x, z}\n",
            json!({"a": "", "b": "hello", "c": {"x": null, "z": null}}),
        ),
        ("text", json!("text")),
        // JSON, also with what YAML 1.1 does not know.
        (
            "{\"a\":1,\"b\":[true,null,\"\\/\\ud83d\\ude00\"],\n\t\"c\":{}}",
            json!({"a": 1, "b": [true, null, "/😀"], "c": {}}),
        ),
    ] {
        assert_eq!(all(text), [value(want)], "{text:?}");
    }
}

#[test]
fn keys_become_strings() {
    let text =
        "on: 1\n1: 2\n1.10: 3\n0x10: 4\n1e6: 5\n2001-01-01: 6\n'off': 7\n.inf: 8\n&k k: 9\nv: *k\n";
    let want = json!({"true": 1, "1": 2, "1.1": 3, "16": 4, "1e+06": 5, "2001-01-01": 6, "off": 7, ".inf": 8,
        "k": 9, "v": "k"});
    assert_eq!(all(text), [value(want)]);
    let alias = "a: &k name\n*k : x\n";
    assert_eq!(all(alias), [value(json!({"a": "name", "name": "x"}))]);
    let node = one("on: 1\nb: 2\n'no': 3\n").unwrap();
    let plain: Vec<_> = node
        .as_mapping()
        .unwrap()
        .iter()
        .map(|(key, _)| key.plain_text())
        .collect();
    assert_eq!(
        plain,
        [Some("on"), None, None],
        "the text of a key that is no string"
    );
}

#[test]
fn merges_follow_go() {
    let base = "x: &x {p: 1, q: 2}\n";
    for (text, want) in [
        ("z: {<<: *x, r: 3}", json!({"p": 1, "q": 2, "r": 3})),
        ("z: {<<: *x, p: 9}", json!({"p": 9, "q": 2})),
        // Against the specification of merge keys, and as Go does: what comes later wins.
        ("z: {p: 9, <<: *x}", json!({"p": 1, "q": 2})),
        (
            "z: {<<: [{p: 3}, *x, {r: 4}], s: 5}",
            json!({"p": 3, "q": 2, "r": 4, "s": 5}),
        ),
        ("z: {<<: [], s: 5}", json!({"s": 5})),
        (
            "z: {<<: {<<: *x, p: 7}, s: 5}",
            json!({"p": 7, "q": 2, "s": 5}),
        ),
        ("z: {<<: *x, <<: {p: 7}}", json!({"p": 7, "q": 2})),
        ("z: {'<<': 1}", json!({"<<": 1})),
        ("z: {!!merge <<: *x}", json!({"p": 1, "q": 2})),
        ("z: {! <<: *x}", json!({"p": 1, "q": 2})),
    ] {
        let node = one(&format!("{base}{text}\n")).unwrap();
        assert_eq!(node.get("z").unwrap().to_json(), want, "{text}");
    }
    let node = one(&format!("{base}z:\n  <<: *x\n  p: 9\n")).unwrap();
    let keys = node.get("z").unwrap().as_mapping().unwrap();
    let keys: Vec<_> = keys
        .iter()
        .map(|(key, value)| (&*key.text, key.merged, key.line, value.line))
        .collect();
    assert_eq!(
        keys,
        [("p", false, 4, 4), ("q", true, 1, 1)],
        "merged entries keep their places"
    );
}

#[test]
fn large_mappings_find_their_keys() {
    let entries = each(100, |i| format!("k{i}: {i}\n"));
    for again in [0, 15, 16, 17, 99] {
        let text = format!("{entries}k{again}: x\n");
        assert_eq!(all(&text), [fault("duplicate-key 101:1")], "{again}");
    }
    let entries = each(100, |i| format!("  k{i}: {i}\n"));
    let node = one(&format!(
        "a: &a\n{entries}b:\n  k7: 1\n  <<: *a\n  k8: x\n  new: 1\n"
    ))
    .unwrap();
    let merged = node.get("b").unwrap();
    assert_eq!(merged.as_mapping().unwrap().len(), 101);
    assert_eq!(merged.get("k7").unwrap().to_json(), json!(7));
    assert_eq!(merged.get("k8").unwrap().to_json(), json!("x"));
}

/// Writes each scalar and collection as `line:column style text`.
fn places(node: &Node, out: &mut Vec<String>) {
    let text = match &node.value {
        Value::Sequence(_) => "[]".to_owned(),
        Value::Mapping(_) => "{}".to_owned(),
        _ => node.to_json().to_string(),
    };
    out.push(format!(
        "{}:{} {:?} {text}",
        node.line, node.column, node.style
    ));
    for item in node.as_sequence().unwrap_or_default() {
        places(item, out);
    }
    for (key, value) in node.as_mapping().unwrap_or_default() {
        out.push(format!("{}:{} key {}", key.line, key.column, key.text));
        places(value, out);
    }
}

#[test]
fn every_node_knows_where_it_begins() {
    let text = "\u{feff}# c\nspec:\n  list:\n  - one\n  - name: 'two'\n    m: \"x\"\n  flow: {a: [1, b], ä: ü, c: y}\n  \
                text: |\n    body\n  fold: >-\n    body\n  none:\n  tag: !!str 1\n  anchor: &a v\n  alias: *a\n";
    let mut found = Vec::new();
    places(&one(text).unwrap(), &mut found);
    let want = [
        "2:1 Block {}",
        "2:1 key spec",
        "3:3 Block {}",
        "3:3 key list",
        "4:5 Block []",
        "4:5 Plain \"one\"",
        "5:5 Block {}",
        "5:5 key name",
        "5:11 SingleQuoted \"two\"",
        "6:5 key m",
        "6:8 DoubleQuoted \"x\"",
        "7:3 key flow",
        "7:9 Flow {}",
        "7:10 key a",
        "7:13 Flow []",
        "7:14 Plain 1",
        "7:17 Plain \"b\"",
        "7:21 key ä",
        "7:24 Plain \"ü\"",
        "7:27 key c",
        "7:30 Plain true",
        "8:3 key text",
        "9:5 Literal \"body\\n\"",
        "10:3 key fold",
        "11:5 Folded \"body\"",
        "12:3 key none",
        "12:7 Plain null",
        "13:3 key tag",
        "13:14 Plain \"1\"",
        "14:3 key anchor",
        "14:14 Plain \"v\"",
        "15:3 key alias",
        "14:14 Plain \"v\"",
    ];
    assert_eq!(found, want);
}

#[test]
fn unquoted_scalars_keep_their_text() {
    let node = one("[1.10, yes, 'yes', 0644, plain, ~, , \"x\"]"
        .replace(", ,", ",")
        .as_str())
    .unwrap();
    let texts: Vec<_> = node
        .as_sequence()
        .unwrap()
        .iter()
        .map(Node::plain_text)
        .collect();
    assert_eq!(
        texts,
        [
            Some("1.10"),
            Some("yes"),
            None,
            Some("0644"),
            Some("plain"),
            Some("~"),
            None
        ]
    );
    let node = one("a:\nb: |\n  1\n").unwrap();
    assert_eq!(
        node.get("a").unwrap().plain_text(),
        None,
        "nothing is written"
    );
    assert_eq!(node.get("b").unwrap().plain_text(), None);
    assert_eq!(node.get("a").unwrap().style, Style::Plain);
}

#[test]
fn nodes_are_looked_up_by_path() {
    let node = one("metadata:\n  annotations:\n    a.b/c: d\nlist: [x]\n").unwrap();
    let found = node.at(&["metadata", "annotations", "a.b/c"]).unwrap();
    assert_eq!((found.as_str(), found.line), (Some("d"), 3));
    assert_eq!(node.at(&[]), Some(&node));
    assert_eq!(node.at(&["metadata", "x"]), None);
    assert_eq!(node.at(&["list", "x"]), None);
    assert_eq!(node.get("list").unwrap().as_sequence().unwrap().len(), 1);
    assert_eq!(node.as_str(), None);
    assert!(!node.is_null() && one("~").unwrap().is_null());
    assert_eq!(node.value.kind_name(), "a mapping");
}
