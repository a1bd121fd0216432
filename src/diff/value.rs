//! When two values are the same: a digest of each, and a comparison.
//!
//! The order of keys does not matter, the order of a list does. Numbers are compared by what they are, so 1 and 1.0 are one: JSON knows one
//! kind, and Kubernetes' reader writes both as 1. `creationTimestamp: null`, which generators leave behind, counts as not there.

use crate::digest::{Digest, Hasher};
use crate::objects::Object;
use crate::yaml::{Key, Node, Value};

/// Returns a digest that equal values share.
pub(super) fn digest(node: &Node) -> Digest {
    let mut hasher = Hasher::sha256();
    feed(node, &mut hasher);
    hasher.finish()
}

/// Returns the digest of an object, whether or not it says itself what its list says of it.
pub(super) fn digest_of_object(object: &Object) -> Digest {
    let mut hasher = Hasher::sha256();
    text(&object.api_version(), &mut hasher);
    text(&object.id.kind, &mut hasher);
    mapping(members_of(object), &mut hasher);
    hasher.finish()
}

/// Returns the members of an object without its type, which is known.
pub(super) fn members_of(object: &Object) -> impl Iterator<Item = (&str, &Node)> {
    members(&object.node).filter(|(key, _)| !matches!(*key, "apiVersion" | "kind"))
}

/// Returns the members of a mapping that count.
pub(super) fn members(node: &Node) -> impl Iterator<Item = (&str, &Node)> {
    let entries: &[(Key, Node)] = node.as_mapping().unwrap_or_default();
    entries
        .iter()
        .map(|(key, value)| (&*key.text, value))
        .filter(|(key, value)| !(*key == "creationTimestamp" && value.is_null()))
}

fn feed(node: &Node, hasher: &mut Hasher) {
    match &node.value {
        Value::Null => hasher.update(b"n"),
        Value::Bool(value) => hasher.update(if *value { b"t" } else { b"f" }),
        Value::Int(value) => integer(i128::from(*value), hasher),
        Value::UInt(value) => integer(i128::from(*value), hasher),
        Value::Float(value) => {
            if let Some(value) = whole(*value) {
                integer(value, hasher);
            } else {
                hasher.update(b"d");
                hasher.update(&value.to_bits().to_be_bytes());
            }
        }
        Value::String(value) => text(value, hasher),
        Value::Sequence(items) => {
            hasher.update(b"[");
            hasher.update(&(items.len() as u64).to_be_bytes());
            for item in items {
                feed(item, hasher);
            }
        }
        Value::Mapping(_) => mapping(members(node), hasher),
    }
}

fn mapping<'n>(members: impl Iterator<Item = (&'n str, &'n Node)>, hasher: &mut Hasher) {
    let mut members: Vec<_> = members.collect();
    members.sort_by_key(|(key, _)| *key);
    hasher.update(b"{");
    hasher.update(&(members.len() as u64).to_be_bytes());
    for (key, value) in members {
        text(key, hasher);
        feed(value, hasher);
    }
}

fn integer(value: i128, hasher: &mut Hasher) {
    hasher.update(b"i");
    hasher.update(&value.to_be_bytes());
}

fn text(value: &str, hasher: &mut Hasher) {
    hasher.update(b"s");
    hasher.update(&(value.len() as u64).to_be_bytes());
    hasher.update(value.as_bytes());
}

/// Returns the integer that a number is, if it is one; above 2⁶⁴ numbers are compared by their bits.
fn whole(value: f64) -> Option<i128> {
    let is_whole = value.fract() == 0.0 && value.abs() <= 18_446_744_073_709_551_616.0;
    #[expect(clippy::cast_possible_truncation, reason = "it is whole and in range")]
    is_whole.then_some(value as i128)
}

/// Tells whether two values are the same.
pub(super) fn same(old: &Node, new: &Node) -> bool {
    match (&old.value, &new.value) {
        (Value::Sequence(a), Value::Sequence(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Mapping(_), Value::Mapping(_)) | (Value::Float(_), _) | (_, Value::Float(_)) => {
            digest(old) == digest(new)
        }
        (Value::Int(a), Value::UInt(b)) | (Value::UInt(b), Value::Int(a)) => {
            i128::from(*a) == i128::from(*b)
        }
        (a, b) => a == b,
    }
}
