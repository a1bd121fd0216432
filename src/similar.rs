//! Which of some words somebody meant who wrote another one.

/// Returns the word that is nearest to a text, and how many characters must be put in, taken out or replaced for it.
pub fn nearest<'w>(
    text: &str,
    words: impl IntoIterator<Item = &'w str>,
) -> Option<(&'w str, usize)> {
    let words = words.into_iter();
    words
        .map(|word| (word, distance(text, word)))
        .min_by_key(|(_, distance)| *distance)
}

/// Returns how many characters must be put in, taken out or replaced to make one text of another; of a long text its beginning counts.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    // The distances of what was read of `from` to each beginning of `to`.
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (n, c) in from.chars().take(64).enumerate() {
        let mut left = n.saturating_add(1);
        let mut next = vec![left];
        for (pair, other) in row.windows(2).zip(&to) {
            let &[diagonal, above] = pair else { continue };
            let replaced = diagonal.saturating_add(usize::from(c != *other));
            left = replaced
                .min(left.saturating_add(1))
                .min(above.saturating_add(1));
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_word_is_the_one_with_the_fewest_changes() {
        let words = ["containers", "initContainers", "volumes"];
        for (text, expected) in [
            ("contaners", ("containers", 1)),
            ("container", ("containers", 1)),
            ("volumes", ("volumes", 0)),
            ("initContainer", ("initContainers", 1)),
        ] {
            assert_eq!(nearest(text, words), Some(expected));
        }
        assert_eq!(nearest("a", []), None);
    }
}
