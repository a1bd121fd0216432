//! Cases 80 to 83: layers that mean harm, and directories that must survive them.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::real::{answer, sha256, tree};
use crate::support::targen::{Head, TarGen};
use crate::support::{Act, MockRegistry, Ran, Sandbox, Snapshot, bundle_dir, on};

use super::{METADATA, config_map, corpus_folder};

const TGZ: &str = "application/vnd.oci.image.layer.v1.tar+gzip";
const TAR: &str = "application/vnd.oci.image.layer.v1.tar";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// What makes an archive a bundle, for what follows to be refused for its own fault.
fn honest() -> TarGen {
    TarGen::new()
        .file("metadata/annotations.yaml", METADATA.as_bytes())
        .file("manifests/first.yaml", config_map("first").as_bytes())
}

/// Writes a layout `at` with one image, `1`, of one layer.
fn layout(sandbox: &Sandbox, at: &str, media_type: &str, layer: &[u8]) {
    let put = |media_type: &str, bytes: &[u8]| {
        let digest = sha256(bytes);
        sandbox.write(format!("{at}/blobs/{}", digest.replace(':', "/")), bytes);
        json!({"mediaType": media_type, "digest": digest, "size": bytes.len()})
    };
    let mut tar = layer.to_vec();
    if layer.starts_with(b"\x1f\x8b") {
        tar.clear();
        // Of a damaged layer the digest is that of as much as there is.
        let _ = MultiGzDecoder::new(layer).read_to_end(&mut tar);
    }
    let keys = METADATA.lines().filter_map(|line| line.strip_prefix("  "));
    let labels = keys.filter_map(|line| line.split_once(": "));
    let labels: serde_json::Map<String, Value> = labels
        .map(|(key, value)| (key.to_owned(), value.trim_matches('"').into()))
        .collect();
    let config = json!({
        "architecture": "amd64",
        "os": "linux",
        "config": {"Labels": labels},
        "rootfs": {"type": "layers", "diff_ids": [sha256(&tar)]},
    });
    let config = put(
        "application/vnd.oci.image.config.v1+json",
        config.to_string().as_bytes(),
    );
    let media = "application/vnd.oci.image.manifest.v1+json";
    let layers = [put(media_type, layer)];
    let manifest =
        json!({"schemaVersion": 2, "mediaType": media, "config": config, "layers": layers});
    let mut manifest = put(media, manifest.to_string().as_bytes());
    manifest["annotations"] = json!({"org.opencontainers.image.ref.name": "1"});
    let index = json!({"schemaVersion": 2, "manifests": [manifest]});
    sandbox.write(format!("{at}/index.json"), index.to_string());
    sandbox.write(
        format!("{at}/oci-layout"),
        r#"{"imageLayoutVersion":"1.0.0"}"#,
    );
}

/// Unpacks a layer beside a file that nobody may touch. Refused, it must have changed nothing anywhere.
#[track_caller]
fn unpack(media_type: &str, layer: &[u8]) -> (Sandbox, Ran) {
    let sandbox = Sandbox::new();
    layout(&sandbox, "in", media_type, layer);
    let victim = sandbox.write("victim.secret", "as it was");
    let before = Snapshot::of(sandbox.root());
    let ran = sandbox.run(["unpack", "oci:in:1", "-o", "out"]);
    if ran.code() == 0 {
        fs::metadata(sandbox.path("out/metadata/annotations.yaml")).unwrap();
    } else {
        before.assert_same(sandbox.root());
    }
    assert_eq!(fs::metadata(victim).unwrap().nlink(), 1);
    (sandbox, ran)
}

#[test]
fn case_80_hostile_entries_are_refused_by_name() {
    let data = config_map("x");
    let file = |name: &str| honest().file(name, data.as_bytes());
    let kind = |flag: u8, name: &str, target: &str| {
        honest().entry(Head::file(name, 0).flag(flag).link(target), b"")
    };
    let second = |archive: TarGen, name: &str| archive.file(name, data.as_bytes());
    for (archive, name) in [
        (file("../up.yaml"), "../up.yaml"),
        (file("/tmp/case-80.yaml"), "/tmp/case-80.yaml"),
        (
            file("manifests/a/../../../up.yaml"),
            "manifests/a/../../../up.yaml",
        ),
        (file("manifests/D:x.yaml"), "manifests/D:x.yaml"),
        (file("manifests\\x.yaml"), "manifests\\x.yaml"),
        (file("manifests/.wh.first.yaml"), "manifests/.wh.first.yaml"),
        (
            second(kind(b'2', "manifests/d", "/tmp"), "manifests/d/x.yaml"),
            "manifests/d",
        ),
        (
            kind(b'2', "manifests/l.yaml", "first.yaml"),
            "manifests/l.yaml",
        ),
        (kind(b'2', "manifests/up", ".."), "manifests/up"),
        (
            kind(b'1', "manifests/h.yaml", "/etc/hostname"),
            "manifests/h.yaml",
        ),
        (
            second(
                kind(b'1', "manifests/h.yaml", "../victim.secret"),
                "manifests/h.yaml",
            ),
            "manifests/h.yaml",
        ),
        (kind(b'6', "manifests/pipe", ""), "manifests/pipe"),
        (kind(b'3', "manifests/device", ""), "manifests/device"),
        (file("manifests/first.yaml"), "manifests/first.yaml"),
        (file("manifests/first.yaml/y"), "manifests/first.yaml"),
        (file(""), "has no name"),
    ] {
        let (_, ran) = unpack(TGZ, &gzip(&archive.end()));
        ran.assert_code(8);
        ran.assert_stderr_has(name);
    }
}

#[test]
fn case_80_harmless_oddities_are_unpacked() {
    let data = config_map("x");
    let head = |mode| Head::file("manifests/x.yaml", data.len() as u64).mode(mode);
    let plain = honest().file("manifests/x.yaml", data.as_bytes());
    let dotted = honest()
        .dir("./")
        .file("./manifests/x.yaml", data.as_bytes());
    let setuid = honest().entry(head(0o6755), data.as_bytes());
    let readonly = honest()
        .entry(Head::dir("manifests/").mode(0o555), b"")
        .entry(head(0o444), data.as_bytes());
    let tar = plain.clone().end();
    let halves = [gzip(&tar[..700]), gzip(&tar[700..])].concat();
    for (name, media_type, layer) in [
        ("plain", TGZ, gzip(&tar)),
        ("dotted", TGZ, gzip(&dotted.end())),
        ("setuid", TGZ, gzip(&setuid.end())),
        ("readonly", TGZ, gzip(&readonly.end())),
        ("uncompressed", TAR, tar.clone()),
        ("one archive in two members", TGZ, halves),
    ] {
        let (sandbox, ran) = unpack(media_type, &layer);
        ran.ok();
        let files: Vec<_> = tree(sandbox.path("out/manifests")).into_keys().collect();
        assert_eq!(files, ["first.yaml", "x.yaml"], "{name}");
        for (path, mode) in [("out/manifests/x.yaml", 0o644), ("out/manifests", 0o755)] {
            let found = fs::metadata(sandbox.path(path)).unwrap().permissions();
            // Less only where the umask takes some away.
            assert_eq!(found.mode() & 0o7777 & !mode, 0, "{name} {path}");
        }
        fs::remove_dir_all(sandbox.path("out")).unwrap();
    }
}

#[test]
fn case_80_damaged_layers_are_called_damaged() {
    let tar = honest().end();
    let whole = gzip(&tar);
    let more = [
        gzip(&tar),
        gzip(&TarGen::new().file("manifests/y.yaml", b"a: b").end()),
    ]
    .concat();
    for (media_type, layer, code, said) in [
        (TGZ, &whole[..whole.len() - 12], 7, "cut off"),
        (TGZ, &gzip(&tar[..1536])[..], 7, "cut off"),
        (TGZ, b"no layer at all", 8, "not gzip"),
        (TGZ, &tar, 8, TGZ),
        // Two archives in a row have more than one reading.
        (TGZ, &more, 8, "follow"),
    ] {
        let (_, ran) = unpack(media_type, layer);
        ran.assert_code(code).assert_stderr_has(said);
    }
}

#[test]
fn case_80_the_layers_of_the_corpus_do_no_harm() {
    let Some(folder) = corpus_folder("80-hostile-layers") else {
        return;
    };
    let mut layers: Vec<_> = fs::read_dir(folder.join("layers"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    layers.sort();
    assert!(layers.len() > 20, "{layers:?}");
    for path in layers {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let bytes = fs::read(&path).unwrap();
        let front = honest().open_end();
        let (media_type, layer) = match (name.as_str(), bytes.starts_with(b"\x1f\x8b")) {
            ("plain.tar", _) => (TAR, [front, bytes].concat()),
            (_, true) => (TGZ, [gzip(&front), bytes].concat()),
            (_, false) => (TGZ, bytes),
        };
        let (_, ran) = unpack(media_type, &layer);
        let code = match name.as_str() {
            // What is first wrong with these is that their files are in no directory of a bundle.
            "dot-slash.tgz" | "plain.tar" | "readonly-dir.tgz" | "setuid.tgz" | "truncated.tgz" => {
                11
            }
            _ => 8,
        };
        ran.assert_code(code);
    }
}

#[test]
fn case_81_a_small_layer_with_much_in_it_stops_at_the_limit() {
    const INSIDE: usize = 40 << 20;
    let sandbox = Sandbox::new();
    let bomb = honest()
        .file("manifests/zeros.yaml", &vec![0; INSIDE])
        .end();
    layout(&sandbox, "in", TGZ, &gzip(&bomb));
    let before = Snapshot::of(sandbox.work());
    let unpack = ["unpack", "oci:in:1", "-o", "out"];
    for (flags, said) in [
        (&[][..], ["`ratio` = 200", "--max-ratio"]),
        (
            &["--max-unpacked", "20000000"],
            ["`unpacked` = 20000000", "--max-unpacked"],
        ),
        (
            &["--max-ratio", "1000000", "--max-file", "5000000"],
            ["`file` = 5000000", "--max-file"],
        ),
    ] {
        let ran = sandbox
            .bundle([&unpack[..], flags].concat())
            .measured()
            .run();
        ran.assert_code(9).assert_stderr_has("got at least");
        for said in said {
            ran.assert_stderr_has(said);
        }
        assert!(ran.peak_rss() < 64 << 20, "{} bytes{ran}", ran.peak_rss());
        before.assert_same(sandbox.work());
    }
    let lifted = [&unpack[..], &["--max-ratio", "1000000"]].concat();
    sandbox.run(lifted).ok();
    let written = fs::metadata(sandbox.path("out/manifests/zeros.yaml"));
    assert_eq!(written.unwrap().len(), INSIDE as u64);
}

#[test]
fn case_81_what_is_too_much_to_unpack_is_too_much_to_pack() {
    let sandbox = Sandbox::new();
    bundle_dir(sandbox.path("in"), "demo", "1.0.0", None);
    let large = format!(
        "{}data: {{x: \"{}\"}}\n",
        config_map("x"),
        "ab".repeat(3000)
    );
    sandbox.write("in/manifests/large.yaml", large);
    let limit = ["--max-unpacked", "5000"];
    sandbox.run(["pack", "in", "-o", "in.tar"]).ok();
    for words in [
        &["pack", "in", "-o", "out.tar"][..],
        &["unpack", "in.tar", "-o", "out"],
    ] {
        let ran = sandbox.run([words, &limit].concat());
        ran.assert_code(9).assert_stderr_has("`unpacked` = 5000");
        ran.assert_stderr_has("--max-unpacked");
    }
    sandbox.run(["unpack", "in.tar", "-o", "out"]).ok();
}

#[test]
fn case_83_a_directory_is_the_old_one_or_the_new_one() {
    let sandbox = Sandbox::new();
    let registry = MockRegistry::plain();
    let there = registry.repository("demo");
    let reference = |version: &str| format!("{there}:{version}");
    for version in ["1.0.0", "2.0.0"] {
        bundle_dir(sandbox.path("in"), "demo", version, None);
        if version == "2.0.0" {
            fs::remove_file(sandbox.path("in/manifests/deployment.yaml")).unwrap();
        }
        sandbox.run(["push", "in", &there]).ok();
    }
    let pull = |version: &str, flags: &[&str]| {
        let reference = reference(version);
        sandbox.run([&["pull", &reference, "-o", "out"][..], flags].concat())
    };
    let force: &[&str] = &["--force"];
    let out = sandbox.path("out");

    // What no bundle made is not taken, whatever is asked for.
    sandbox.write("out/mine.txt", "mine");
    let mine = Snapshot::of(&out);
    pull("1.0.0", &[]).assert_code(13);
    pull("1.0.0", force)
        .assert_code(13)
        .assert_stderr_has("mine.txt");
    mine.assert_same(&out);
    fs::remove_dir_all(&out).unwrap();

    pull("1.0.0", &[]).ok();
    let old = Snapshot::of(&out);
    pull("2.0.0", &[])
        .assert_code(13)
        .assert_stderr_has("--force");
    pull("3.0.0", force).assert_code(3);
    old.assert_same(&out);

    // Killed in the middle of the layer.
    registry.rule(on("GET", "/blobs/").nth(2), Act::CutStall(20));
    registry.rule(on("GET", "/blobs/").nth(1), Act::CutStall(20));
    registry.mark();
    let words = ["pull", &reference("2.0.0"), "-o", "out", "--force"];
    let running = sandbox.bundle(words).spawn();
    registry.wait_for("GET", "/blobs/");
    running.signal(Signal::KILL);
    assert_eq!(running.wait().signal(), Some(9));
    old.assert_same(&out);
    registry.clear_rules();

    let exchanged = pull("2.0.0", force);
    answer(&exchanged);
    exchanged.assert_stderr_has("manifests/deployment.yaml");
    let manifests: Vec<_> = tree(out.join("manifests")).into_keys().collect();
    assert_eq!(manifests, ["configmap.yaml"]);
    // A file that was put in by hand is not lost in silence either.
    sandbox.write("out/mine.txt", "mine");
    let mine = Snapshot::of(&out);
    pull("1.0.0", force)
        .assert_code(13)
        .assert_stderr_has("mine.txt");
    mine.assert_same(&out);
    pull("1.0.0", &["--force", "--prune"])
        .ok()
        .assert_stderr_has("removed `mine.txt`");
}
