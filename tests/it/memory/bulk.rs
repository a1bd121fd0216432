//! Much of everything, made quickly: manifests, and images whose layer is as large as wanted.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use manifest_bundle::digest::Hasher;
use serde_json::json;

/// What the bundle of [`stored`] says of itself.
const METADATA: [(&str, &str); 5] = [
    ("k8s.io.bundle.mediatype.v1", "manifests"),
    ("k8s.io.bundle.manifests.v1", "manifests/"),
    ("k8s.io.bundle.metadata.v1", "metadata/"),
    ("k8s.io.bundle.package.v1", "bulk"),
    ("k8s.io.bundle.version.v1", "1.0.0"),
];

/// Writes `count` manifests of about `size` bytes each. Their text packs to half its size, as that of many manifests does.
pub(super) fn manifests(at: &Path, count: u64, size: u64) {
    for n in 0..count {
        fs::write(at.join(format!("bulk-{n:05}.yaml")), manifest(n, size)).unwrap();
    }
}

fn manifest(n: u64, size: u64) -> String {
    let mut text =
        format!("apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: bulk-{n}\ndata:\n  text: |\n");
    let mut state = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    while (text.len() as u64) < size {
        text.push_str("    ");
        for _ in 0..4 {
            // Xorshift: the same text on every machine, and none that repeats.
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let _ = write!(text, "{state:016x}");
        }
        text.push('\n');
    }
    text
}

/// Writes a layer of `count` manifests of `size` bytes that is as large as what is in it; returns the digest of its tar.
pub(super) fn stored(layer: &File, count: u64, size: u64) -> String {
    let gzip = GzEncoder::new(BufWriter::new(layer), Compression::none());
    let mut tar = tar::Builder::new(Hashed(gzip, Hasher::sha256()));
    let text = manifest(0, size);
    let mut file = |name: String, text: &str| {
        let mut header = tar::Header::new_ustar();
        header.set_entry_type(tar::EntryType::Regular);
        header.set_mode(0o644);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        header.set_size(text.len() as u64);
        tar.append_data(&mut header, name, text.as_bytes()).unwrap();
    };
    for n in 0..count {
        file(format!("manifests/bulk-{n:05}.yaml"), &text);
    }
    file(
        "manifests/end.yaml".into(),
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: end}\n",
    );
    let lines = METADATA.map(|(key, value)| format!("  {key}: \"{value}\"\n"));
    let text = format!("annotations:\n{}", lines.concat());
    file("metadata/annotations.yaml".into(), &text);
    let Hashed(gzip, hasher) = tar.into_inner().unwrap();
    gzip.finish().unwrap().flush().unwrap();
    hasher.finish().to_string()
}

/// Hashes what it passes on.
struct Hashed<W>(W, Hasher);

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let n = self.0.write(bytes)?;
        self.1.update(&bytes[..n]);
        Ok(n)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

/// Makes an OCI layout with one image, `1`, whose one layer `fill` writes, with the digest of its tar as the result.
pub(super) fn image(at: &Path, fill: impl FnOnce(&File) -> String) {
    let blobs = at.join("blobs/sha256");
    fs::create_dir_all(&blobs).unwrap();
    let layer = blobs.join("layer");
    let tar = fill(&File::create(&layer).unwrap());
    let (size, hex) = digest(&mut BufReader::new(File::open(&layer).unwrap()));
    fs::rename(layer, blobs.join(&hex)).unwrap();
    let layer = descriptor("application/vnd.oci.image.layer.v1.tar+gzip", size, &hex);

    let put = |media_type: &str, value: &serde_json::Value| {
        let text = value.to_string();
        let (size, hex) = digest(&mut text.as_bytes());
        fs::write(blobs.join(&hex), text).unwrap();
        descriptor(media_type, size, &hex)
    };
    let config = json!({
        "architecture": "amd64",
        "os": "linux",
        "config": {"Labels": std::collections::BTreeMap::from(METADATA)},
        "rootfs": {"type": "layers", "diff_ids": [tar]},
    });
    let config = put("application/vnd.oci.image.config.v1+json", &config);
    let media_type = "application/vnd.oci.image.manifest.v1+json";
    let manifest =
        json!({"schemaVersion": 2, "mediaType": media_type, "config": config, "layers": [layer]});
    let mut manifest = put(media_type, &manifest);
    manifest["annotations"] = json!({"org.opencontainers.image.ref.name": "1"});
    let index = json!({"schemaVersion": 2, "manifests": [manifest]});
    fs::write(at.join("index.json"), index.to_string()).unwrap();
    fs::write(at.join("oci-layout"), r#"{"imageLayoutVersion":"1.0.0"}"#).unwrap();
}

fn descriptor(media_type: &str, size: u64, hex: &str) -> serde_json::Value {
    json!({"mediaType": media_type, "size": size, "digest": format!("sha256:{hex}")})
}

/// The size and the hexadecimal SHA-256 of what is read.
fn digest(from: &mut dyn Read) -> (u64, String) {
    let mut hasher = Hasher::sha256();
    let (mut size, mut buffer) = (0, vec![0; 1 << 16]);
    loop {
        let n = from.read(&mut buffer).unwrap();
        if n == 0 {
            break;
        }
        size += n as u64;
        hasher.update(&buffer[..n]);
    }
    let digest = hasher.finish().to_string();
    (size, digest.split_once(':').unwrap().1.to_owned())
}
