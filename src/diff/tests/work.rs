//! What a comparison costs and holds at most, and that it says so.

use super::*;
use crate::crd::tests::definition;
use crate::diff::budget::Room;
use crate::yaml::{Node, documents};

fn node(text: &str) -> Node {
    let limits = Limits::default();
    let document = documents(text.as_bytes(), &limits).next().unwrap();
    document.unwrap().root
}

/// Joins what is made of some numbers.
fn many(count: u32, each: impl Fn(u32) -> String) -> String {
    (0..count).map(each).collect::<Vec<_>>().join(", ")
}

#[test]
fn paths_of_roles_count_and_wildcards_cover_what_begins_with_them() {
    let role = |rules: &str| {
        format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {{name: x}}\nrules: {rules}\n"
        )
    };
    let urls =
        |verbs: &str, urls: &str| format!("[{{verbs: [{verbs}], nonResourceURLs: [{urls}]}}]");
    let numbers = many(300, |n| format!("w{n}"));
    let found = compared(&role(&urls("get", "/a")), &role(&urls(&numbers, &numbers)));
    assert!(found.unwrap().grants.first().unwrap().is_too_large);
    let wild = "'/a*', '/a/b*', '/a!*', '/a', '/c/*', /d";
    for (verbs, url, is_covered) in [
        ("get", "/a", true),
        ("get", "/abc", true),
        ("get", "/a/b/c", true),
        ("get", "/a!", true),
        ("get", "/", false),
        ("get", "/b", false),
        ("get", "/c", false),
        ("get", "/c/", true),
        ("get", "/d", true),
        ("get", "/d/e", false),
        ("put", "/a", false),
    ] {
        let found = compared(&role(&urls("get", wild)), &role(&urls(verbs, url))).unwrap();
        let gained = found.grants.first().map_or(0, |one| one.gained.len());
        assert_eq!(gained, usize::from(!is_covered), "{verbs} {url}");
        let any = compared(&role(&urls("'*'", wild)), &role(&urls("put", url))).unwrap();
        let gained = any.grants.first().map_or(0, |one| one.gained.len());
        assert_eq!(gained, usize::from(!is_covered && verbs == "get"), "{url}");
    }
}

#[test]
fn roles_have_room_together() {
    let rules = format!(
        "rules: [{{apiGroups: [''], resources: [{}], verbs: [get]}}]",
        many(10, |n| format!("r{n}"))
    );
    let node = node(&format!(
        "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {{name: x}}\n{rules}"
    ));
    let mut entries = crate::objects::in_document(node, "a.yaml").into_iter();
    let Some(Entry::Object(object)) = &entries.next() else {
        panic!("no object");
    };
    let mut room = Room(1_000);
    let mut is_too_large = || {
        grants::compare(None, Some(object), &[None, None], &mut room)
            .unwrap()
            .is_too_large
    };
    assert_eq!([is_too_large(), is_too_large()], [false, true]);
}

#[test]
fn long_keys_are_cut_and_fields_without_room_are_counted() {
    let long = |end: &str| format!("{}{end}", "k".repeat(10_000));
    let text = |value: u32| {
        format!(
            "{{? {} : {{a: {value}}}, ? {} : [{{name: {}, b: {value}}}]}}",
            long("x"),
            long("y"),
            long("z"),
        )
    };
    let mut budget = Budget::default();
    let found = fields::of_documents(&node(&text(1)), &node(&text(2)), false, &mut budget);
    let paths: Vec<String> = found.iter().map(|field| field.path.to_string()).collect();
    assert_eq!(paths.len(), 2);
    assert!(paths.iter().all(|path| path.len() < 400), "{paths:?}");
    assert!(paths[0].chars().take(100).eq(paths[1].chars().take(100)));
    assert!(paths[0].split('.').next() != paths[1].split('.').next());
    let mut budget = Budget {
        fields: Room(400),
        ..Budget::default()
    };
    let (old, new) = (
        many(100, |n| format!("a{n}: 1")),
        many(100, |n| format!("a{n}: 2")),
    );
    let (old, new) = (format!("{{{old}}}"), format!("{{{new}}}"));
    let found = fields::of_documents(&node(&old), &node(&new), false, &mut budget);
    assert_eq!((found.len(), budget.more_fields), (6, 94));
}

#[test]
fn what_breaks_is_counted_by_rule_where_there_is_no_room() {
    let definition = |body: &str| {
        definition(&format!(
            "apiVersion: apiextensions.k8s.io/v1beta1
spec:
  group: example.org
  names: {{kind: Thing}}
  preserveUnknownFields: false
  versions: [{}]
  validation: {{openAPIV3Schema: {{type: object, properties: {{{body}}}}}}}
",
            many(50, |n| format!("{{name: v{n}, served: true}}")),
        ))
    };
    let old = definition(&format!(
        "z: {{x-kubernetes-validations: []}}, {}",
        many(10, |n| format!("a{n}: {{type: string}}"))
    ));
    let new = definition("z: {x-kubernetes-validations: [{rule: x}]}");
    let of = |size: usize| {
        let mut budget = Budget {
            breaking: Room(size),
            ..Budget::default()
        };
        breaking::of_change(&old, &new, &mut budget)
    };
    let all = of(1 << 20);
    // Ten fields and a rule, once for each version.
    assert_eq!(all.len(), 50 * 11);
    let at = |version: usize| {
        let path = format!("spec.versions[name=v{version}].schema.openAPIV3Schema.properties.a0");
        all.iter()
            .filter(|one| one.path.to_string() == path)
            .count()
    };
    assert_eq!((0..50).map(at).sum::<usize>(), 50);
    for size in [0, 1_000, 10_000] {
        let found = of(size);
        let count = |certain: bool| {
            let of_kind = found.iter().filter(|one| one.certain == certain);
            let counts = of_kind.map(|one| match one.path.0.as_slice() {
                [] => one.message.split(' ').next().unwrap().parse().unwrap(),
                _ => 1,
            });
            counts.sum::<usize>()
        };
        assert!(found.len() < all.len(), "{size}");
        assert_eq!((count(true), count(false)), (50 * 10, 50), "{size}");
    }
}

#[test]
fn lists_share_what_may_be_compared_item_by_item() {
    let old = node("[0, 8, 1, 2, 3, 4, 5, 8, 9]");
    let new = node("[0, 1, 2, 3, 4, 5, 7, 9]");
    let mut budget = Budget {
        lines: LineBudget::of(200),
        ..Budget::default()
    };
    // Between the first and the last item, 7 and 6 items: once item by item, then place by place.
    let counts: Vec<usize> = [(); 3]
        .iter()
        .map(|()| fields::of_documents(&old, &new, false, &mut budget).len())
        .collect();
    assert_eq!(counts, [2, 7, 7]);
}

#[test]
fn texts_share_what_may_be_compared_line_by_line() {
    let text = |first: &str| format!("{first}{}{first}", "a\nb\n".repeat(20));
    let (old, new) = (text("x\n"), text("y\n"));
    let mut budget = LineBudget::of(10_000);
    let counts: Vec<usize> = [(); 3]
        .iter()
        .map(|()| texts(&old, &new, &mut budget).len())
        .collect();
    assert_eq!(counts, [2, 1, 1]);
}
