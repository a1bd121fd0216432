//! What belongs together on two sides, and what is left once everything that is the same is taken out.

use std::collections::BTreeMap;

use crate::digest::Digest;
use crate::path::BundlePath;

use super::Subject;
use super::index::{Index, Item};

/// Returns what is not the same on two sides: pairs, and what only one side has, in the order in which it is read best.
pub(super) fn pairs<'a>(old: &'a Index, new: &'a Index) -> Vec<[Option<&'a Item>; 2]> {
    let mut groups: BTreeMap<&Subject, [Vec<&Item>; 2]> = BTreeMap::new();
    for item in &old.items {
        groups.entry(&item.subject).or_default()[0].push(item);
    }
    for item in &new.items {
        groups.entry(&item.subject).or_default()[1].push(item);
    }
    let mut pairs = Vec::new();
    for [mut old, mut new] in groups.into_values() {
        drop_equal(&mut old, &mut new);
        pair_up(old, new, &mut pairs);
    }
    drop_moved(&mut pairs);
    let place = |item: Option<&'a Item>| item.map(|item| (&item.file, &item.at));
    pairs.sort_by_key(|[a, b]| (place(*a), place(*b)));
    pairs
}

/// Pairs states of one thing: those in one file first, since a name that is there twice is mostly there for a variant.
fn pair_up<'a>(old: Vec<&'a Item>, new: Vec<&'a Item>, pairs: &mut Vec<[Option<&'a Item>; 2]>) {
    let mut by_file: BTreeMap<&BundlePath, Vec<&Item>> = BTreeMap::new();
    for item in new.into_iter().rev() {
        by_file.entry(&item.file).or_default().push(item);
    }
    let mut alone = Vec::new();
    for item in old {
        match by_file.get_mut(&item.file).and_then(Vec::pop) {
            Some(other) => pairs.push([Some(item), Some(other)]),
            None => alone.push(item),
        }
    }
    let (mut olds, mut news) = (
        alone.into_iter(),
        by_file
            .into_values()
            .flat_map(|items| items.into_iter().rev()),
    );
    loop {
        match (olds.next(), news.next()) {
            (None, None) => break,
            pair => pairs.push([pair.0, pair.1]),
        }
    }
}

/// Takes what is equal out of both lists, each as often as it is in both.
fn drop_equal(old: &mut Vec<&Item>, new: &mut Vec<&Item>) {
    let mut counts: BTreeMap<Digest, usize> = BTreeMap::new();
    let name = |item: &Item| item.digest;
    for item in new.iter() {
        *counts.entry(name(item)).or_default() += 1;
    }
    let mut common: BTreeMap<Digest, usize> = BTreeMap::new();
    old.retain(|item| match counts.get_mut(&name(item)) {
        Some(left) if *left > 0 => {
            *left -= 1;
            *common.entry(name(item)).or_default() += 1;
            false
        }
        _ => true,
    });
    new.retain(|item| match common.get_mut(&name(item)) {
        Some(left) if *left > 0 => {
            *left -= 1;
            false
        }
        _ => true,
    });
}

/// Takes out files and documents without a name of their own that are only in another place now.
fn drop_moved(pairs: &mut Vec<[Option<&Item>; 2]>) {
    let is_object = |item: &Item| matches!(item.subject, Subject::Object(_));
    let single = |pair: &[Option<&Item>; 2]| pair.iter().flatten().any(|item| !is_object(item));
    let (others, mut kept): (Vec<_>, Vec<_>) = pairs.drain(..).partition(|pair| single(pair));
    let mut old: Vec<&Item> = others.iter().filter_map(|[old, _]| *old).collect();
    let mut new: Vec<&Item> = others.iter().filter_map(|[_, new]| *new).collect();
    drop_equal(&mut old, &mut new);
    let mut new: BTreeMap<&Subject, &Item> =
        new.into_iter().map(|item| (&item.subject, item)).collect();
    for item in old {
        kept.push([Some(item), new.remove(&item.subject)]);
    }
    kept.extend(new.into_values().map(|item| [None, Some(item)]));
    *pairs = kept;
}
