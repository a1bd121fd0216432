//! Recognises files that hold credentials of people: private keys and kubeconfigs.
//!
//! By content, because names say little: a Kubernetes Secret that carries a key in its data is a manifest and none of
//! them. Only the beginning of a file is looked at, line by line, without parsing it.

use std::fmt;

use serde::Deserialize;
use serde::de::IgnoredAny;

/// How much of a file is looked at, in bytes.
pub const LOOKED_AT: usize = 1024 * 1024;

/// A kind of file that a bundle does not carry unless it is included by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sensitive {
    /// A private key in PEM, OpenSSH, OpenPGP or PuTTY form.
    PrivateKey,
    /// The clusters and credentials of a user of `kubectl`.
    Kubeconfig,
}

impl fmt::Display for Sensitive {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PrivateKey => "private key",
            Self::Kubeconfig => "kubeconfig",
        })
    }
}

/// Tells what a file is that begins with `head`, the first [`LOOKED_AT`] bytes or all there are.
pub fn recognise(head: &[u8]) -> Option<Sensitive> {
    let head = head.get(..LOOKED_AT).unwrap_or(head);
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    if head.trim_ascii_start().starts_with(b"{") {
        return json_kubeconfig(head).then_some(Sensitive::Kubeconfig);
    }
    let mut keys = TopLevel::default();
    for line in head.split(|byte| *byte == b'\n') {
        if is_private_key_header(line) {
            return Some(Sensitive::PrivateKey);
        }
        if keys.end_of_interest(line) {
            break;
        }
    }
    keys.is_kubeconfig().then_some(Sensitive::Kubeconfig)
}

/// Tells whether a line begins a private key. In a YAML file such a line is indented, or it is no value of a mapping.
fn is_private_key_header(line: &[u8]) -> bool {
    let line = line.trim_ascii_end();
    if line.starts_with(b"PuTTY-User-Key-File-") {
        return true;
    }
    line.strip_prefix(b"-----BEGIN ")
        .and_then(|rest| rest.strip_suffix(b"-----"))
        .is_some_and(|label| label.ends_with(b"PRIVATE KEY") || label == b"PGP PRIVATE KEY BLOCK")
}

/// The keys at the top of a YAML document, as far as they tell a kubeconfig from an object.
#[derive(Debug, Default)]
struct TopLevel {
    config: bool,
    other: bool,
    lists: u8,
    begun: bool,
}

impl TopLevel {
    /// Takes a line in; says whether the rest of the file cannot change the answer.
    fn end_of_interest(&mut self, line: &[u8]) -> bool {
        let line = line.trim_ascii_end();
        if line == b"---" || line.starts_with(b"--- ") {
            // A kubeconfig is one document.
            return self.begun;
        }
        let Some((key, value)) = key_and_value(line) else {
            return false;
        };
        self.begun = true;
        match (key, value) {
            (b"kind", b"Config") => self.config = true,
            (b"apiVersion", b"v1") => {}
            (b"kind" | b"apiVersion", _) => self.other = true,
            (b"clusters" | b"contexts" | b"users", _) => {
                self.lists = self.lists.saturating_add(1);
            }
            _ => {}
        }
        self.other
    }

    /// `kubectl` also takes a file that names neither kind nor version, if it has the lists.
    fn is_kubeconfig(&self) -> bool {
        !self.other && self.lists >= if self.config { 1 } else { 3 }
    }
}

/// Splits a line of the form `key: value` that is not indented, without quotes and comment.
fn key_and_value(line: &[u8]) -> Option<(&[u8], &[u8])> {
    if matches!(line.first()?, b' ' | b'\t' | b'#' | b'-') {
        return None;
    }
    let colon = line.iter().position(|byte| *byte == b':')?;
    let (key, rest) = line.split_at_checked(colon)?;
    let value = rest.get(1..)?.trim_ascii();
    let value = match value.windows(2).position(|pair| pair == b" #") {
        Some(comment) => value.get(..comment)?.trim_ascii_end(),
        None => value,
    };
    Some((unquoted(key.trim_ascii_end()), unquoted(value)))
}

fn unquoted(text: &[u8]) -> &[u8] {
    [b'"', b'\'']
        .iter()
        .find_map(|quote| text.strip_prefix(&[*quote])?.strip_suffix(&[*quote]))
        .unwrap_or(text)
}

fn json_kubeconfig(text: &[u8]) -> bool {
    #[derive(Deserialize)]
    struct Head {
        kind: Option<String>,
        #[serde(rename = "apiVersion")]
        version: Option<String>,
        clusters: Option<IgnoredAny>,
        users: Option<IgnoredAny>,
    }
    serde_json::from_slice(text).is_ok_and(|head: Head| {
        head.kind.is_none_or(|kind| kind == "Config")
            && head.version.is_none_or(|version| version == "v1")
            && head.clusters.is_some()
            && head.users.is_some()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_keys_are_recognised_by_their_first_line() {
        // Put together here, so that no scanner takes this file for a key.
        for label in [
            "PRIVATE KEY",
            "RSA PRIVATE KEY",
            "EC PRIVATE KEY",
            "OPENSSH PRIVATE KEY",
            "ENCRYPTED PRIVATE KEY",
            "PGP PRIVATE KEY BLOCK",
        ] {
            for before in [
                "",
                "\n\n",
                "\u{feff}",
                "Bag Attributes\n    x: y\n",
                "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n",
            ] {
                let text = format!("{before}-----BEGIN {label}-----\r\nAAAA\r\n");
                assert_eq!(
                    recognise(text.as_bytes()),
                    Some(Sensitive::PrivateKey),
                    "{text}"
                );
            }
        }
        let text = "PuTTY-User-Key-File-3: ssh-ed25519\n";
        assert_eq!(recognise(text.as_bytes()), Some(Sensitive::PrivateKey));
    }

    #[test]
    fn kubeconfigs_are_recognised_however_they_are_written() {
        for text in [
            "apiVersion: v1\nkind: Config\nclusters: []\nusers: []\n",
            "apiVersion: v1\nclusters:\n- cluster:\n    server: https://x\n  name: x\ncontexts: []\ncurrent-context: x\nkind: Config\npreferences: {}\nusers:\n- name: x\n",
            "# mine\r\n---\r\nkind: \"Config\" # c\r\n'clusters':\r\n- name: x\r\n",
            "clusters:\nusers:\ncontexts:\n",
            "{\"kind\":\"Config\",\"apiVersion\":\"v1\",\"clusters\":[],\"users\":[]}",
            "\n{\n  \"clusters\": [{\"a\": {}}],\n  \"users\": []\n}\n",
        ] {
            assert_eq!(
                recognise(text.as_bytes()),
                Some(Sensitive::Kubeconfig),
                "{text}"
            );
        }
    }

    #[test]
    fn manifests_are_neither() {
        let key = format!("-----BEGIN {} KEY-----", "PRIVATE");
        for text in [
            String::new(),
            format!("apiVersion: v1\nkind: Secret\nstringData:\n  tls.key: |\n    {key}\n    AAAA\n"),
            format!("{{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"stringData\":{{\"k\":\"{key}\\n\"}}}}"),
            "apiVersion: config.gatekeeper.sh/v1alpha1\nkind: Config\nusers: []\n".into(),
            "kind: Config\napiVersion: imageregistry.operator.openshift.io/v1\nusers: 1\n".into(),
            "apiVersion: v1\nkind: ConfigMap\ndata:\n  config: |\n    kind: Config\n    clusters: []\n    users: []\n".into(),
            "kind: Config\n".into(),
            "users: []\nclusters: []\n".into(),
            "a: 1\n---\nkind: Config\nclusters: []\nusers: []\n".into(),
            "-----BEGIN CERTIFICATE-----\nAAAA\n".into(),
            "-----BEGIN PUBLIC KEY-----\nAAAA\n".into(),
            "{".into(),
            "[]".into(),
        ] {
            assert_eq!(recognise(text.as_bytes()), None, "{text}");
        }
    }
}
