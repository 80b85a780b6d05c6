//! Who needs a symbol: the ways from kernels to it, through calls and whatever else refers to functions.

use std::collections::{HashMap, VecDeque};

use offkit_llvm::{CallingConvention, Linkage, SymbolNeed};

use crate::module::{Global, Module};

/// How many ways to one symbol are told.
const MOST_CHAINS: usize = 4;

/// The copy that clang makes of each OpenCL C kernel, which nobody wrote.
const KERNEL_COPY: &str = "__clang_ocl_kern_imp_";

/// The kernels, or without any the functions seen outside, that need each symbol, and the shortest way of each.
pub fn needs(module: &Module, symbols: &[String]) -> Vec<SymbolNeed> {
    let globals: HashMap<String, Global<'_>> =
        module.globals().map(|global| (global.name(), global)).collect();
    symbols
        .iter()
        .map(|symbol| SymbolNeed {
            symbol: symbol.clone(),
            chains: globals.get(symbol).map(chains).unwrap_or_default(),
        })
        .collect()
}

fn chains(symbol: &Global<'_>) -> Vec<Vec<String>> {
    // For each global met, the one that it refers to on the way to the symbol.
    let mut towards: HashMap<Global<'_>, Option<Global<'_>>> = HashMap::from([(*symbol, None)]);
    // First come, first served: so the first way that is found to a kernel is the shortest.
    let mut queue = VecDeque::from([*symbol]);
    let (mut kernels, mut functions) = (Vec::new(), Vec::new());
    while let Some(global) = queue.pop_front() {
        for user in global.users() {
            if towards.contains_key(&user) {
                continue;
            }
            towards.insert(user, Some(global));
            queue.push_back(user);
            if user.is_function() && user.calling_convention() == CallingConvention::Kernel {
                kernels.push(user);
            } else if user.is_function() && user.linkage() != Linkage::Internal {
                functions.push(user);
            }
        }
    }
    functions.retain(|function| !function.name().starts_with(KERNEL_COPY));
    let roots = if kernels.is_empty() { functions } else { kernels };
    roots
        .into_iter()
        .take(MOST_CHAINS)
        .map(|root| {
            let way = std::iter::successors(Some(root), |global| towards.get(global).copied().flatten());
            way.map(|global| global.name())
                .filter(|name| !name.starts_with(KERNEL_COPY))
                .collect()
        })
        .collect()
}
