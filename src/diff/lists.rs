//! Which items of two lists belong together: by the fields that tell them apart where there are such, else by what they have in common.

use std::collections::BTreeMap;
use std::ops::Range;

use imara_diff::{Algorithm, Diff, InternedInput};
use serde_json::Value as Json;

use crate::digest::Digest;
use crate::yaml::{Node, Value};

use super::budget::{LineBudget, differing};
use super::mask::Mask;
use super::path::Step;
use super::value::digest;

/// Fields that tell the items of a list apart, by the name of the list. The first row that fits both lists is taken; a field with `=` has that value
/// where it is left out.
#[rustfmt::skip]
const KEYS: &[(&str, &[&str])] = &[
    ("ports", &["containerPort", "protocol=TCP"]),
    ("ports", &["port", "protocol=TCP"]),
    ("ports", &["name"]),
    ("volumeMounts", &["mountPath"]),
    ("volumeDevices", &["devicePath"]),
    ("hostAliases", &["ip"]),
    ("podIPs", &["ip"]),
    ("topologySpreadConstraints", &["topologyKey", "whenUnsatisfiable"]),
    ("volumeClaimTemplates", &["metadata.name"]),
    ("conditions", &["type"]),
    ("ownerReferences", &["uid"]),
    ("subjects", &["kind", "namespace=", "name"]),
    ("rules", &["apiGroups", "resources", "resourceNames=", "nonResourceURLs="]),
    ("rules", &["nonResourceURLs", "resources="]),
    ("rules", &["host="]),
    ("paths", &["path", "pathType="]),
    ("taints", &["key", "effect"]),
    ("tolerations", &["key=", "operator=", "value=", "effect="]),
    ("x-kubernetes-validations", &["rule"]),
    ("validations", &["expression"]),
    ("matchConditions", &["name"]),
    ("items", &["key", "path"]),
    ("sources", &["path"]),
    ("metrics", &["type", "resource.name="]),
    ("", &["name"]),
    ("", &["metadata.name"]),
];

/// Lists of words in which the order means nothing.
const SETS: &[&str] = &[
    "enum",
    "required",
    "shortNames",
    "categories",
    "verbs",
    "resources",
    "apiGroups",
    "resourceNames",
    "nonResourceURLs",
    "accessModes",
    "finalizers",
    "x-kubernetes-list-map-keys",
    "operations",
    "apiVersions",
    "policyTypes",
    "mountOptions",
];

/// Two items that belong together, or one that has no other.
pub(super) struct Pair<'n> {
    pub(super) step: Step,
    pub(super) old: Option<&'n Node>,
    pub(super) new: Option<&'n Node>,
}

/// How two lists compare.
pub(super) struct Compared<'n> {
    pub(super) pairs: Vec<Pair<'n>>,
    /// Whether the items that both lists have are in another order.
    pub(super) is_reordered: bool,
    fields: Option<&'static [&'static str]>,
}

impl<'n> Compared<'n> {
    /// Compares lists by their contents alone.
    pub(super) fn by_place(old: &'n [Node], new: &'n [Node], budget: &mut LineBudget) -> Self {
        Self {
            pairs: by_content(old, new, budget),
            is_reordered: false,
            fields: None,
        }
    }

    /// Returns what stands for an item where only the order is shown.
    pub(super) fn label(&self, item: &Node, mask: Mask) -> Json {
        let key = self.fields.and_then(|fields| key(item, fields));
        match key {
            Some(key) => Step::Item(key).to_string().into(),
            None => mask.json(item),
        }
    }
}

/// Compares the lists of a name.
pub(super) fn compare<'n>(
    name: &str,
    old: &'n [Node],
    new: &'n [Node],
    budget: &mut LineBudget,
) -> Compared<'n> {
    let rows = KEYS
        .iter()
        .filter(|(list, _)| *list == name || list.is_empty());
    for (_, fields) in rows {
        if let (Some(a), Some(b)) = (keyed(old, fields), keyed(new, fields)) {
            return by_key(fields, old, a, new, b);
        }
    }
    if SETS.contains(&name) && is_words(old) && is_words(new) {
        return as_sets(old, new);
    }
    Compared::by_place(old, new, budget)
}

type Key = Vec<(String, String)>;

/// Returns the items by their keys, if all have one and no two the same.
fn keyed<'n>(items: &'n [Node], fields: &[&str]) -> Option<BTreeMap<Key, (usize, &'n Node)>> {
    let mut keyed = BTreeMap::new();
    for (at, item) in items.iter().enumerate() {
        if keyed.insert(key(item, fields)?, (at, item)).is_some() {
            return None;
        }
    }
    Some(keyed)
}

/// Returns what tells an item apart; a field that is left out is not part of it where that is allowed.
fn key(item: &Node, fields: &[&str]) -> Option<Key> {
    item.as_mapping()?;
    let mut key = Key::new();
    for field in fields {
        let (path, default) = match field.split_once('=') {
            Some((path, default)) => (path, Some(default)),
            None => (*field, None),
        };
        let steps: Vec<&str> = path.split('.').collect();
        let value = match item.at(&steps).map(scalar) {
            Some(value) => value?,
            None => default?.to_owned(),
        };
        if !value.is_empty() || default.is_none() {
            key.push((path.to_owned(), value));
        }
    }
    (!key.is_empty() || fields.iter().all(|field| field.contains('='))).then_some(key)
}

/// Returns the text of a scalar, or of a list of scalars as a set.
fn scalar(node: &Node) -> Option<String> {
    match &node.value {
        Value::String(text) => Some(text.clone()),
        Value::Bool(_) | Value::Int(_) | Value::UInt(_) => Some(node.to_json().to_string()),
        Value::Sequence(items) => {
            let mut words: Vec<String> = items.iter().map(word).collect::<Option<_>>()?;
            words.sort();
            Some(words.join("|"))
        }
        Value::Null | Value::Float(_) | Value::Mapping(_) => None,
    }
}

fn word(node: &Node) -> Option<String> {
    node.as_str().map(|text| {
        if text.is_empty() {
            "\"\"".to_owned()
        } else {
            text.to_owned()
        }
    })
}

fn by_key<'n>(
    fields: &'static [&'static str],
    old: &'n [Node],
    mut a: BTreeMap<Key, (usize, &'n Node)>,
    new: &'n [Node],
    b: BTreeMap<Key, (usize, &'n Node)>,
) -> Compared<'n> {
    let common = |items: &[Node], other: &BTreeMap<Key, (usize, &Node)>| -> Vec<Option<Key>> {
        let keys = items.iter().map(|item| key(item, fields));
        keys.filter(|key| key.as_ref().is_some_and(|key| other.contains_key(key)))
            .collect()
    };
    let is_reordered = common(old, &b) != common(new, &a);
    let mut pairs: Vec<Pair<'n>> = Vec::new();
    for (key, (_, new)) in b {
        let old = a.remove(&key).map(|(_, old)| old);
        pairs.push(Pair {
            step: Step::Item(key),
            old,
            new: Some(new),
        });
    }
    pairs.extend(a.into_iter().map(|(key, (_, old))| Pair {
        step: Step::Item(key),
        old: Some(old),
        new: None,
    }));
    pairs.sort_by(|a, b| a.step.cmp(&b.step));
    Compared {
        pairs,
        is_reordered,
        fields: Some(fields),
    }
}

fn is_words(items: &[Node]) -> bool {
    let is_word = |item: &Node| !matches!(item.value, Value::Sequence(_) | Value::Mapping(_));
    items.iter().all(is_word)
}

/// Compares lists in which the order means nothing: only what is added and what is removed counts.
fn as_sets<'n>(old: &'n [Node], new: &'n [Node]) -> Compared<'n> {
    let mut left: BTreeMap<Digest, Vec<(usize, &Node)>> = BTreeMap::new();
    for (at, item) in new.iter().enumerate().rev() {
        left.entry(digest(item)).or_default().push((at, item));
    }
    let mut pairs = Vec::new();
    let mut order = Vec::new();
    for (at, item) in old.iter().enumerate() {
        match left.get_mut(&digest(item)).and_then(Vec::pop) {
            Some((place, _)) => order.push(place),
            None => pairs.push(Pair {
                step: Step::Index(Some(at), None),
                old: Some(item),
                new: None,
            }),
        }
    }
    let mut added: Vec<_> = left.into_values().flatten().collect();
    added.sort_by_key(|(at, _)| *at);
    pairs.extend(added.into_iter().map(|(at, item)| Pair {
        step: Step::Index(None, Some(at)),
        old: None,
        new: Some(item),
    }));
    Compared {
        is_reordered: pairs.is_empty() && !order.is_sorted(),
        pairs,
        fields: None,
    }
}

/// Pairs what is the same in both lists and in the same order; what is between them is paired one by one. Where that is too much
/// work, only what the lists begin and end with counts as the same.
fn by_content<'n>(old: &'n [Node], new: &'n [Node], budget: &mut LineBudget) -> Vec<Pair<'n>> {
    let names = |items: &[Node]| -> Vec<Vec<u8>> {
        items
            .iter()
            .map(|item| digest(item).hex().into_bytes())
            .collect()
    };
    let (a, b) = (names(old), names(new));
    let mut pairs = Vec::new();
    let mut one_by_one = |mut old_range: Range<usize>, mut new_range: Range<usize>| {
        loop {
            let (i, j) = (old_range.next(), new_range.next());
            if i.is_none() && j.is_none() {
                break;
            }
            pairs.push(Pair {
                step: Step::Index(i, j),
                old: i.and_then(|i| old.get(i)),
                new: j.and_then(|j| new.get(j)),
            });
        }
    };
    let [old_range, new_range] = differing(&a, &b);
    if !budget.affords(old_range.len(), new_range.len()) {
        one_by_one(old_range, new_range);
        return pairs;
    }
    // Of several ways to see it, both directions must take the same one.
    let is_turned = b < a;
    let mut input = InternedInput::default();
    let (before, after) = if is_turned { (&b, &a) } else { (&a, &b) };
    input.update_before(before.iter().map(Vec::as_slice));
    input.update_after(after.iter().map(Vec::as_slice));
    let diff = Diff::compute(Algorithm::Myers, &input);
    let range = |range: Range<u32>| place(range.start)..place(range.end);
    for hunk in diff.hunks() {
        let (before, after) = (range(hunk.before), range(hunk.after));
        if is_turned {
            one_by_one(after, before);
        } else {
            one_by_one(before, after);
        }
    }
    pairs
}

fn place(at: u32) -> usize {
    usize::try_from(at).unwrap_or(usize::MAX)
}
