//! Objects against schemas: what an API server takes and what it says no to.

use super::*;
use crate::crd::tests::definition;
use crate::crd::versions;
use crate::limits::Limits;
use crate::yaml::documents;

mod work;

fn node(text: &str) -> Node {
    let limits = Limits::default();
    let document = documents(text.as_bytes(), &limits).next().unwrap();
    document.unwrap().root
}

/// Returns what does not fit, as `path message`; unknown fields as `path ?`.
fn found(schema: &str, object: &str) -> Vec<String> {
    let mut object = node(object);
    let schema = Schema::read(&node(schema));
    let found = check(&schema, true, &mut object, &mut Budget::default());
    let line = |mismatch: Mismatch| match mismatch.what {
        Wrong::Invalid(text) => format!("{} {text}", mismatch.path),
        Wrong::Unknown => format!("{} ?", mismatch.path),
    };
    found.into_iter().map(line).collect()
}

/// Returns what does not fit of a field `a` of a schema.
fn of_field(schema: &str, value: &str) -> Vec<String> {
    found(
        &format!("{{type: object, properties: {{a: {schema}}}}}"),
        &format!("a: {value}"),
    )
}

#[test]
fn types_are_those_of_json_as_go_reads_yaml() {
    for (schema, right, wrong) in [
        (
            "{type: string}",
            &["x", "'1'", "''"][..],
            &["1", "yes", "[]", "{}"][..],
        ),
        (
            "{type: integer}",
            &["1", "-1", "1.0", "18446744073709551615"],
            &["1.5", "'1'"],
        ),
        ("{type: number}", &["1", "1.5"], &["x"]),
        ("{type: boolean}", &["yes", "true"], &["'true'", "1"]),
        (
            "{type: array, items: {type: string}}",
            &["[]", "[x]", "~"],
            &["x", "{}", "[1]", "[~]"],
        ),
        (
            "{type: object, additionalProperties: {type: integer}}",
            &["{}", "{b: 1}", "{b: ~}"],
            &["{b: x}", "[]"],
        ),
        ("{type: string, nullable: true}", &["~", "x"], &["1"]),
        (
            "{x-kubernetes-int-or-string: true}",
            &["1", "10%"],
            &["1.5", "yes", "[]"],
        ),
        (
            "{x-kubernetes-preserve-unknown-fields: true}",
            &["1", "{b: [c]}", "~"],
            &[],
        ),
    ] {
        for value in right {
            assert_eq!(of_field(schema, value), [""; 0], "{schema} {value}");
        }
        for value in wrong {
            assert_eq!(of_field(schema, value).len(), 1, "{schema} {value}");
        }
    }
}

#[test]
fn a_message_says_where_what_and_what_instead() {
    for (schema, value, expected) in [
        (
            "{type: string}",
            "1",
            "a is a number `1`, and must be a string",
        ),
        (
            "{type: array, items: {type: integer}}",
            "[~]",
            "a[0] is null, and must be an integer",
        ),
        (
            "{type: array, items: {type: object, properties: {b: {type: boolean}}}}",
            "[{}, {b: x}]",
            "a[1].b is a string `x`, and must be a boolean",
        ),
        (
            "{type: object, required: [b, c], properties: {b: {}, c: {}}}",
            "{b: 1}",
            "a lacks `c`, which is required",
        ),
        (
            "{type: string, enum: [x, w]}",
            "z",
            "a is `z`, and must be one of `x`, `w`",
        ),
        (
            "{type: integer, enum: [1]}",
            "2",
            "a is `2`, and must be `1`",
        ),
        (
            "{type: string, pattern: '^[a-z]+$'}",
            "A",
            "a is `A`, and must match `^[a-z]+$`",
        ),
        (
            "{type: string, minLength: 2}",
            "ä",
            "a has 1 characters, and must have at least 2",
        ),
        (
            "{type: string, maxLength: 2}",
            "äöü",
            "a has 3 characters, and may have 2",
        ),
        (
            "{type: array, maxItems: 1, items: {}}",
            "[1, 2]",
            "a has 2 items, and may have 1",
        ),
        (
            "{type: object, minProperties: 1, additionalProperties: true}",
            "{}",
            "a has 0 fields, and must have at least 1",
        ),
        (
            "{type: integer, minimum: 1}",
            "0",
            "a is 0, and must be greater than or equal 1",
        ),
        (
            "{type: integer, minimum: 1, exclusiveMinimum: true}",
            "1",
            "a is 1, and must be greater than 1",
        ),
        (
            "{type: number, maximum: 1.5}",
            "1.6",
            "a is 1.6, and must be less than or equal 1.5",
        ),
        (
            "{type: integer, multipleOf: 5}",
            "12",
            "a is 12, and must be a multiple of 5",
        ),
        (
            "{type: string, format: ipv4}",
            "10.0.0",
            "a is `10.0.0`, and must be an IPv4 address",
        ),
        (
            "{type: array, x-kubernetes-list-type: set, items: {}}",
            "[b, c, b]",
            "a[2] is in the list already",
        ),
        (
            "{type: array, x-kubernetes-list-type: map, x-kubernetes-list-map-keys: [k], items: {type: object, properties: {k: {}, v: {}}}}",
            "[{k: 1, v: 1}, {k: 1, v: 2}]",
            "a[1] has the same k as an item before it",
        ),
        (
            "{type: object, additionalProperties: false}",
            "{b: 1}",
            "a.b is not allowed",
        ),
        (
            "{type: object, x-kubernetes-embedded-resource: true, x-kubernetes-preserve-unknown-fields: true}",
            "{kind: A}",
            "a lacks `apiVersion`, which is required",
        ),
    ] {
        assert_eq!(of_field(schema, value), [expected], "{schema} {value}");
    }
}

#[test]
fn alternatives_are_counted() {
    let two = "[{required: [b]}, {required: [c]}]";
    let fields = "type: object, properties: {b: {type: string}, c: {type: string}}";
    for (rule, value, fits) in [
        (format!("anyOf: {two}"), "{b: x}", true),
        (format!("anyOf: {two}"), "{b: x, c: z}", true),
        (format!("anyOf: {two}"), "{}", false),
        (format!("oneOf: {two}"), "{b: x}", true),
        (format!("oneOf: {two}"), "{b: x, c: z}", false),
        (format!("oneOf: {two}"), "{}", false),
        (format!("allOf: {two}"), "{b: x}", false),
        (format!("allOf: {two}"), "{b: x, c: z}", true),
        ("not: {required: [b]}".into(), "{c: x}", true),
        ("not: {required: [b]}".into(), "{b: x}", false),
        (
            "anyOf: [{properties: {b: {enum: [x]}}}, {properties: {b: {enum: [w]}}}]".into(),
            "{b: w}",
            true,
        ),
        (
            "anyOf: [{properties: {b: {enum: [x]}}}, {properties: {b: {enum: [w]}}}]".into(),
            "{b: z}",
            false,
        ),
    ] {
        let schema = format!("{{{fields}, {rule}}}");
        assert_eq!(of_field(&schema, value).is_empty(), fits, "{rule} {value}");
    }
}

#[test]
fn defaults_are_filled_in_before_anything_is_asked() {
    let schema = "{type: object, required: [b], properties: {b: {type: integer, default: 1}, c: {type: object, required: [d], properties: {d: {type: string, default: x}}}}}";
    for (value, expected) in [
        ("{}", None),
        // A null that may not be one is as good as nothing.
        ("{b: ~}", None),
        ("{c: {}}", None),
        (
            "{b: x}",
            Some("a.b is a string `x`, and must be an integer"),
        ),
    ] {
        assert_eq!(of_field(schema, value), Vec::from_iter(expected), "{value}");
    }
    let nullable = "{type: object, properties: {b: {type: string, nullable: true, default: x}}, not: {properties: {b: {enum: [x]}}}}";
    assert_eq!(of_field(nullable, "{b: ~}"), [""; 0]);
    assert_eq!(of_field(nullable, "{}").len(), 1);
    let lists = "{type: array, items: {type: object, required: [b], properties: {b: {type: string, default: x}}}}";
    assert_eq!(of_field(lists, "[{}, {b: z}]"), [""; 0]);
}

#[test]
fn fields_that_are_dropped_are_told_and_those_that_are_kept_are_not() {
    for (schema, value, expected) in [
        (
            "{type: object, properties: {b: {type: string}}}",
            "{b: x, c: {d: 1}}",
            Some("a.c ?"),
        ),
        ("{type: object}", "{b: x}", Some("a.b ?")),
        (
            "{type: object, x-kubernetes-preserve-unknown-fields: true}",
            "{b: x}",
            None,
        ),
        (
            "{type: object, x-kubernetes-preserve-unknown-fields: true, properties: {b: {type: object}}}",
            "{b: {c: x}, d: {}}",
            Some("a.b.c ?"),
        ),
        (
            "{type: object, additionalProperties: true}",
            "{b: {c: d}}",
            None,
        ),
        (
            "{type: object, additionalProperties: {type: object}}",
            "{b: {c: d}}",
            Some("a.b.c ?"),
        ),
        (
            "{type: array, items: {type: object, properties: {}}}",
            "[{}, {b: 1}]",
            Some("a[1].b ?"),
        ),
        (
            "{type: object, x-kubernetes-embedded-resource: true, properties: {spec: {type: object}}}",
            "{apiVersion: v1, kind: A, metadata: {name: a}, spec: {}}",
            None,
        ),
        (
            "{type: object, x-kubernetes-embedded-resource: true}",
            "{apiVersion: v1, kind: A, data: {}}",
            Some("a.data ?"),
        ),
    ] {
        assert_eq!(
            of_field(schema, value),
            Vec::from_iter(expected),
            "{schema} {value}"
        );
    }
    // What every object has needs no schema; what it says of names counts.
    let schema = "{type: object, properties: {metadata: {type: object, properties: {name: {type: string, maxLength: 1}}}}}";
    let object = "apiVersion: v1\nkind: A\nmetadata: {name: ab, labels: {a: b}}\nspec: {}\n";
    let expected = ["metadata.name has 2 characters, and may have 1", "spec ?"];
    assert_eq!(found(schema, object), expected);
}

#[test]
fn a_status_of_its_own_is_not_looked_at_when_an_object_is_created() {
    let text = "apiVersion: apiextensions.k8s.io/v1
spec:
  group: example.org
  names: {kind: Thing}
  versions:
  - name: v1
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, properties: {status: {type: object, required: [a], properties: {a: {}}}}}}
";
    for (text, count) in [
        (text.to_owned(), 0),
        (text.replace("    subresources: {status: {}}\n", ""), 1),
    ] {
        let object = definition(&text);
        let (_, schema) = VersionSchema::read_all(&object, versions(&object)).remove(0);
        let mut thing = node("apiVersion: example.org/v1\nkind: Thing\nstatus: {}\n");
        let found = schema.check(&mut thing, &mut Budget::default());
        assert_eq!(found.len(), count);
    }
}

#[test]
fn work_is_bounded_whatever_the_schema_asks() {
    // Two alternatives at each of 13 levels are 16,383 schemas; a list of ten thousand makes 160 million visits of them.
    let mut schema = "{type: object}".to_owned();
    for _ in 0..13 {
        schema = format!("{{anyOf: [{schema}, {schema}]}}");
    }
    let items = vec!["1"; 10_000].join(", ");
    let schema = format!("{{type: array, items: {schema}}}");
    let schema = Schema::read(&node(&format!(
        "{{type: object, properties: {{a: {schema}}}}}"
    )));
    let some = || Budget {
        steps: 200_000,
        ..Budget::default()
    };
    let mut budget = some();
    let mut object = node(&format!("a: [{items}]"));
    check(&schema, true, &mut object, &mut budget);
    assert!(budget.is_spent());
    // Defaults are as large as they are many.
    let default = vec!["x"; 1_000].join(", ");
    let schema = format!(
        "{{type: object, properties: {{a: {{type: array, items: {{type: object, properties: {{b: {{type: array, default: [{default}]}}}}}}}}}}}}"
    );
    let schema = Schema::read(&node(&schema));
    let mut object = node(&format!("a: [{}]", vec!["{}"; 10_000].join(", ")));
    let mut budget = some();
    check(&schema, true, &mut object, &mut budget);
    assert!(budget.is_spent());
}
