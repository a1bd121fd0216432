//! What differs, in tables: two files of objects and the lines that say it.

use super::*;
use crate::content::Content;

mod work;

/// Compares two files and writes each field on a line.
fn lines(old: &str, new: &str) -> Vec<String> {
    let found = compared(old, new).unwrap();
    let mut lines = Vec::new();
    for change in &found.changes {
        let name = match &change.subject {
            Subject::Object(id) => id.to_string(),
            Subject::Document(file, at) => format!("{file}#{at}"),
            Subject::File(file) => file.to_string(),
        };
        match (&change.old, &change.new) {
            (Some(_), Some(_)) => {}
            (old, _) => lines.push(format!("{}{name}", if old.is_some() { '-' } else { '+' })),
        }
        lines.extend(change.fields.iter().map(|field| match field.change {
            FieldChange::Added => format!("+{}={}", field.path, field.new),
            FieldChange::Removed => format!("-{}={}", field.path, field.old),
            FieldChange::Changed => format!("{}={}→{}", field.path, field.old, field.new),
            FieldChange::Reordered => format!("~{}", field.path),
        }));
    }
    lines
}

fn compared(old: &str, new: &str) -> Result<Diff> {
    let files = |text: &str| {
        let path = "manifests/x.yaml".parse().unwrap();
        Files::from([(path, text.as_bytes().to_vec().into())])
    };
    let (old, new) = (files(old), files(new));
    let side = |files| Side {
        files,
        annotations: None,
        places: None,
    };
    diff(&side(&old), &side(&new), &Limits::default())
}

/// Puts a body behind the head of an object.
fn object(kind: &str, body: &str) -> String {
    format!("apiVersion: v1\nkind: {kind}\nmetadata: {{name: x}}\n{body}\n")
}

#[test]
fn what_is_written_otherwise_is_the_same() {
    for (old, new) in [
        ("a: 1", "a: 1.0"),
        ("a: 10", "a: 0xa"),
        ("a: 1e3", "a: 1000"),
        ("a: yes", "a: true"),
        ("a: 'x'", "a: x # said"),
        ("a: {b: 1, c: 2}", "a:\n  c: 2\n  b: 1"),
        ("a: |\n  x\n", "a: \"x\\n\""),
        ("a: {creationTimestamp: null}", "a: {}"),
        ("a: &b [1]\nc: *b", "a: [1]\nc: [1]"),
        ("a: 18446744073709551615", "a: 0xffffffffffffffff"),
    ] {
        let found = lines(&object("T", old), &object("T", new));
        assert!(found.is_empty(), "{old} and {new}: {found:?}");
    }
}

#[test]
fn the_namespace_of_what_is_there_for_the_whole_cluster_does_not_count() {
    let class = |namespace: &str| {
        format!(
            "apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {{name: x{namespace}}}\n"
        )
    };
    assert_eq!(
        lines(&class(", namespace: a"), &class("")),
        ["-metadata.namespace=\"a\""]
    );
    let thing = |scope: &str, namespace: &str| {
        format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: x}}\nspec: \
             {{group: x.io, scope: {scope}, names: {{kind: T}}}}\n---\napiVersion: x.io/v1\nkind: T\nmetadata: {{name: x{namespace}}}\n"
        )
    };
    let found = |scope| lines(&thing(scope, ", namespace: a"), &thing(scope, ""));
    assert_eq!(found("Cluster"), ["-metadata.namespace=\"a\""]);
    assert_eq!(found("Namespaced"), ["+T.x.io x", "-T.x.io a/x"]);
}

#[test]
fn quantities_are_compared_by_their_amounts_and_only_where_they_stand() {
    for (kind, old, new, is_same) in [
        (
            "Pod",
            "spec: {resources: {limits: {cpu: 1000m}}}",
            "spec: {resources: {limits: {cpu: 1}}}",
            true,
        ),
        (
            "Pod",
            "spec: {resources: {requests: {memory: 1Gi}}}",
            "spec: {resources: {requests: {memory: 1024Mi}}}",
            true,
        ),
        (
            "Pod",
            "spec: {resources: {requests: {memory: 1Gi}}}",
            "spec: {resources: {requests: {memory: 1G}}}",
            false,
        ),
        (
            "Pod",
            "spec: {volumes: [{name: a, emptyDir: {sizeLimit: 1Gi}}]}",
            "spec: {volumes: [{name: a, emptyDir: {sizeLimit: 1024Mi}}]}",
            true,
        ),
        (
            "LimitRange",
            "spec: {limits: [{type: Pod, max: {cpu: '2'}}]}",
            "spec: {limits: [{type: Pod, max: {cpu: 2000m}}]}",
            true,
        ),
        (
            "ResourceQuota",
            "spec: {hard: {pods: '10'}}",
            "spec: {hard: {pods: 10}}",
            true,
        ),
        (
            "ConfigMap",
            "data: {limits: 1Gi}",
            "data: {limits: 1024Mi}",
            false,
        ),
        ("ConfigMap", "data: {max: '1'}", "data: {max: 1000m}", false),
    ] {
        let found = lines(&object(kind, old), &object(kind, new));
        assert_eq!(found.is_empty(), is_same, "{old} and {new}: {found:?}");
    }
    let claims = |size: &str| {
        format!(
            "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {{name: x}}\nspec: {{volumeClaimTemplates: [{{metadata: {{name: a}}, spec: \
             {{resources: {{requests: {{storage: {size}}}}}}}}}]}}\n"
        )
    };
    assert!(
        compared(&claims("1Gi"), &claims("1024Mi"))
            .unwrap()
            .is_empty()
    );
    let found = compared(&claims("1Gi"), &claims("2Gi")).unwrap();
    assert_eq!(found.breaking().count(), 1);
}

#[test]
fn a_binding_says_who_gets_a_role() {
    let binding = |name: &str, subjects: &str| {
        format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {{name: {name}}}\nroleRef: {{kind: ClusterRole, name: \
             cluster-admin}}\nsubjects: {subjects}\n"
        )
    };
    let one = binding("a", "[{kind: ServiceAccount, name: x, namespace: y}]");
    let all = binding(
        "a",
        "[{kind: ServiceAccount, name: x, namespace: y}, {kind: Group, name: 'system:authenticated'}]",
    );
    let names = |old: &str, new: &str| -> Vec<(Vec<String>, Vec<String>)> {
        let found = compared(old, new).unwrap().bindings;
        let names = |all: &[Given]| all.iter().map(|one| one.subject.clone()).collect();
        found
            .iter()
            .map(|one| (names(&one.gained), names(&one.lost)))
            .collect()
    };
    let everybody = || vec!["system:authenticated".to_owned()];
    assert_eq!(names(&one, &all), [(everybody(), vec![])]);
    assert_eq!(names(&all, &one), [(vec![], everybody())]);
    assert_eq!(names("", &one), [(vec!["x".to_owned()], vec![])]);
    // Another name gives nothing new.
    let renamed = all.replace("name: a", "name: b");
    assert_eq!(names(&all, &renamed), []);
}

#[test]
fn what_is_another_value_differs() {
    for (old, new, line) in [
        ("a: 1", "a: '1'", "a=1→\"1\""),
        ("a: 1.0", "a: 1.1", "a=1.0→1.1"),
        ("a: yes", "a: 'yes'", "a=true→\"yes\""),
        ("a: null", "{}", "-a=null"),
        ("a: []", "a: {}", "a=[]→{}"),
        (
            "a: 18446744073709551615",
            "a: 18446744073709551614",
            "a=18446744073709551615→18446744073709551614",
        ),
        ("a: {b.c/d: 1}", "a: {b.c/d: 2}", "a[\"b.c/d\"]=1→2"),
    ] {
        let new = if new == "{}" { "" } else { new };
        assert_eq!(
            lines(&object("T", old), &object("T", new)),
            [line],
            "{old} and {new}"
        );
    }
}

#[test]
fn items_are_compared_with_those_they_belong_to() {
    for (old, new, wanted) in [
        (
            "containers: [{name: a, image: x}, {name: b}]",
            "containers: [{name: a, image: z}]",
            &[
                "containers[name=a].image=\"x\"→\"z\"",
                "-containers[name=b]={\"name\":\"b\"}",
            ][..],
        ),
        (
            "containers: [{name: a}, {name: b}]",
            "containers: [{name: b}, {name: a}]",
            &["~containers"],
        ),
        (
            "ports: [{containerPort: 80}]",
            "ports: [{containerPort: 80, protocol: TCP, name: http}]",
            &[
                "+ports[containerPort=80,protocol=TCP].name=\"http\"",
                "+ports[containerPort=80,protocol=TCP].protocol=\"TCP\"",
            ],
        ),
        (
            "ports: [{port: 53, protocol: UDP}, {port: 53}]",
            "ports: [{port: 53, protocol: UDP}]",
            &["-ports[port=53,protocol=TCP]={\"port\":53}"],
        ),
        (
            "volumeMounts: [{name: a, mountPath: /a}, {name: a, mountPath: /b}]",
            "volumeMounts: [{name: a, mountPath: /a}, {name: c, mountPath: /b}]",
            &["volumeMounts[mountPath=/b].name=\"a\"→\"c\""],
        ),
        (
            "rules: [{apiGroups: [''], resources: [a, b], verbs: [get]}]",
            "rules: [{apiGroups: [''], resources: [b, a], verbs: [get, list]}]",
            &[
                "~rules[apiGroups=\"\",resources=a|b].resources",
                "+rules[apiGroups=\"\",resources=a|b].verbs[1]=\"list\"",
            ],
        ),
        // Without anything that tells them apart, by what they have in common.
        ("args: [a, b, c]", "args: [a, c]", &["-args[1]=\"b\""]),
        (
            "args: [a, b]",
            "args: [x, a, c]",
            &["+args[0]=\"x\"", "args[1→2]=\"b\"→\"c\""],
        ),
        (
            "list: [{name: a}, {name: a}]",
            "list: [{name: a}]",
            &["-list[1]={\"name\":\"a\"}"],
        ),
        ("enum: [a, b]", "enum: [b, a]", &["~enum"]),
        ("list: [[1], [2]]", "list: [[1], [3]]", &["list[1][0]=2→3"]),
    ] {
        let found = lines(&object("T", old), &object("T", new));
        assert_eq!(found, wanted, "{old} and {new}");
    }
}

#[test]
fn an_object_keeps_its_identity_where_its_api_moves() {
    let old = "apiVersion: extensions/v1beta1\nkind: Ingress\nmetadata: {name: x}\n";
    let new = "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: x}\n";
    assert_eq!(
        lines(old, new),
        ["apiVersion=\"extensions/v1beta1\"→\"networking.k8s.io/v1\""]
    );
    let other =
        "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata: {name: x, namespace: m}\n";
    assert_eq!(
        lines(new, other),
        [
            "-Ingress.networking.k8s.io x",
            "+Ingress.networking.k8s.io m/x"
        ]
    );
    // The items of a list need not say what they are.
    let list = "apiVersion: v1\nkind: ConfigMapList\nitems: [{metadata: {name: x}}]\n";
    assert_eq!(lines(list, &object("ConfigMap", "")), [""; 0]);
}

#[test]
fn nothing_that_a_secret_holds_is_in_an_answer() {
    let applied = "'{\"kind\":\"Secret\",\"data\":{\"p\":\"hunter\"}}'";
    let key = "kubectl.kubernetes.io/last-applied-configuration";
    for (kind, old, new) in [
        ("Secret", "data: {p: hunter2}", "data: {p: hunter3}"),
        ("Secret", "data: {p: hunter2}", "stringData: {p: hunter3}"),
        ("Secret", "data: hunter2", "data: [hunter3]"),
        (
            "Secret",
            "data: {p: {name: hunter2}}",
            "data: {p: [{name: hunter3}, {name: hunter4}]}",
        ),
        (
            "Secret",
            "data: {l: [{name: hunter2}]}",
            "data: {l: [{name: hunter3}]}",
        ),
        (
            "ConfigMap",
            "data: {p: 'kind: Secret\n\n  data: hunter'}",
            "data: {p: 'kind: \"Secret\"\n\n  data: hunter2'}",
        ),
        (
            "Thing",
            "secretGenerator: [{name: a, literals: [p=hunter2]}]",
            "secretGenerator: [{name: a, literals: [p=hunter3]}]",
        ),
    ] {
        let found = compared(&object(kind, old), &object(kind, new)).unwrap();
        assert!(!found.is_empty(), "{old}");
        let said = format!("{found:?}");
        assert!(!said.contains("hunter"), "{said}");
        assert!(said.contains(HIDDEN), "{said}");
    }
    let old = format!(
        "apiVersion: v1\nkind: Secret\nmetadata: {{name: x, annotations: {{{key}: {applied}}}}}\n"
    );
    let said = format!("{:?}", compared(&old, &object("Secret", "")).unwrap());
    assert!(said.contains(HIDDEN) && !said.contains("hunter"), "{said}");
    // The keys are shown.
    let found = lines(
        &object("Secret", "data: {p: hunter2}"),
        &object("Secret", "data: {q: hunter2}"),
    );
    assert_eq!(found, ["-data.p=\"(hidden)\"", "+data.q=\"(hidden)\""]);
}

#[test]
fn what_cannot_be_read_is_compared_as_a_file() {
    let (fine, broken) = (
        object("T", "a: 1"),
        format!("{}---\na: b: c\n", object("T", "a: 1")),
    );
    let error = compared(&fine, &broken).unwrap_err();
    assert_eq!(error.kind(), crate::Kind::Invalid);
    assert!(
        error.message().contains("manifests/x.yaml:6"),
        "{}",
        error.message()
    );
    let found = compared(&broken, &broken).unwrap();
    assert!(found.is_empty());
    assert_eq!(found.notes.len(), 1);
}

#[test]
fn an_object_that_is_there_twice_is_said_and_compared_twice() {
    let twice = format!("{}---\n{}", object("T", "a: 1"), object("T", "a: 2"));
    let other = format!("{}---\n{}", object("T", "a: 2"), object("T", "a: 3"));
    let found = compared(&twice, &other).unwrap();
    assert_eq!(found.notes.len(), 2);
    assert_eq!(lines(&twice, &other), ["a=1→3"]);
    assert_eq!(lines(&twice, &object("T", "a: 1")), ["-T x"]);
}

#[test]
fn roles_are_compared_by_what_they_allow() {
    let role = |rules: &str| {
        format!(
            "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {{name: x}}\nrules: {rules}\n"
        )
    };
    let wide = "[{apiGroups: ['*'], resources: ['*'], verbs: ['*']}]";
    let pods = "[{apiGroups: [''], resources: [pods, pods/log], verbs: [get, list]}]";
    let split = "[{apiGroups: [''], resources: [pods], verbs: [get, list]}, {apiGroups: [''], resources: ['*/log'], verbs: ['*']}]";
    let named = "[{apiGroups: [''], resources: [pods], resourceNames: [a], verbs: [get]}]";
    let paths = "[{nonResourceURLs: ['/metrics', '/healthz*'], verbs: [get]}]";
    let path = "[{nonResourceURLs: ['/healthz/etcd'], verbs: [get]}]";
    for (old, new, lost, gained) in [
        (wide, pods, 1, 0),
        (pods, wide, 0, 1),
        (pods, split, 0, 1),
        (pods, named, 2, 0),
        (named, pods, 0, 2),
        (paths, path, 2, 0),
        (path, paths, 0, 2),
    ] {
        let found = compared(&role(old), &role(new)).unwrap();
        let grants = found.grants.first().unwrap();
        assert_eq!(
            (grants.lost.len(), grants.gained.len()),
            (lost, gained),
            "{old} and {new}: {grants:?}"
        );
    }
    let many: Vec<String> = (0..300).map(|n| format!("r{n}")).collect();
    let many = format!(
        "[{{apiGroups: [{0}], resources: [{0}], verbs: [get]}}]",
        many.join(", ")
    );
    let found = compared(&role(pods), &role(&many)).unwrap();
    assert!(found.grants.first().unwrap().is_too_large);
}

#[test]
fn files_are_compared_line_by_line_and_lines_of_secrets_are_hidden() {
    let side = |text: &str| {
        Files::from([(
            "manifests/x.yaml".parse().unwrap(),
            Content::from(text.as_bytes().to_vec()),
        )])
    };
    let text = |password: &str, value: u32| {
        format!(
            "{}---\n{}",
            object("Secret", &format!("data: {{p: {password}}}")),
            object("T", &format!("a: {value}"))
        )
    };
    let (old, new) = (side(&text("hunter2", 1)), side(&text("hunter3", 2)));
    let found = files(&old, &new, &Limits::default()).unwrap();
    let said = format!("{found:?}");
    assert!(
        !said.contains("hunter") && said.contains(HIDDEN) && said.contains("a: 2"),
        "{said}"
    );
    // Long texts are compared by where they begin and end to differ.
    let long = |value: u32| {
        side(&format!(
            "{}a: {value}\n{}",
            "x\n".repeat(30_000),
            "y\n".repeat(30_000)
        ))
    };
    let found = files(&long(1), &long(2), &Limits::default()).unwrap();
    let hunk = found.first().and_then(|one| one.hunks.first()).unwrap();
    assert_eq!((hunk.old, hunk.new), ((29_998, 7), (29_998, 7)));
    let moved = Files::from([(
        "manifests/y.yaml".parse().unwrap(),
        Content::from(text("hunter2", 1).into_bytes()),
    )]);
    let found = files(&old, &moved, &Limits::default()).unwrap();
    let [one] = found.as_slice() else {
        panic!("{found:?}")
    };
    assert!(one.old.is_some() && one.new.is_some() && one.hunks.is_empty());
}
