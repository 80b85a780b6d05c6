//! Which code takes part in the link for a target: all that was named, and of archives what is needed.
//!
//! The rules are those of today's linkers for hosts (lld): a member of an archive is linked when something that
//! is linked already needs a symbol that it defines, wherever on the command line either stands; of several
//! archives that define it, the first one named provides it.

use std::collections::{HashMap, HashSet, VecDeque};

use offkit_object::Target;
use offkit_spirv::names::kernel_of_copy;

use super::error::LinkError;
use offkit_devlib::code::Module;

/// The targets of a link in which none were asked for: those that there is code for, in order.
///
/// # Errors
///
/// Two files by themselves that are for different targets: then it is not to be guessed what is wanted.
pub(crate) fn targets(modules: &[Module<'_>]) -> Result<Vec<Target>, LinkError> {
    let named = || modules.iter().filter(|module| !module.on_demand);
    let mut files = named().filter(|module| module.is_file);
    if let Some(first) = files.next() {
        for other in files {
            if let Err(misfit) = first.image.target.links_with(&other.image.target) {
                return Err(LinkError::conflict(first, other, misfit));
            }
        }
    }
    let mut targets: Vec<Target> = Vec::new();
    // Those that leave the least open first: what leaves more open belongs to each that it fits.
    let mut order: Vec<_> = named().enumerate().collect();
    order.sort_by_key(|(number, module)| {
        let target = &module.image.target;
        (
            target.arch.is_empty(),
            std::cmp::Reverse(target.features.len()),
            *number,
        )
    });
    let mut first_seen: Vec<usize> = Vec::new();
    for (number, module) in order {
        match targets
            .iter()
            .position(|target| target.fits(&module.image.target))
        {
            Some(at) => {
                targets[at].complete(&module.image.target);
                first_seen[at] = first_seen[at].min(number);
            }
            None => {
                targets.push(module.image.target.clone());
                first_seen.push(number);
            }
        }
    }
    let mut ordered: Vec<_> = first_seen.into_iter().zip(targets).collect();
    ordered.sort_by_key(|(number, _)| *number);
    Ok(ordered.into_iter().map(|(_, target)| target).collect())
}

/// The numbers of the modules that are linked for a target, in order.
///
/// With `kernels`, a member of an archive also comes along for the kernels that it has: a host program may
/// launch them. `wanted` are symbols that are needed besides those that the modules import.
///
/// A device library is chosen for single symbols of it, and what it imports is not needed for that alone: only
/// other libraries may have to supply it.
pub(super) fn select(
    modules: &[Module<'_>],
    target: &Target,
    kernels: bool,
    wanted: &[String],
) -> Vec<usize> {
    let fitting = || {
        modules
            .iter()
            .enumerate()
            .filter(|(_, module)| module.is_for(target))
    };
    let mut providers: HashMap<&str, usize> = HashMap::new();
    let mut kernel_providers: HashMap<&str, usize> = HashMap::new();
    for (number, module) in fitting().filter(|(_, module)| module.on_demand) {
        for symbol in module.exports() {
            // The first one named provides a symbol, as for linkers of host code.
            providers.entry(symbol).or_insert(number);
        }
        for kernel in module.kernels() {
            kernel_providers.entry(kernel).or_insert(number);
        }
    }
    let mut chosen = vec![false; modules.len()];
    let mut defined: HashSet<&str> = HashSet::new();
    let mut kernels_defined: HashSet<&str> = HashSet::new();
    // In the order in which symbols are met, as linkers go about it: a member that comes along
    // early may define what another one would have come for.
    let mut needed: VecDeque<&str> = wanted.iter().map(String::as_str).collect();
    let mut needed_by_libraries: VecDeque<&str> = VecDeque::new();
    let mut next: Vec<usize> = fitting()
        .filter(|(_, module)| {
            let may_be_launched = kernels && !module.is_library && !module.is_left_out;
            let has_wanted_kernels = may_be_launched && module.kernels().next().is_some();
            // A library that was named as a file is read in any case.
            // A damaged one is taken, too: nothing is known of its symbols, so that nobody would ask for it, and LLVM
            // would never say what is wrong with it.
            let is_read = module.is_library && (module.problem().is_some() || module.found_for.is_none());
            !module.on_demand || has_wanted_kernels || is_read
        })
        .map(|(number, _)| number)
        .collect();
    loop {
        // All that is in a member before the next symbol: it may define that too.
        for number in next.drain(..) {
            if !std::mem::replace(&mut chosen[number], true) {
                let module = &modules[number];
                if module.is_library {
                    needed_by_libraries.extend(module.imports());
                    continue;
                }
                defined.extend(module.exports());
                kernels_defined.extend(module.kernels());
                needed.extend(module.imports());
            }
        }
        let (symbol, by_library) = match needed.pop_front() {
            Some(symbol) => (symbol, false),
            // Libraries last: what the program's own code brings along goes before what a library would supply.
            None => match needed_by_libraries.pop_front() {
                Some(symbol) => (symbol, true),
                None => break,
            },
        };
        // Where a kernel is called, its copy is needed, which is wherever the kernel is.
        let (providers, defined, name) = match kernel_of_copy(symbol) {
            Some(kernel) => (&kernel_providers, &mut kernels_defined, kernel),
            None => (&providers, &mut defined, symbol),
        };
        if let Some(&provider) = providers.get(name)
            && !defined.contains(name)
            && (!by_library || modules[provider].is_library)
        {
            tracing::debug!(
                symbol,
                member = modules[provider].label,
                "linked a member of an archive"
            );
            // Of a library nothing else is defined by that.
            if modules[provider].is_library {
                defined.insert(name);
            }
            next.push(provider);
        }
    }
    (0..modules.len()).filter(|number| chosen[*number]).collect()
}

#[cfg(test)]
mod tests {
    use offkit_devlib::Abi;
    use offkit_object::{DeviceImage, ImageFormat, InspectedKernel, Inspection};

    use super::*;

    /// A module with these symbols.
    fn module(label: &str, on_demand: bool, exports: &[&str], imports: &[&str]) -> Module<'static> {
        with_kernels(label, on_demand, [&[], exports, imports])
    }

    /// The same with kernels, before the exports and imports.
    fn with_kernels(label: &str, on_demand: bool, symbols: [&[&str]; 3]) -> Module<'static> {
        let mut image = DeviceImage::of_format(Vec::new(), ImageFormat::Bitcode);
        image.target = Target::new("spirv64-unknown-unknown", "");
        image.inspected_by(|| {
            let [kernels, exports, imports] =
                symbols.map(|names| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
            let mut inspection = Inspection::default();
            inspection.kernels = kernels.into_iter().map(InspectedKernel::new).collect();
            (inspection.exports, inspection.imports) = (exports, imports);
            inspection
        });
        Module {
            image,
            natives: Vec::new(),
            label: label.to_owned(),
            input: 0,
            path: None,
            on_demand,
            is_left_out: false,
            is_file: !on_demand,
            is_library: false,
            found_for: None,
            abi: Abi::default(),
        }
    }

    #[test]
    fn members_are_linked_for_what_is_needed_of_them() {
        let modules = [
            module("early.a!x", true, &["deep"], &[]),
            module("app.bc", false, &["own"], &["first", "own"]),
            module("a.a!x", true, &["first", "unused"], &["second"]),
            module("a.a!y", true, &["own"], &[]),
            module("b.a!x", true, &["first", "second"], &["deep"]),
            module("b.a!y", true, &["third"], &[]),
        ];
        let target = Target::new("spirv64", "");
        assert_eq!(select(&modules, &target, false, &[]), [0, 1, 2, 4]);
        assert_eq!(select(&modules, &Target::new("spirv32", ""), false, &[]), [0; 0]);
    }

    #[test]
    fn a_member_that_was_linked_already_goes_before_an_earlier_archive() {
        let modules = [
            module("app.bc", false, &[], &["one", "two"]),
            module("a.a!x", true, &["two"], &[]),
            module("b.a!x", true, &["one", "two"], &[]),
        ];
        // As with host linkers: `b.a!x` comes for `one`, and then `two` is there.
        assert_eq!(select(&modules, &Target::new("spirv64", ""), false, &[]), [0, 2]);
    }

    #[test]
    fn kernels_can_bring_members_along() {
        let member = with_kernels("a.a!x", true, [&["k"], &[], &[]]);
        let modules = [module("app.bc", false, &[], &[]), member];
        let target = Target::new("spirv64", "");
        assert_eq!(select(&modules, &target, false, &[]), [0]);
        assert_eq!(select(&modules, &target, true, &[]), [0, 1]);
    }

    #[test]
    fn a_call_of_a_kernel_needs_the_member_with_the_kernel() {
        let member = with_kernels("a.a!x", true, [&["k"], &[], &[]]);
        let call = || module("app.bc", false, &[], &["__clang_ocl_kern_imp_k"]);
        let target = Target::new("spirv64", "");
        assert_eq!(select(&[call(), member.clone()], &target, false, &[]), [0, 1]);
        let own = with_kernels("k.bc", false, [&["k"], &[], &[]]);
        assert_eq!(select(&[call(), own, member], &target, false, &[]), [0, 1]);
    }

    #[test]
    fn of_libraries_single_symbols_are_needed() {
        let library = |label: &str, exports: &[&str], imports: &[&str]| {
            let mut module = module(label, true, exports, imports);
            module.is_library = true;
            module.found_for = Some(vec![Target::new("spirv64", "")]);
            module
        };
        let modules = [
            module("app.bc", false, &[], &["one", "two"]),
            library("libm.bc", &["one", "three"], &["deep", "deeper"]),
            module("a.a!x", true, &["two", "three"], &[]),
            library("libn.bc", &["two", "deep"], &[]),
            module("b.a!x", true, &["deeper"], &[]),
            library("libo.bc", &["three"], &[]),
        ];
        let target = Target::new("spirv64", "");
        // `libn.bc` may have to supply `deep`; whether `deeper` is needed only a link tells.
        assert_eq!(select(&modules, &target, false, &[]), [0, 1, 2, 3]);
        let wanted = ["deeper".to_owned()];
        assert_eq!(select(&modules, &target, false, &wanted), [0, 1, 2, 3, 4]);
        // It was found for one target only.
        assert_eq!(select(&modules, &Target::new("spir64", "x"), false, &[]), [0, 2]);
    }

    #[test]
    fn code_for_any_processor_belongs_to_each() {
        let amd = |arch: &str| {
            let mut module = module("x.o!0", false, &[], &[]);
            module.is_file = false;
            module.image.target = Target::new("amdgcn-amd-amdhsa", arch);
            module
        };
        let modules = [amd(""), amd("gfx90a"), amd("gfx942"), amd("gfx90a")];
        let found = targets(&modules).unwrap();
        let shown: Vec<_> = found.iter().map(|target| target.arch.as_str()).collect();
        assert_eq!(shown, ["gfx90a", "gfx942"]);
        assert_eq!(select(&modules, &found[0], false, &[]), [0, 1, 3]);
    }

    #[test]
    fn files_for_different_targets_are_both_named() {
        let mut other = module("b.bc", false, &[], &[]);
        other.image.target = Target::new("nvptx64-nvidia-cuda", "sm_80");
        let text = targets(&[module("a.bc", false, &[], &[]), other])
            .unwrap_err()
            .to_string();
        for part in [
            "a.bc",
            "spirv64-unknown-unknown",
            "b.bc",
            "nvptx64-nvidia-cuda-sm_80",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }
}
