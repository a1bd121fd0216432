//! The fields that a stranger can fill, each with the commands that show it.

use serde_json::{Value, json};

use super::Scene;
use crate::support::targen::TarGen;
use crate::support::{Act, Ran, Response, on};

/// A field: fills it with a payload and runs what shows it.
pub(super) struct Field {
    pub(super) id: &'static str,
    pub(super) show: fn(&Scene, &str) -> Vec<Ran>,
}

const fn field(id: &'static str, show: fn(&Scene, &str) -> Vec<Ran>) -> Field {
    Field { id, show }
}

const OBJECT: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n";

/// A string as JSON, which is a string in YAML, too.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Writes a bundle with these annotations besides the required ones, and this object.
fn bundle(scene: &Scene, annotations: &[(&str, &str)], object: &str) {
    let mut all = vec![
        ("k8s.io.bundle.package.v1", "etcd"),
        ("k8s.io.bundle.version.v1", "3.5.0"),
    ];
    all.retain(|(key, _)| annotations.iter().all(|(other, _)| key != other));
    all.extend(annotations);
    let mut text = "annotations:\n".to_owned();
    for (key, value) in all {
        // As an explicit key, because an implicit one has at most 1024 characters.
        text += &["  ? ", &quoted(key), "\n  : ", &quoted(value), "\n"].concat();
    }
    scene.sandbox.write("src/metadata/annotations.yaml", text);
    scene.sandbox.write("src/manifests/a.yaml", object);
}

/// Shows the directory in each way.
fn shown(scene: &Scene) -> Vec<Ran> {
    let mut all = vec![
        scene.run(&["inspect", "src"]),
        scene.run(&["validate", "src"]),
    ];
    if scene.format == "text" {
        all.push(scene.run(&["push", "src", "oci:lay"]));
    }
    all
}

fn annotation(scene: &Scene, key: &str, value: &str) -> Vec<Ran> {
    bundle(scene, &[(key, value)], OBJECT);
    shown(scene)
}

/// Shows what differs between another directory and this one.
fn compared(scene: &Scene) -> Vec<Ran> {
    let other = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: b\n";
    scene.sandbox.write("other/manifests/a.yaml", other);
    let metadata =
        "annotations:\n  k8s.io.bundle.package.v1: etcd\n  k8s.io.bundle.version.v1: 3.4.0\n";
    scene
        .sandbox
        .write("other/metadata/annotations.yaml", metadata);
    vec![
        scene.run(&["diff", "other", "src"]),
        scene.run(&["diff", "other", "src", "--files"]),
    ]
}

fn object(scene: &Scene, text: &str) -> Vec<Ran> {
    bundle(scene, &[], text);
    let mut all = vec![
        scene.run(&["inspect", "src"]),
        scene.run(&["validate", "src"]),
    ];
    all.extend(compared(scene));
    all
}

/// Shows what the registry holds under `a:1`.
fn fetched(scene: &Scene) -> Vec<Ran> {
    let reference = format!("{}:1", scene.mock.repository("a"));
    vec![
        scene.run(&["pull", &reference]),
        scene.run(&["inspect", &reference]),
    ]
}

fn listed(scene: &Scene) -> Vec<Ran> {
    vec![scene.run(&["list", &scene.mock.repository("a")])]
}

/// Puts an image into the registry, after a change to its manifest.
fn image(scene: &Scene, config: &[u8], layer: &[u8], change: impl Fn(&mut Value)) {
    let mock = &scene.mock;
    let descriptor = |media_type: &str, bytes: &[u8]| json!({"mediaType": media_type, "digest": mock.put_blob("a", bytes), "size": bytes.len()});
    let media_type = "application/vnd.oci.image.manifest.v1+json";
    let mut manifest = json!({
        "schemaVersion": 2,
        "mediaType": media_type,
        "config": descriptor("application/vnd.oci.image.config.v1+json", config),
        "layers": [descriptor("application/vnd.oci.image.layer.v1.tar", layer)],
    });
    change(&mut manifest);
    mock.put_manifest("a", "1", media_type, manifest.to_string().as_bytes());
}

/// An honest layer, with one more entry.
fn layer(more: impl Fn(TarGen) -> TarGen) -> Vec<u8> {
    let metadata =
        "annotations:\n  k8s.io.bundle.package.v1: etcd\n  k8s.io.bundle.version.v1: \"3.5.0\"\n";
    let tar = TarGen::new()
        .dir("manifests/")
        .file("manifests/a.yaml", OBJECT.as_bytes());
    let tar = more(tar).dir("metadata/");
    tar.file("metadata/annotations.yaml", metadata.as_bytes())
        .end()
}

const CONFIG: &[u8] =
    br#"{"architecture":"amd64","os":"linux","rootfs":{"type":"layers","diff_ids":[]}}"#;

/// A header can hold no line breaks and no NUL; what is left of a payload goes into one.
fn for_header(text: &str) -> String {
    text.replace(['\n', '\r', '\0'], " ")
        .chars()
        .take(8_000)
        .collect()
}

/// The registry answers everything with this.
fn answers(scene: &Scene, response: Response) {
    scene.mock.rule(on("", "/v2/"), Act::Respond(response));
}

/// A credential helper with this script is asked for the password.
fn helper(scene: &Scene, script: &str) -> Vec<Ran> {
    scene.sandbox.script("docker-credential-odd", script);
    let config = json!({"credHelpers": {scene.mock.host(): "odd"}});
    scene.sandbox.write("config.json", config.to_string());
    challenged(scene, "Basic realm=\"x\"")
}

fn challenged(scene: &Scene, challenge: &str) -> Vec<Ran> {
    let refused = Response::error(401, "UNAUTHORIZED", "no");
    answers(scene, refused.header("www-authenticate", challenge));
    listed(scene)
}

/// The text in `sh`, from a file, because a MiB is too long for a command.
fn file(scene: &Scene, text: &str) -> String {
    let path = scene.sandbox.write("said", text);
    path.to_str().unwrap().to_owned()
}

/// A name that a file system takes.
fn for_name(text: &str) -> String {
    let name: String = text.replace(['\0', '/'], "_").chars().take(80).collect();
    format!("n{name}.yaml")
}

pub(super) const FIELDS: &[Field] = &[
    field("annotation key", |s, p| {
        annotation(s, &format!("x{p}"), "y")
    }),
    field("annotation value", |s, p| {
        annotation(s, "org.opencontainers.image.description", p)
    }),
    field("package", |s, p| {
        annotation(s, "k8s.io.bundle.package.v1", &format!("a{p}"))
    }),
    field("version", |s, p| {
        annotation(s, "k8s.io.bundle.version.v1", &format!("1.0.0{p}"))
    }),
    field("identity", |s, p| {
        let value = &format!("1.0.0{p}");
        let keys = [
            "operator.id",
            "operator.min-version",
            "channels",
            "kubernetes.min-version",
            "mediatype",
            "placeholders",
        ];
        let keys = keys.map(|key| format!("k8s.io.bundle.{key}.v1"));
        let all: Vec<_> = keys
            .iter()
            .map(|key| (key.as_str(), value.as_str()))
            .collect();
        bundle(s, &all, OBJECT);
        shown(s)
    }),
    field("object kind", |s, p| {
        object(
            s,
            &format!(
                "apiVersion: v1\nkind: {}\nmetadata:\n  name: a\n",
                quoted(p)
            ),
        )
    }),
    field("object version", |s, p| {
        object(
            s,
            &format!("apiVersion: {}\nkind: A\nmetadata:\n  name: a\n", quoted(p)),
        )
    }),
    field("object name", |s, p| {
        let name = quoted(p);
        object(
            s,
            &format!(
                "{}  namespace: {name}\n  labels: {{{name}: {name}}}\n",
                OBJECT.replace(": a\n", &format!(": {name}\n"))
            ),
        )
    }),
    field("YAML key", |s, p| {
        object(
            s,
            &format!("{OBJECT}data:\n  ? {0}\n  : a\n  ? {0}\n  : b\n", quoted(p)),
        )
    }),
    field("YAML as it is", |s, p| {
        object(s, &format!("{OBJECT}data: {{a: *{p}}}\n"))
    }),
    field("YAML tag", |s, p| {
        object(s, &format!("{OBJECT}data: !<{p}> a\n"))
    }),
    field("JSON key", |s, p| {
        bundle(s, &[], OBJECT);
        s.sandbox.write(
            "src/manifests/b.json",
            format!("{{{0}: 1, {0}: 2}}", quoted(p)),
        );
        shown(s)
    }),
    field("image in an object", |s, p| {
        object(
            s,
            &format!(
                "apiVersion: v1\nkind: Pod\nmetadata:\n  name: a\nspec:\n  containers:\n  - name: {0}\n    image: {0}\n",
                quoted(p)
            ),
        )
    }),
    field("file name", |s, p| {
        bundle(s, &[], OBJECT);
        s.sandbox
            .write(format!("src/manifests/{}", for_name(p)), "a: b");
        s.sandbox.write(format!("src/{}", for_name(p)), "a: b");
        shown(s)
    }),
    field("link target", |s, p| {
        bundle(s, &[], OBJECT);
        let link = s.sandbox.path("src/manifests/link.yaml");
        std::os::unix::fs::symlink(for_name(p), link).unwrap();
        shown(s)
    }),
    field("ignore rule", |s, p| {
        bundle(s, &[], OBJECT);
        s.sandbox.write("src/manifests/gone.txt", "");
        let rule = for_name(p).replace(".yaml", "");
        s.sandbox.write(
            "src/.bundleignore",
            format!("{{*.txt,{rule}}}\n[{rule}\n*.txt\n"),
        );
        shown(s)
    }),
    field("name in an archive", |s, p| {
        let path = format!("manifests/{}", for_name(p));
        image(
            s,
            CONFIG,
            &layer(|tar| {
                tar.pax(b'x', &[("path", &path)])
                    .file("manifests/b.yaml", b"a: b")
            }),
            |_| (),
        );
        fetched(s)
    }),
    field("record in an archive", |s, p| {
        image(
            s,
            CONFIG,
            &layer(|tar| {
                tar.pax(b'x', &[(&format!("k{p}"), p), ("linkpath", p)])
                    .file("manifests/b.yaml", b"a: b")
            }),
            |_| (),
        );
        fetched(s)
    }),
    field("annotation of a manifest", |s, p| {
        image(s, CONFIG, &layer(|tar| tar), |m| {
            m["annotations"] =
                json!({"k8s.io.bundle.package.v1": p, "k8s.io.bundle.version.v1": p, p: p});
        });
        fetched(s)
    }),
    field("label", |s, p| {
        let config = json!({"architecture": p, "os": "linux", "config": {"Labels": {"k8s.io.bundle.version.v1": p, p: p}}});
        image(s, config.to_string().as_bytes(), &layer(|tar| tar), |_| ());
        fetched(s)
    }),
    field("media type", |s, p| {
        image(s, CONFIG, &layer(|tar| tar), |m| {
            m["layers"][0]["mediaType"] = p.into();
        });
        fetched(s)
    }),
    field("artifact type", |s, p| {
        image(s, CONFIG, &layer(|tar| tar), |m| {
            m["artifactType"] = p.into();
        });
        fetched(s)
    }),
    field("digest", |s, p| {
        image(s, CONFIG, &layer(|tar| tar), |m| {
            m["layers"][0]["digest"] = format!("sha256:{p}").into();
        });
        fetched(s)
    }),
    field("key of a manifest", |s, p| {
        let key = quoted(p);
        let text = format!("{{\"schemaVersion\":2,{key}:1,{key}:2}}");
        s.mock.put_manifest(
            "a",
            "1",
            "application/vnd.oci.image.manifest.v1+json",
            text.as_bytes(),
        );
        fetched(s)
    }),
    field("name in a layout", |s, p| {
        s.sandbox
            .write("lay/oci-layout", r#"{"imageLayoutVersion":"1.0.0"}"#);
        let digest = format!("sha256:{}", "0".repeat(64));
        let index = json!({"schemaVersion": 2, "manifests": [{"mediaType": "application/vnd.oci.image.manifest.v1+json",
            "digest": digest, "size": 2, "annotations": {"org.opencontainers.image.ref.name": p}}]});
        s.sandbox.write("lay/index.json", index.to_string());
        vec![s.run(&["list", "oci:lay"]), s.run(&["inspect", "oci:lay"])]
    }),
    field("version of a layout", |s, p| {
        s.sandbox.write(
            "lay/oci-layout",
            json!({"imageLayoutVersion": p}).to_string(),
        );
        s.sandbox.write("lay/index.json", "{}");
        vec![s.run(&["list", "oci:lay"])]
    }),
    field("tag", |s, p| {
        answers(
            s,
            Response::json(
                200,
                &json!({"name": p, "tags": [p, "1.0.0", format!("2.0.0-{p}")]}),
            ),
        );
        listed(s)
    }),
    field("key of a list", |s, p| {
        let key = quoted(p);
        answers(
            s,
            Response::new(200).body(format!("{{\"tags\":[],{key}:1,{key}:2}}")),
        );
        listed(s)
    }),
    field("error of a registry", |s, p| {
        let error = json!({"errors": [{"code": p, "message": p, "detail": {p: p}}, {"code": "X", "message": p}]});
        answers(s, Response::json(400, &error));
        [fetched(s), listed(s)].into_iter().flatten().collect()
    }),
    field("page of a registry", |s, p| {
        answers(
            s,
            Response::new(403)
                .header("content-type", "text/plain")
                .body(p),
        );
        listed(s)
    }),
    field("warning", |s, p| {
        let warning = format!("299 - \"{}\"", for_header(p));
        s.mock.rule(
            on("", "/v2/"),
            Act::change(move |r| r.set("warning", &warning)),
        );
        listed(s)
    }),
    field("location", |s, p| {
        let to = format!("http://{}/{}", for_header(p), for_header(p));
        answers(s, Response::redirect(&to));
        fetched(s)
    }),
    field("headers", |s, p| {
        let text = for_header(p);
        let response = Response::new(200).header("content-type", &text);
        answers(
            s,
            response
                .header("docker-content-digest", &text)
                .header("link", &format!("<{text}>; rel=\"next\""))
                .body("{}"),
        );
        [fetched(s), listed(s)].into_iter().flatten().collect()
    }),
    field("status line", |s, p| {
        let bytes = format!("HTTP/1.1 404 {p}\r\ncontent-length: 0\r\n\r\n");
        s.mock.rule(on("", "/v2/"), Act::Raw(bytes.into()));
        listed(s)
    }),
    field("challenge", |s, p| {
        let text = for_header(p);
        challenged(
            s,
            &format!(
                "Bearer realm=\"http://{text}/\",service=\"{text}\",scope=\"{text}\",error=\"{text}\""
            ),
        )
    }),
    field("scheme of a challenge", |s, p| {
        challenged(s, &format!("{} x", for_header(p)))
    }),
    field("stderr of a helper", |s, p| {
        let said = file(s, p);
        helper(s, &format!("cat '{said}' >&2; exit 1"))
    }),
    field("stdout of a helper", |s, p| {
        let said = file(s, p);
        helper(s, &format!("cat '{said}'; exit 1"))
    }),
    field("answer of a helper", |s, p| {
        let said = file(
            s,
            &json!({"Username": p, "Secret": "hidden", "ServerURL": p}).to_string(),
        );
        helper(s, &format!("cat '{said}'"))
    }),
    field("name of a helper", |s, p| {
        s.sandbox.write(
            "config.json",
            json!({"credHelpers": {s.mock.host(): p}}).to_string(),
        );
        challenged(s, "Basic realm=\"x\"")
    }),
    field("credential file", |s, p| {
        s.sandbox.write(
            "config.json",
            json!({"auths": {s.mock.host(): {"auth": p}, p: {"auth": p}}}).to_string(),
        );
        challenged(s, "Basic realm=\"x\"")
    }),
    field("arguments", |s, p| {
        let text: String = p.replace('\0', " ").chars().take(4_000).collect();
        vec![
            s.run(&["inspect", &text]),
            s.run(&["pull", &format!("localhost/{text}:1")]),
            s.run(&["pull", "localhost:1/a:1", "--version", &text]),
            s.run(&[&text]),
        ]
    }),
];
