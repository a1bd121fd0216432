//! What roles allow: the difference between two sets of rules, seen through their wildcards.

use std::collections::{BTreeMap, BTreeSet};

use crate::objects::{Object, ObjectId};
use crate::yaml::Node;

use super::Place;

/// How many single permissions of one role are looked at.
const MANY: usize = 50_000;

/// Something that a role allows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Grant {
    /// The API group, `*` for all; none for a path.
    pub group: Option<String>,
    /// The resource, such as `pods/log`, or the path of an endpoint.
    pub resource: String,
    /// The one object that may be reached; none means any.
    pub name: Option<String>,
    /// What may be done.
    pub verbs: Vec<String>,
}

/// What a role allows now and did not, and the reverse.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grants {
    /// The role.
    pub role: ObjectId,
    /// Where it is on the old side and on the new one.
    pub places: [Option<Place>; 2],
    /// What it allows now.
    pub gained: Vec<Grant>,
    /// What it allowed.
    pub lost: Vec<Grant>,
    /// Whether its rules allow more single things than are compared here, so that only its fields tell.
    pub is_too_large: bool,
}

/// Tells whether an object is a role.
pub(super) fn is_role(id: &ObjectId) -> bool {
    id.group == "rbac.authorization.k8s.io" && matches!(id.kind.as_str(), "Role" | "ClusterRole")
}

/// One thing that is allowed: group, resource, name, verb.
type Single = (Option<String>, String, Option<String>, String);

/// Compares what two states of a role allow.
pub(super) fn compare(
    old: Option<&Object>,
    new: Option<&Object>,
    places: &[Option<Place>; 2],
) -> Option<Grants> {
    let role = old.or(new)?.id.clone();
    let places = places.clone();
    let read = |object: Option<&Object>| object.map_or(Some(BTreeSet::new()), singles);
    let (Some(old), Some(new)) = (read(old), read(new)) else {
        return Some(Grants {
            role,
            places,
            gained: Vec::new(),
            lost: Vec::new(),
            is_too_large: true,
        });
    };
    let (gained, lost) = (grouped(&new, &old), grouped(&old, &new));
    let differs = !gained.is_empty() || !lost.is_empty();
    differs.then_some(Grants {
        role,
        places,
        gained,
        lost,
        is_too_large: false,
    })
}

/// Returns all single things that a role allows; none when they are too many.
fn singles(object: &Object) -> Option<BTreeSet<Single>> {
    let mut all = BTreeSet::new();
    let rules = object.node.get("rules").and_then(Node::as_sequence);
    for rule in rules.unwrap_or_default() {
        let verbs = words(rule.get("verbs"));
        let mut names: Vec<Option<String>> = words(rule.get("resourceNames"))
            .into_iter()
            .map(Some)
            .collect();
        if names.is_empty() {
            names.push(None);
        }
        let (groups, resources) = (words(rule.get("apiGroups")), words(rule.get("resources")));
        let paths = words(rule.get("nonResourceURLs"));
        let size = [groups.len(), resources.len(), names.len()];
        let size = size.into_iter().try_fold(verbs.len(), usize::checked_mul)?;
        if size.saturating_add(all.len()) > MANY {
            return None;
        }
        for verb in &verbs {
            for path in &paths {
                all.insert((None, path.clone(), None, verb.clone()));
            }
            for group in &groups {
                for resource in &resources {
                    for name in &names {
                        let group = Some(group.clone());
                        all.insert((group, resource.clone(), name.clone(), verb.clone()));
                    }
                }
            }
        }
    }
    Some(all)
}

fn words(node: Option<&Node>) -> Vec<String> {
    let items = node.and_then(Node::as_sequence).unwrap_or_default();
    let words = items.iter().filter_map(Node::as_str);
    words.map(str::to_owned).collect()
}

/// Returns what is in one set and not covered by the other, with the verbs of one thing together.
fn grouped(these: &BTreeSet<Single>, those: &BTreeSet<Single>) -> Vec<Grant> {
    let mut grants: BTreeMap<(Option<String>, String, Option<String>), Vec<String>> =
        BTreeMap::new();
    for single @ (group, resource, name, verb) in these {
        if !covers(those, single) {
            let thing = (group.clone(), resource.clone(), name.clone());
            grants.entry(thing).or_default().push(verb.clone());
        }
    }
    let grant = |((group, resource, name), verbs)| Grant {
        group,
        resource,
        name,
        verbs,
    };
    grants.into_iter().map(grant).collect()
}

/// Tells whether a set allows something, by itself or by a wildcard.
fn covers(set: &BTreeSet<Single>, (group, resource, name, verb): &Single) -> bool {
    let all = || "*".to_owned();
    let verbs = [verb.clone(), all()];
    let Some(group) = group else {
        // A path may end in a wildcard.
        return set.iter().any(|(other, path, _, allowed)| {
            let is_path = path == resource
                || path
                    .strip_suffix('*')
                    .is_some_and(|begin| resource.starts_with(begin));
            other.is_none() && is_path && verbs.contains(allowed)
        });
    };
    let below = resource.split_once('/').map(|(_, sub)| format!("*/{sub}"));
    let resources = [Some(resource.clone()), Some(all()), below];
    let names = [None, name.clone()];
    [group.clone(), all()].iter().any(|group| {
        resources.iter().flatten().any(|resource| {
            names.iter().any(|name| {
                verbs.iter().any(|verb| {
                    let single = (
                        Some(group.clone()),
                        resource.clone(),
                        name.clone(),
                        verb.clone(),
                    );
                    set.contains(&single)
                })
            })
        })
    })
}
