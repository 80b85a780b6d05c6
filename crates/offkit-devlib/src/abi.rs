//! What two files that are linked must agree on, found out before they are.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt;

use offkit_image::target::{Family, Target, amd};
use offkit_object::{DetailValue, Inspection};

use crate::manifest;

/// What clang 22 makes unless it is asked for another.
pub(crate) const USUAL_CODE_OBJECT_VERSION: u32 = 600;

/// What a module says about its binary interface; what it leaves open agrees with everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Abi {
    /// The version of AMDGPU code objects, times 100: 500, 600.
    pub code_object_version: Option<u32>,
    /// The work-items of an AMDGPU wavefront, 32 or 64.
    pub wavefront_size: Option<u32>,
    /// The version of SPIR-V that the code is for or is, such as 1.4.
    pub spirv_version: Option<(u8, u8)>,
    /// The data layout, as LLVM writes it.
    pub data_layout: Option<String>,
}

impl Abi {
    /// What an image's own bytes say.
    pub fn of(inspection: &Inspection) -> Self {
        let detail = |name: &str| {
            let mut details = inspection.details.iter();
            details
                .find(|detail| detail.name == name)
                .map(|detail| &detail.value)
        };
        let number = |name: &str| match detail(name) {
            Some(DetailValue::Number(number)) => u32::try_from(*number).ok(),
            _ => None,
        };
        Self {
            code_object_version: number("code object version"),
            wavefront_size: number("wavefront size"),
            // In the triple, also of bitcode: `spirv64v1.4`.
            spirv_version: inspection.target.parts().spirv_version(),
            data_layout: match detail("data layout") {
                Some(DetailValue::Text(text)) if !text.is_empty() => Some(text.clone()),
                _ => None,
            },
        }
    }

    /// That of code which clang 22 compiles for a target with these options; `spirv_version` is that of SPIR-V whose
    /// target names none.
    pub fn of_compiler(target: &Target, options: &[OsString], spirv_version: (u8, u8)) -> Self {
        let family = target.family();
        let mut abi = Self {
            spirv_version: (family.is_spirv())
                .then(|| target.parts().spirv_version().unwrap_or(spirv_version)),
            ..Self::default()
        };
        if family != Family::Amdgcn {
            return abi;
        }
        abi.code_object_version = Some(USUAL_CODE_OBJECT_VERSION);
        abi.wavefront_size = Some(amd::wavefront_size(target));
        for option in options.iter().filter_map(|option| option.to_str()) {
            match option.split_once('=') {
                // The driver's options, and its front end's.
                None if ["-mwavefrontsize64", "+wavefrontsize64"].contains(&option) => {
                    abi.wavefront_size = Some(64)
                }
                None if ["-mno-wavefrontsize64", "+wavefrontsize32"].contains(&option) => {
                    abi.wavefront_size = Some(32)
                }
                Some(("-mcode-object-version", version)) => {
                    // `none` is one as well, for code without a version: it agrees with all.
                    let version = version.parse().ok();
                    abi.code_object_version = version.map(|version: u32| version.saturating_mul(100));
                }
                _ => {}
            }
        }
        abi
    }

    /// What a library's manifest says.
    pub fn of_manifest(abi: &manifest::Abi) -> Self {
        let version = abi
            .spirv_version
            .as_deref()
            .and_then(|version| version.split_once('.'));
        Self {
            code_object_version: abi.code_object_version.map(|version| version.saturating_mul(100)),
            wavefront_size: abi.wavefront_size,
            spirv_version: version
                .and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?))),
            data_layout: None,
        }
    }

    /// What this says, and where it says nothing what the other does.
    #[must_use]
    pub fn or(self, other: &Self) -> Self {
        Self {
            code_object_version: self.code_object_version.or(other.code_object_version),
            wavefront_size: self.wavefront_size.or(other.wavefront_size),
            spirv_version: self.spirv_version.or(other.spirv_version),
            data_layout: self.data_layout.or_else(|| other.data_layout.clone()),
        }
    }

    /// The first thing that both say and say differently.
    ///
    /// A library for an older version of SPIR-V is part of a newer one; with `self` as the code and `library` as what it
    /// is linked with, only a library for a newer version clashes.
    pub fn clash(&self, library: &Self) -> Option<AbiDifference> {
        let differ = |what, ours: Option<u32>, theirs: Option<u32>| match (ours, theirs) {
            (Some(ours), Some(theirs)) if ours != theirs => Some(AbiDifference {
                what,
                ours: ours.to_string(),
                theirs: theirs.to_string(),
            }),
            _ => None,
        };
        let version = || match (self.spirv_version, library.spirv_version) {
            (Some(ours), Some(theirs)) if theirs > ours => Some(AbiDifference {
                what: "version of SPIR-V",
                ours: format!("{}.{}", ours.0, ours.1),
                theirs: format!("{}.{}", theirs.0, theirs.1),
            }),
            _ => None,
        };
        let layout = || {
            let (ours, theirs) = (self.data_layout.as_deref()?, library.data_layout.as_deref()?);
            let (ours, theirs) = layouts_differ(ours, theirs)?;
            Some(AbiDifference {
                what: "data layout",
                ours,
                theirs,
            })
        };
        differ(
            "code object version",
            self.code_object_version,
            library.code_object_version,
        )
        .or_else(|| differ("wavefront size", self.wavefront_size, library.wavefront_size))
        .or_else(version)
        .or_else(layout)
    }
}

/// The first parts of two data layouts that are about the same and differ.
///
/// Compilers of different versions write the parts in another order, and newer ones write more of them: what only one of
/// the two says is no difference. Which sizes a processor computes with best (`n`) and what is said of the stack (`S`) and of
/// names (`m`) decides nothing about memory that both use.
fn layouts_differ(ours: &str, theirs: &str) -> Option<(String, String)> {
    let ours = layout_parts(ours);
    layout_parts(theirs).into_iter().find_map(|(about, part)| {
        let own = ours.get(about).filter(|own| **own != part)?;
        Some(((*own).to_owned(), part.to_owned()))
    })
}

/// The parts of a data layout by what they are about.
fn layout_parts(layout: &str) -> BTreeMap<&str, &str> {
    let parts = layout.split('-').filter_map(|part| {
        let about = match part.get(..1)? {
            // Either letter says the same thing, for little and for big endian.
            "e" | "E" => "byte order",
            // `n` begins `ni` as well, the address spaces whose pointers are no integers: newer compilers list more of
            // them.
            "n" | "S" | "m" => return None,
            about @ ("A" | "G" | "P") => about,
            // The number belongs to the name: `p1` is about another address space than `p`.
            _ => part.split(':').next()?,
        };
        Some((about, part))
    });
    parts.collect()
}

/// What two modules say differently.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbiDifference {
    /// What it is about.
    pub what: &'static str,
    /// What the code says.
    pub ours: String,
    /// What the library says.
    pub theirs: String,
}

/// A library that does not agree with the code that needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AbiClash {
    /// What the code is called.
    pub code: String,
    /// The library.
    pub library: String,
    /// What they say.
    pub difference: AbiDifference,
}

impl fmt::Display for AbiClash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let AbiDifference { what, ours, theirs } = &self.difference;
        write!(
            f,
            "{} and {} cannot be linked together: the {what} is {ours} in the first and {theirs} in the second",
            self.code, self.library
        )
    }
}

#[cfg(test)]
mod tests {
    use offkit_image::target::Triple;

    use super::*;

    #[test]
    fn layouts_of_two_compilers_are_compared_by_what_they_say() {
        let old = "m:e-e-p:64:64-p1:64:64-p5:32:32-i64:64-n32:64-S32-A5-G1-ni:7";
        let new = "e-m:e-p:64:64-p1:64:64-p5:32:32-p7:160:256:256:32-i64:64-n32:64-S32-A5-G1-ni:7:8:9";
        assert_eq!(layouts_differ(old, new), None);
        assert_eq!(
            layouts_differ("e-p:64:64-i64:64", "e-p:32:32-i64:64"),
            Some(("p:64:64".into(), "p:32:32".into()))
        );
        assert_eq!(
            layouts_differ("e-p:64:64", "E-p:64:64"),
            Some(("e".into(), "E".into()))
        );
        assert_eq!(layouts_differ("", "é-p:64:64"), None);
    }

    #[test]
    fn what_one_leaves_open_agrees() {
        let of = |version, size| Abi {
            code_object_version: version,
            wavefront_size: size,
            ..Abi::default()
        };
        assert_eq!(of(Some(600), None).clash(&of(None, Some(32))), None);
        let clash = of(Some(600), Some(64)).clash(&of(Some(500), Some(64))).unwrap();
        assert_eq!((clash.what, &*clash.ours), ("code object version", "600"));
        let clash = of(Some(600), Some(64)).clash(&of(None, Some(32))).unwrap();
        assert_eq!(clash.what, "wavefront size");
    }

    #[test]
    fn older_spirv_is_part_of_newer() {
        let of = |triple| Abi {
            spirv_version: Triple::new(triple).spirv_version(),
            ..Abi::default()
        };
        let (old, new, open) = (
            of("spirv64v1.2-unknown-unknown"),
            of("spirv64v1.6-unknown-unknown"),
            of("spirv64-unknown-unknown"),
        );
        assert!(new.clash(&old).is_none() && old.clash(&open).is_none());
        assert_eq!(old.clash(&new).unwrap().theirs, "1.6");
    }
}
