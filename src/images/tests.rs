//! What the examples of spec/images.md do not show: lines and paths, kustomize, placeholders, ceilings.

use super::*;

fn files(all: &[(&str, &str)]) -> Files {
    all.iter()
        .map(|(path, text)| (path.parse().unwrap(), text.as_bytes().to_vec().into()))
        .collect()
}

fn found(all: &[(&str, &str)]) -> Inventory {
    collect(&files(all), &Limits::default()).unwrap()
}

/// `IMAGE GRADE` of each.
fn graded(inventory: &Inventory) -> Vec<String> {
    let line = |image: &ContainerImage| format!("{} {}", image.written(), image.grade);
    inventory.images.iter().map(line).collect()
}

const POD: &str = "apiVersion: v1
kind: Pod
metadata:
  name: p
  namespace: shop
spec:
  containers:
  - name: c
    image: ";

#[test]
fn a_place_says_file_line_object_and_path() {
    let text = "apiVersion: v1
kind: ConfigMap
metadata: {name: c}
data:
  pod.yaml: |
    spec:
      containers:
      - image: reg.io/a:1
  plain.conf: |

    first
    tool reg.io/b:1
  flow: 'image: reg.io/c:1'
";
    let inventory = found(&[("manifests/c.yaml", text)]);
    let places: Vec<String> = inventory
        .images
        .iter()
        .flat_map(|image| &image.places)
        .map(|p| {
            let object = p.object.as_ref().map(ToString::to_string);
            format!(
                "{}:{} {} {}",
                p.file,
                p.line,
                object.unwrap_or_default(),
                p.path
            )
        })
        .collect();
    assert_eq!(
        places,
        [
            "manifests/c.yaml:8 ConfigMap c data[\"pod.yaml\"].spec.containers[0].image",
            "manifests/c.yaml:12 ConfigMap c data[\"plain.conf\"]",
            "manifests/c.yaml:13 ConfigMap c data.flow",
        ]
    );
    for (image, line) in inventory.images.iter().zip([8, 12, 13]) {
        let written = text.lines().nth(line - 1).unwrap();
        assert!(written.contains(image.written()), "{written}");
    }
}

#[test]
fn one_image_is_listed_once_however_it_is_written() {
    let all = [
        ("manifests/a.yaml", format!("{POD}nginx\n")),
        (
            "manifests/b.yaml",
            format!("{POD}docker.io/library/nginx:latest\n"),
        ),
    ];
    let all: Vec<(&str, &str)> = all.iter().map(|(p, t)| (*p, t.as_str())).collect();
    let inventory = found(&all);
    let [image] = inventory.images.as_slice() else {
        panic!("{inventory:?}");
    };
    assert_eq!(image.written(), "docker.io/library/nginx:latest");
    assert_eq!(image.spellings().len(), 2);
    assert_eq!(image.places.len(), 2);
}

#[test]
fn the_kustomization_at_the_top_decides_and_others_are_likely() {
    let pod = format!("{POD}controller:latest\n");
    let kustomization = "images:\n- {name: controller, newName: reg.io/c, newTag: '1'}\n";
    let top = found(&[
        ("manifests/base/pod.yaml", &pod),
        ("manifests/kustomization.yaml", kustomization),
    ]);
    assert_eq!(
        graded(&top),
        ["controller:latest likely", "reg.io/c:1 certain"]
    );
    let below = found(&[
        ("manifests/base/pod.yaml", &pod),
        ("manifests/prod/kustomization.yaml", kustomization),
    ]);
    assert_eq!(
        graded(&below),
        ["controller:latest likely", "reg.io/c:1 likely"]
    );
    // Only the name changes: the tag stays.
    let renamed = found(&[
        ("manifests/base/pod.yaml", &pod),
        (
            "manifests/kustomization.yaml",
            "images: [{name: controller, newName: reg.io/c}]\n",
        ),
    ]);
    assert_eq!(
        graded(&renamed),
        ["controller:latest likely", "reg.io/c:latest certain"]
    );
    let patch = "patches:\n- patch: |-\n    - {op: replace, path: /spec/containers/0/image, value: team/x:2}\n";
    let patched = found(&[("manifests/kustomization.yaml", patch)]);
    assert_eq!(graded(&patched), ["team/x:2 likely"]);
}

#[test]
fn what_is_filled_later_is_named_and_no_image() {
    for (text, why) in [
        ("'{{ .Image }}'", "a template"),
        ("$(IMAGE)", "a variable"),
        (
            "ko://example.com/cmd/x",
            "the address of something that is built",
        ),
        ("'reg.io/*:1'", "a pattern"),
        ("auto", "a word that is replaced"),
        ("Reg.io/x", "has a host"),
    ] {
        let inventory = found(&[("manifests/a.yaml", &format!("{POD}{text}\n"))]);
        assert_eq!(graded(&inventory), [""; 0], "{text}");
        let [one] = inventory.unnamed.as_slice() else {
            panic!("{text}: {inventory:?}");
        };
        assert!(one.why.contains(why), "{}", one.why);
        assert_eq!(
            (one.place.line, one.place.path.as_str()),
            (9, "spec.containers[0].image")
        );
    }
    let empty = found(&[("manifests/a.yaml", &format!("{POD}''\n"))]);
    assert_eq!(empty, Inventory::default());
}

#[test]
fn placeholders_that_are_declared_do_not_hide_what_stands_beside_them() {
    let metadata = "annotations:
  k8s.io.bundle.mediatype.v1: manifests
  k8s.io.bundle.package.v1: p
  k8s.io.bundle.version.v1: 1.0.0
  k8s.io.bundle.operator.id.v1: o
  k8s.io.bundle.placeholders.v1: go-template
";
    let text =
        format!("{{{{ if .X }}}}\n{POD}reg.io/a:1\n  - image: {{{{ .B }}}}\n{{{{ end }}}}\n");
    let declared = found(&[
        ("metadata/annotations.yaml", metadata),
        ("manifests/a.yaml", &text),
    ]);
    assert_eq!(graded(&declared), ["reg.io/a:1 certain"]);
    assert_eq!(declared.unnamed.len(), 1);
    assert_eq!(declared.unread, []);
    // What is no YAML before it is filled is still looked through.
    let broken = format!("{POD}reg.io/a:1\n{{{{ range .Y }}}}{{{{ . }}}}:\n - [\n{{{{ end }}}}\n");
    let filled = found(&[
        ("metadata/annotations.yaml", metadata),
        ("manifests/a.yaml", &broken),
    ]);
    assert_eq!(graded(&filled), ["reg.io/a:1 likely"]);
    // Not declared, it is a document that cannot be read.
    let undeclared = found(&[("manifests/a.yaml", &text)]);
    assert_eq!(undeclared.unread.len(), 1, "{undeclared:?}");
}

#[test]
fn secrets_and_what_is_for_people_are_passed_over() {
    let text = "apiVersion: v1
kind: Secret
metadata: {name: s}
stringData: {image: 'reg.io/a:1'}
---
apiVersion: example.com/v1
kind: App
metadata:
  name: a
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{\"image\": \"reg.io/b:1\"}'
spec: {description: 'reg.io/c:1'}
status: {image: 'reg.io/d:1'}
";
    assert_eq!(found(&[("manifests/a.yaml", text)]), Inventory::default());
}

#[test]
fn words_that_only_look_a_little_like_images_are_none() {
    for text in [
        "https://reg.io/a:1",
        "reg.io/a",
        "web.default.svc:80/metrics",
        "0.0.0.0:8080",
        "a/b:1",
        "app.kubernetes.io/name",
        "10:30",
    ] {
        assert!(!name::looks_like_one(text, name::Near::Other), "{text}");
    }
    for text in ["10:30", "on", "logo/a.png", "Always"] {
        assert!(!name::looks_like_one(text, name::Near::Image), "{text}");
    }
    for text in [
        "reg.io/a:1",
        "a@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    ] {
        assert!(name::looks_like_one(text, name::Near::Other), "{text}");
    }
}

#[test]
fn more_images_than_the_ceiling_are_refused() {
    let pods: Vec<String> = (0..4).map(|n| format!("{POD}reg.io/a:{n}\n")).collect();
    let text = pods.join("---\n");
    let limits = Limits::default().with(Ceiling::Images, 3);
    let error = collect(&files(&[("manifests/a.yaml", &text)]), &limits).unwrap_err();
    assert_eq!(error.kind(), crate::Kind::Limit);
    // However many there are, no more than one above the ceiling is remembered.
    let words: Vec<String> = (0..100).map(|n| format!("reg.io/b:{n}")).collect();
    let text = format!(
        "kind: ConfigMap\napiVersion: v1\nmetadata: {{name: c}}\ndata: {{a: '{} '}}\n",
        words.join(" ")
    );
    let error = collect(&files(&[("manifests/a.yaml", &text)]), &limits).unwrap_err();
    assert_eq!(error.detail().found.as_deref(), Some("at least 4"));
    let text = pods.join("---\n");
    let limits = limits.with(Ceiling::Images, 4);
    assert!(collect(&files(&[("manifests/a.yaml", &text)]), &limits).is_ok());
}

#[test]
fn texts_whose_aliases_multiply_are_read_as_texts() {
    let bomb = |inner: &str| {
        format!(
            "a: &a {}\nb: [{}]\nimage: reg.io/b:1\n",
            serde_json::to_string(inner).unwrap(),
            "*a,".repeat(300)
        )
    };
    // Three levels of it would be 27 million texts.
    let text = bomb(&bomb(&bomb("image: reg.io/a:1\n")));
    let map = format!(
        "kind: ConfigMap\napiVersion: v1\nmetadata: {{name: c}}\ndata: {{a: {}}}\n",
        serde_json::to_string(&text).unwrap()
    );
    let found = found(&[("manifests/a.yaml", &map)]);
    assert_eq!(graded(&found), ["reg.io/a:1 likely", "reg.io/b:1 likely"]);
    let honest = "kind: ConfigMap\napiVersion: v1\nmetadata: {name: c}\ndata:\n  a: |\n    x: &x {image: 'reg.io/a:1'}\n    y: *x\n";
    let found = self::found(&[("manifests/a.yaml", honest)]);
    assert_eq!(graded(&found), ["reg.io/a:1 likely"]);
}

#[test]
fn many_replacements_of_one_image_are_one_walk() {
    let pods: Vec<String> = (0..60)
        .map(|n| format!("---\n{POD}reg.io/a:{n}\n"))
        .collect();
    let names: Vec<String> = (0..60)
        .map(|n| format!("- {{name: reg.io/a, newName: reg.io/b{n}}}\n"))
        .collect();
    let files = files(&[
        ("manifests/a.yaml", &pods.concat()),
        (
            "manifests/kustomization.yaml",
            &format!("images:\n{}", names.concat()),
        ),
    ]);
    let limits = Limits::default().with(Ceiling::Images, 100);
    let error = collect(&files, &limits).unwrap_err();
    assert_eq!(error.detail().found.as_deref(), Some("at least 101"));
    let found = collect(&files, &Limits::default()).unwrap();
    assert_eq!(found.images.len(), 60 + 60 * 60);
}
