//! The words of the format: the parser in Rust and the pattern in the schema, by the name that the pages use.

use std::str::FromStr;

use manifest_bundle::digest::Digest;
use manifest_bundle::invalid::Invalid;
use manifest_bundle::limits::Limits;
use manifest_bundle::metadata;
use manifest_bundle::name::{ChannelName, OperatorId, PackageName};
use manifest_bundle::reference::{Registry, Repository};
use manifest_bundle::tag::Tag;
use manifest_bundle::version::{KubernetesVersion, Version};

/// A kind of word.
pub(super) struct Word {
    /// What the pages call it.
    pub(super) name: &'static str,
    /// Its place below `$defs` in `words.schema.json`; none where no pattern can say it.
    pub(super) schema: Option<&'static str>,
    pub(super) parse: fn(&str) -> Result<(), Invalid>,
    /// A text of exactly this many bytes that is as long as it can be made without becoming wrong otherwise.
    pub(super) of_length: fn(usize) -> String,
}

fn is<T: FromStr<Err = Invalid>>(text: &str) -> Result<(), Invalid> {
    text.parse::<T>().map(drop)
}

fn repository(text: &str) -> Result<(), Invalid> {
    Repository::new("ghcr.io".parse()?, text).map(drop)
}

/// What a key may be is decided where annotations are read.
fn key(text: &str) -> Result<(), Invalid> {
    let line = format!("annotations: {{'{text}': ''}}");
    let (annotations, _) = metadata::parse(line.as_bytes(), &Limits::default())
        .map_err(|_| Invalid::new("key", text, "is not read"))?;
    match metadata::Metadata::of(annotations, &|_| 0) {
        Err(findings) if findings.iter().any(|f| f.code == "metadata-key") => {
            Err(Invalid::new("key", text, "is refused"))
        }
        _ => Ok(()),
    }
}

pub(super) const WORDS: &[Word] = &[
    Word {
        name: "package name",
        schema: Some("name"),
        parse: is::<PackageName>,
        of_length: |n| "a".repeat(n),
    },
    Word {
        name: "operator id",
        schema: Some("name"),
        parse: is::<OperatorId>,
        of_length: |n| "a".repeat(n),
    },
    Word {
        name: "channel name",
        schema: Some("channel"),
        parse: is::<ChannelName>,
        of_length: |n| "a".repeat(n),
    },
    Word {
        name: "version",
        schema: Some("version"),
        parse: is::<Version>,
        of_length: |n| format!("1.0.0-{}", "a".repeat(n - 6)),
    },
    Word {
        name: "Kubernetes version",
        schema: Some("kubernetesVersion"),
        parse: is::<KubernetesVersion>,
        of_length: |n| format!("1.31.0-{}", "a".repeat(n - 7)),
    },
    Word {
        name: "tag",
        schema: Some("tag"),
        parse: is::<Tag>,
        of_length: |n| "a".repeat(n),
    },
    Word {
        name: "digest",
        schema: Some("digest"),
        parse: is::<Digest>,
        of_length: |n| format!("sha512:{}", "0".repeat(n - 7)),
    },
    Word {
        name: "repository",
        schema: Some("repository"),
        parse: repository,
        of_length: |n| "a".repeat(n),
    },
    Word {
        name: "host",
        schema: None,
        parse: is::<Registry>,
        of_length: |n| "a.".repeat((n - 1) / 2) + if n % 2 == 0 { "aa" } else { "a" },
    },
    Word {
        name: "key",
        schema: None,
        parse: key,
        of_length: |n| "a".repeat(n),
    },
];

/// Finds a kind of word by the name that the pages use.
pub(super) fn find(name: &str) -> Result<&'static Word, String> {
    WORDS
        .iter()
        .find(|word| word.name == name)
        .ok_or_else(|| format!("`{name}` is no kind of word"))
}

/// Texts for every kind of word that has a pattern; each kind is tried on all of them.
pub(super) const TEXTS: &[&str] = &[
    "",
    "a",
    "0",
    "7zip",
    "etcd",
    "etcd-manager",
    "a-",
    "-a",
    "-",
    "A",
    "Etcd",
    "a.b",
    "a..b",
    "a_b",
    "a__b",
    "a___b",
    "a--b",
    "a/b",
    "a//b",
    "/a",
    "a/",
    "a/../b",
    "..",
    ".",
    "a b",
    " a",
    "a\n",
    "a\0",
    "ä",
    "stable",
    "channel-a",
    "channel",
    "sha256-a",
    "sha256",
    "1x",
    "1.0.0",
    "0.0.0-a.1+b",
    "1.2.3-0-0",
    "1.2.3-rc.1",
    "1.2.3+build.5",
    "1.21",
    "v1.0.0",
    "01.2.3",
    "1.2.3-01",
    "1.2.3-0a",
    "1.2.3-",
    "1.2.3+",
    "1.2.3-a..b",
    "1.2.3_4",
    "1.2.3.4",
    "1",
    ">=1.0.0",
    "latest",
    "١.0.0",
    "1.31",
    "v1.31",
    "V1.31",
    "1.31+",
    "v1.31.2-gke.100",
    "v1.28.3+k3s1",
    "1.19.0-0",
    "1.",
    "1.x",
    "1.031",
    "1.31-\n",
    "a1.2",
    "-1.2",
    "_x",
    ".a",
    "a+b",
    "13546",
    "sha256:",
    "md5:d41d8cd98f00b204e9800998ecf8427e",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "sha256:E3B0C44298FC1C149AFBF4C8996FB92427AE41E4649B934CA495991B7852B855",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b85",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b8555",
    "sha512:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855\n",
    "18446744073709551615.0.0",
];

#[test]
fn the_schema_and_the_parser_agree_on_every_word() {
    let schemas = super::All::load();
    let mut faults = Vec::new();
    let (mut good, mut bad) = (0, 0);
    for word in WORDS {
        let Some(name) = word.schema else { continue };
        let longest = longest(word);
        let edges = [(word.of_length)(longest), (word.of_length)(longest + 1)];
        for text in TEXTS
            .iter()
            .copied()
            .chain(edges.iter().map(String::as_str))
        {
            let parsed = (word.parse)(text).is_ok();
            let matched = schemas.word(name, text);
            *if parsed { &mut good } else { &mut bad } += 1;
            if parsed != matched {
                faults.push(format!(
                    "{} {text:?}: the parser says {parsed}, the schema {matched}",
                    word.name
                ));
            }
        }
    }
    super::report(&faults);
    assert!(
        good > 50 && bad > 200,
        "{good} good and {bad} bad words were tried"
    );
}

/// Finds how many bytes a word may have, by trying.
pub(super) fn longest(word: &Word) -> usize {
    let fits = |n: &usize| (word.parse)(&(word.of_length)(*n)).is_ok();
    (20..1000).rev().find(fits).unwrap_or(0)
}
