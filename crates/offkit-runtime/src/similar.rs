//! Kernel names that are like one that is not there.

use offkit_image::KernelName;

/// How many names are suggested.
const SUGGESTIONS: usize = 5;

/// How many names are demangled to find these.
const EXAMINED: usize = 100;

/// The names among `kernels` that are most like `name`; all of them if they are few.
pub(crate) fn similar<'a>(name: &str, kernels: impl Iterator<Item = &'a str>) -> Vec<String> {
    let key = KernelName::new(name).key();
    let likeness = |kernel: &str| {
        let by_key = strsim::jaro_winkler(key, KernelName::new(kernel).key());
        by_key.max(strsim::jaro_winkler(name, kernel))
    };
    // Demangling takes long, so among very many kernels the most promising are looked at closely.
    let mut kernels: Vec<(f64, &str)> = kernels.map(|kernel| (likeness(kernel), kernel)).collect();
    kernels.sort_by(|(a, x), (b, y)| b.total_cmp(a).then_with(|| x.cmp(y)));
    kernels.truncate(EXAMINED);
    let mut ranked: Vec<(f64, String)> = kernels
        .into_iter()
        .map(|(likeness, kernel)| {
            let kernel = KernelName::new(kernel);
            let likeness = likeness.max(strsim::jaro_winkler(name, &kernel.base_name()));
            (likeness, kernel.readable())
        })
        .collect();
    ranked.sort_by(|(a, x), (b, y)| b.total_cmp(a).then_with(|| x.cmp(y)));
    // Names that differ in the images may read the same, with and without a compiler's prefix.
    ranked.dedup_by(|(_, x), (_, y)| x == y);
    ranked.truncate(SUGGESTIONS);
    ranked.into_iter().map(|(_, kernel)| kernel).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_misses_are_suggested_best_first() {
        let kernels = [
            "matmul",
            "saxpy",
            "daxpy",
            "reduce",
            "scan",
            "histogram",
            "transpose",
        ];
        let similar = similar("sxapy", kernels.into_iter());
        assert_eq!(similar[0], "saxpy");
        assert_eq!(similar.len(), SUGGESTIONS);
    }

    #[test]
    fn among_very_many_the_nearest_is_suggested() {
        let kernels: Vec<String> = (1000..9999).map(|number| format!("_Z9scale{number}f")).collect();
        let kernels = kernels.iter().map(String::as_str).chain(["_ZN3app5saxpyEPf"]);
        assert_eq!(similar("saxpi", kernels)[0], "app::saxpy(float*)");
    }
}
