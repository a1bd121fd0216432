//! What a check costs, and that it is charged.

use super::*;

/// Returns how many steps an object costs.
fn spent(schema: &str, object: &str) -> u64 {
    let mut budget = Budget::default();
    let before = budget.steps;
    check(
        &Schema::read(&node(schema)),
        true,
        &mut node(object),
        &mut budget,
    );
    before - budget.steps
}

/// Joins what is made of the numbers below a thousand.
fn thousand(each: impl Fn(u32) -> String) -> String {
    (0..1_000).map(each).collect::<Vec<_>>().join(", ")
}

#[test]
fn what_is_charged_is_what_is_done() {
    let (names, fields) = (
        thousand(|n| format!("r{n}")),
        thousand(|n| format!("f{n}: 1")),
    );
    let defaults = thousand(|n| format!("d{n}: {{default: 1}}"));
    let ones = thousand(|_| "1".into());
    for (what, schema, object, expected) in [
        (
            "names and fields once each",
            format!("{{x-kubernetes-preserve-unknown-fields: true, required: [{names}]}}"),
            format!("{{{fields}}}"),
            3_000..10_000,
        ),
        (
            "defaults and fields once each",
            format!("{{x-kubernetes-preserve-unknown-fields: true, properties: {{{defaults}}}}}"),
            format!("{{{fields}}}"),
            3_000..20_000,
        ),
        (
            "fields that nothing is said about, by each schema",
            format!(
                "{{x-kubernetes-preserve-unknown-fields: true, allOf: [{}]}}",
                "{},".repeat(100)
            ),
            format!("{{{fields}}}"),
            100_000..200_000,
        ),
        (
            "values of the same kind, node by node",
            format!("{{properties: {{a: {{enum: [[{ones}], [{ones}]]}}}}}}"),
            format!("a: [{ones}]"),
            1_000..5_000,
        ),
        (
            "values of another kind not at all",
            format!("{{properties: {{a: {{enum: [{{a: [{ones}]}}]}}}}}}"),
            "a: []".into(),
            1..20,
        ),
        (
            "a long text, once",
            "{properties: {a: {maxLength: 1}}}".into(),
            format!("a: {}", "x".repeat(640_000)),
            10_000..20_000,
        ),
        (
            "a large pattern by its size",
            "{properties: {a: {pattern: '(a|b|ab)*c(.{1,60}d){1,8}Q'}}}".into(),
            format!("a: {}", "x".repeat(10_000)),
            100_000..1_000_000,
        ),
        (
            "a small pattern by the length of the text",
            "{properties: {a: {pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'}}}".into(),
            format!("a: {}", "x".repeat(10_000)),
            10_000..20_000,
        ),
        (
            "keys that tell items apart",
            format!(
                "{{properties: {{a: {{x-kubernetes-preserve-unknown-fields: true, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [{names}]}}}}}}"
            ),
            format!("a: [{{{fields}}}]"),
            2_000..20_000,
        ),
    ] {
        let spent = spent(&schema, &object);
        assert!(expected.contains(&spent), "{what}: {spent}");
    }
}

#[test]
fn a_long_value_that_an_enum_asks_for_is_not_written_out() {
    let ones = thousand(|_| "1".into());
    let wrong = found(
        &format!("{{properties: {{a: {{enum: [{{a: [{ones}], b: '{ones}'}}, {{}}, []]}}}}}}"),
        "a: 1",
    );
    let begin = "{\"a\":[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,";
    assert_eq!(
        wrong,
        [format!(
            "a is `1`, and must be one of `{begin}…`, `{{}}`, `[]`"
        )]
    );
    let equal = found(
        "{properties: {a: {x-kubernetes-preserve-unknown-fields: true, enum: [{b: 1, c: [x, ~, yes]}]}}}",
        "a: {c: [x, ~, yes], b: 1.0}",
    );
    assert!(equal.is_empty(), "{equal:?}");
}

#[test]
fn a_schema_that_versions_share_is_held_once() {
    let versions_of = |n: u32| format!("{{name: v{n}, served: true}}");
    let object = definition(&format!(
        "apiVersion: apiextensions.k8s.io/v1beta1
spec:
  group: example.org
  names: {{kind: Thing}}
  versions: [{}]
  validation: {{openAPIV3Schema: {{required: [a], properties: {{a: {{enum: [x, y], default: [x, y]}}}}}}}}
",
        thousand(versions_of)
    ));
    let all = VersionSchema::read_all(&object, versions(&object));
    assert_eq!(all.len(), 1_000);
    let nodes: Vec<u64> = all.iter().map(|(_, schema)| schema.nodes()).collect();
    // Two schemas, one name, two values, and a default of three.
    assert_eq!((nodes[0], nodes.iter().sum()), (8, 8));
}
