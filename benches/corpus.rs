//! Manifests in the shape of what projects release: most are small, a few CRDs hold most of the bytes, and all of it packs
//! to about an eighth. Made from nothing but a seed, so that every machine measures the same bytes.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

/// How many files, and how large each is: 2,047 with 54 MB, as in a collection of 104 releases of 30 projects.
const SIZES: [(usize, usize); 4] = [(1_433, 2_600), (409, 18_000), (164, 110_000), (41, 640_000)];

/// Writes a bundle directory of 2,047 files and 54 MB.
pub(crate) fn large(at: &Path) {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let words = words(&mut random);
    let sentences = sentences(&mut random, &words);
    bundle(at, "corpus");
    let mut n = 0;
    for (count, middle) in SIZES {
        for _ in 0..count {
            // Between a half and one and a half of the middle.
            let size = middle / 2 + random.below(middle);
            let text = crd(n, size, &mut random, &words, &sentences);
            fs::write(at.join(format!("manifests/crd-{n:04}.yaml")), text).unwrap();
            n += 1;
        }
    }
}

/// Writes a bundle directory of five small files.
pub(crate) fn small(at: &Path) {
    bundle(at, "small");
    for (n, kind) in ["ConfigMap", "Secret", "Service", "ServiceAccount"]
        .iter()
        .enumerate()
    {
        let text = format!(
            "apiVersion: v1\nkind: {kind}\nmetadata:\n  name: small-{n}\n  labels:\n    app: small\n"
        );
        fs::write(at.join(format!("manifests/{n}.yaml")), text).unwrap();
    }
}

/// Writes the metadata of a bundle and makes room for its manifests.
fn bundle(at: &Path, package: &str) {
    fs::create_dir_all(at.join("manifests")).unwrap();
    fs::create_dir_all(at.join("metadata")).unwrap();
    let text = format!(
        "annotations:
  k8s.io.bundle.mediatype.v1: manifests
  k8s.io.bundle.manifests.v1: manifests/
  k8s.io.bundle.metadata.v1: metadata/
  k8s.io.bundle.package.v1: {package}
  k8s.io.bundle.version.v1: \"1.0.0\"
"
    );
    fs::write(at.join("metadata/annotations.yaml"), text).unwrap();
}

/// A custom resource definition of about `size` bytes.
fn crd(
    n: usize,
    size: usize,
    random: &mut Random,
    words: &[String],
    sentences: &[String],
) -> String {
    let mut text = format!(
        "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: things{n}.example.com
spec:
  group: example.com
  names:
    kind: Thing{n}
    plural: things{n}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties:
"
    );
    let mut depth = 0;
    let mut field = 0;
    while text.len() < size {
        let indent = 10 + 4 * depth;
        let name = &words[random.below(words.len())];
        let _ = writeln!(text, "{:indent$}{name}{field}:", "");
        let indent = indent + 2;
        let _ = writeln!(text, "{:indent$}description: |-", "");
        for _ in 0..=random.below(3) {
            let _ = writeln!(
                text,
                "{:indent$}  {}",
                "",
                sentences[random.below(sentences.len())]
            );
        }
        // A third of the fields hold fields; the way back is as long as the way in.
        match random.below(3) {
            0 if depth < 8 => {
                let _ = writeln!(
                    text,
                    "{:indent$}type: object\n{:indent$}properties:",
                    "", ""
                );
                depth += 1;
            }
            1 => {
                let _ = writeln!(text, "{:indent$}type: string", "");
                depth -= depth.min(random.below(2));
            }
            _ => {
                let _ = writeln!(
                    text,
                    "{:indent$}type: array\n{:indent$}items:\n{:indent$}  type: string",
                    "", "", ""
                );
            }
        }
        field += 1;
    }
    // The last field must not be an object that announces fields and has none.
    let _ = writeln!(
        text,
        "{:indent$}last:\n{:indent$}  type: string",
        "",
        "",
        indent = 10 + 4 * depth
    );
    text
}

fn words(random: &mut Random) -> Vec<String> {
    let letters = |random: &mut Random| {
        let count = 3 + random.below(8);
        (0..count)
            .map(|_| char::from(b'a' + u8::try_from(random.below(26)).unwrap()))
            .collect()
    };
    (0..1_500).map(|_| letters(random)).collect()
}

/// Sentences that come again in many files, as the descriptions of Kubernetes' own types do.
fn sentences(random: &mut Random, words: &[String]) -> Vec<String> {
    let sentence = |random: &mut Random| {
        let count = 6 + random.below(10);
        let words: Vec<_> = (0..count)
            .map(|_| words[random.below(words.len())].as_str())
            .collect();
        format!("{}.", words.join(" "))
    };
    (0..200).map(|_| sentence(random)).collect()
}

/// Xorshift.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap() % limit
    }
}
