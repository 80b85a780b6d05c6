//! Numbers of things, in sentences.

/// A number of things: `1 image`, `3 images`.
#[must_use]
pub fn count(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}

/// So many of all, as the subject of a sentence, with the verb for one or for several: `2 of 3 kernels have`.
pub(crate) fn some_of(some: usize, all: usize, what: &str, [of_one, of_many]: [&str; 2]) -> String {
    match (some, all) {
        (1, 1) => format!("the only {what} {of_one}"),
        (1, _) => format!("1 of {all} {what}s {of_one}"),
        _ => format!("{some} of {all} {what}s {of_many}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        assert_eq!(
            [0, 1, 2].map(|number| count(number, "image")),
            ["0 images", "1 image", "2 images"]
        );
        let said = [(1, 1), (1, 3), (3, 3)].map(|(some, all)| some_of(some, all, "kernel", ["has", "have"]));
        assert_eq!(
            said,
            ["the only kernel has", "1 of 3 kernels has", "3 of 3 kernels have"]
        );
    }
}
