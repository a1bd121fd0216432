//! The table itself, and what is made of it.

use super::*;
use crate::limits::Limits;
use crate::objects::{Entry, entries};

#[test]
fn every_type_of_the_table_is_in_it_and_the_fields_are_in_order() {
    let Tables { kinds, types } = tables();
    let all = kinds.values().chain(types.values());
    for fields in all {
        assert!(fields.is_sorted(), "{fields:?}");
        for (name, of) in fields {
            let of = of.trim_start_matches("[]").trim_start_matches("{}");
            let is_word = matches!(of, "s" | "i" | "b" | "x" | "q" | "y" | "*");
            assert!(is_word || types.contains_key(of), "{name}: {of}");
        }
    }
    for (of, names) in REQUIRED {
        let fields = types.get(of).unwrap();
        for name in *names {
            assert!(fields.iter().any(|(known, _)| known == name), "{of} {name}");
        }
    }
    assert!(kinds.len() > 40 && types.len() > 200);
}

fn lines(text: &str) -> Vec<String> {
    let entry = entries("a.yaml", text.as_bytes(), &Limits::default()).next();
    let Some(Entry::Object(object)) = entry else {
        panic!("{entry:?}");
    };
    let line = |fault: Fault| {
        let what = match fault.what {
            Wrong::Type(found, wanted, right) => {
                format!(
                    "{found}, not {wanted}{}",
                    right.map_or(String::new(), |r| format!(" ({r})"))
                )
            }
            Wrong::Unquoted(found, written) => format!("{found} {written}"),
            Wrong::Form(form) => format!("not {form}"),
            Wrong::Missing => "missing".to_owned(),
            Wrong::Unknown(near) => format!("unknown, {}", near.unwrap_or("-")),
        };
        format!("{} {}: {what}", fault.line, fault.path)
    };
    faults(&object, false).into_iter().map(line).collect()
}

#[test]
fn faults_have_a_place_and_a_reason() {
    let found = lines(
        "apiVersion: apps/v1
kind: Deployment
metadata: {name: a, labels: {y: no, x.io/a: 1}}
spec:
  replicas: \"3\"
  paused: \"true\"
  revisionHistoryLimit: 1.5
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      contaners: []
      containers:
      - name: main
        imagepullPolicy: Always
        ports: [{containerPort: \"80\"}, {name: metrics}]
        resources: {limits: {cpu: 1 core, memory: 1Gi}}
        readinessProbe: {httpGet: {port: http, path: /}}
        env: [{name: A, value: 1}]
      - args: -v
",
    );
    assert_eq!(
        found,
        [
            "3 metadata.labels.y: a boolean no",
            "3 metadata.labels[x.io/a]: a number 1",
            "5 spec.replicas: a string, not an integer (3)",
            "6 spec.paused: a string, not a boolean (true)",
            "7 spec.revisionHistoryLimit: a number, not an integer",
            "12 spec.template.spec.contaners: unknown, containers",
            "15 spec.template.spec.containers[name=main].imagepullPolicy: unknown, imagePullPolicy",
            "16 spec.template.spec.containers[name=main].ports[0].containerPort: a string, not an integer (80)",
            "16 spec.template.spec.containers[name=main].ports[name=metrics].containerPort: missing",
            "17 spec.template.spec.containers[name=main].resources.limits.cpu: not a quantity, such as `100m` or `1Gi`",
            "19 spec.template.spec.containers[name=main].env[name=A].value: a number 1",
            "20 spec.template.spec.containers[1].args: a string, not a list",
            "20 spec.template.spec.containers[1].name: missing",
        ]
    );
}

#[test]
fn what_may_be_filled_and_what_is_null_is_fine() {
    for body in [
        "spec: {replicas: '{{ .Replicas }}', template: {spec: {containers: '${CONTAINERS}'}}}",
        "spec: {replicas: null, minReadySeconds: 1.0, template: {spec: {containers: [{name: a, env: null}]}}}",
    ] {
        let text =
            format!("apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: a}}\n{body}\n");
        assert_eq!(lines(&text), [""; 0], "{body}");
    }
}

#[test]
fn texts_have_their_forms() {
    for (text, expected) in [
        ("YQ==", true),
        ("YQ", false),
        ("", true),
        ("YWJj\nZA==", true),
        ("a b", false),
    ] {
        assert_eq!(is_base64(text), expected, "{text}");
    }
    for (text, expected) in [
        ("1", true),
        ("0.5", true),
        (".5", true),
        ("100m", true),
        ("1Gi", true),
        ("1e3", true),
        ("-1", true),
        ("12E", true),
        ("1E6", true),
        ("", false),
        ("1 Gi", false),
        ("1GB", false),
        ("one", false),
        ("1.2.3", false),
    ] {
        assert_eq!(is_quantity(text), expected, "{text}");
    }
}
