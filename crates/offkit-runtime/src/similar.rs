//! Kernel names that are like one that is not there.

use offkit_image::KernelName;

/// How many names are suggested.
const SUGGESTIONS: usize = 5;

/// The names among `kernels` that are most like `name`; all of them if they are few.
pub(crate) fn similar<'a>(name: &str, kernels: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut ranked: Vec<(f64, String)> = kernels
        .map(|kernel| {
            let kernel_name = KernelName::new(kernel);
            let readable = kernel_name.readable();
            let likeness =
                strsim::jaro_winkler(name, &kernel_name.base_name()).max(strsim::jaro_winkler(name, kernel));
            (likeness, readable)
        })
        .collect();
    ranked.sort_by(|(a, x), (b, y)| b.total_cmp(a).then_with(|| x.cmp(y)));
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
}
