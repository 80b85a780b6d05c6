//! How much of SPIR-V a module is generated with: as little as it needs.
//!
//! LLVM's back end is told a version and extensions, and ends its process where they are not enough. What it says then
//! tells what is missing, often by name; so one begins with what every device takes, and adds that.

use offkit_llvm::{CodeOptions, SpirvLimits};

use crate::extensions::KNOWN_EXTENSIONS;

/// The version and the extensions that code is generated with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attempt {
    pub(crate) version: (u8, u8),
    pub(crate) extensions: Vec<String>,
    /// Whether all extensions are allowed, as nobody says which is missing.
    pub(crate) has_all: bool,
}

/// What follows an attempt that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Another one.
    Again(Attempt),
    /// More would be needed than the target takes.
    Limit,
    /// It failed for another reason.
    Crash,
}

/// What code needs that it was not generated with.
#[derive(Debug, PartialEq, Eq)]
enum Need<'a> {
    /// One of these extensions.
    Extension(Vec<&'a str>),
    /// A newer version, or an extension.
    Something,
}

/// What the names of extensions begin with that ordinary devices do not have: programmable logic does. These are used
/// only where they are listed.
const SPECIAL: &str = "SPV_ALTERA_";

/// The newest version that there is.
pub(crate) const NEWEST: (u8, u8) = (1, 6);

impl Attempt {
    /// The first one, with what the options say; `None` for code that is no SPIR-V, or that gets nothing else.
    pub(crate) fn first(options: &CodeOptions) -> Option<Self> {
        options.spirv_limits.as_ref()?;
        Some(Self {
            version: offkit_image::target::Triple::new(&options.triple).spirv_version()?,
            extensions: options.spirv_extensions.clone(),
            has_all: false,
        })
    }

    /// The options with this version and these extensions.
    pub(crate) fn options(&self, options: &CodeOptions) -> CodeOptions {
        let (architecture, rest) = options.triple.split_once('-').unwrap_or((&options.triple, ""));
        // `spirv64v1.2` without its version: the first `v` belongs to the name.
        let architecture = architecture.split('v').take(2).collect::<Vec<_>>().join("v");
        let (major, minor) = self.version;
        CodeOptions {
            triple: format!("{architecture}v{major}.{minor}-{rest}"),
            spirv_extensions: self.extensions.clone(),
            ..options.clone()
        }
    }

    /// What is to be tried after this one failed with such a message.
    pub(crate) fn after(&self, message: &str, limits: &SpirvLimits, first: &Self) -> Next {
        let is_allowed = |name: &&str| match &limits.extensions {
            Some(listed) => listed.iter().any(|allowed| allowed == name),
            None => !name.starts_with(SPECIAL),
        };
        match need(message) {
            None => Next::Crash,
            Some(Need::Extension(names)) => {
                let has = |name: &str| self.extensions.iter().any(|known| known == name);
                let mut new = names.iter().copied().filter(|name| !has(name)).peekable();
                // It was generated with all that it asks for, and would ask again for ever.
                if new.peek().is_none() {
                    return Next::Crash;
                }
                match new.find(is_allowed) {
                    None => Next::Limit,
                    Some(name) => {
                        let mut next = self.clone();
                        next.extensions.push(name.to_owned());
                        Next::Again(next)
                    }
                }
            }
            Some(Need::Something) if self.version < limits.version => Next::Again(Self {
                version: (self.version.0, self.version.1 + 1),
                ..self.clone()
            }),
            // No version is enough, and LLVM names no extension: with all of them, the code tells what it uses.
            Some(Need::Something) if !self.has_all => Next::Again(Self {
                // Back to the first: an extension may be all that was missing.
                version: first.version,
                extensions: (KNOWN_EXTENSIONS.into_iter().filter(is_allowed))
                    .map(str::to_owned)
                    .collect(),
                has_all: true,
            }),
            Some(Need::Something) => Next::Limit,
        }
    }

    /// The same with only the extensions that a module says it uses, and those of the first attempt.
    pub(crate) fn with_used(&self, code: &[u8], first: &Self) -> Self {
        let mut extensions = first.extensions.clone();
        let used = KNOWN_EXTENSIONS.iter().filter(|name| {
            // Texts are in modules as they are, with a zero behind them.
            let text = [name.as_bytes(), &[0]].concat();
            code.windows(text.len()).any(|window| window == text)
        });
        for name in used {
            if !extensions.iter().any(|known| known == name) {
                extensions.push((*name).to_owned());
            }
        }
        Self {
            extensions,
            has_all: false,
            ..self.clone()
        }
    }
}

/// What the last words of LLVM's SPIR-V back end ask for.
fn need(message: &str) -> Option<Need<'_>> {
    let line = message.lines().rfind(|line| line.contains("LLVM ERROR"))?;
    if line.contains("Unable to meet SPIR-V requirements") {
        return Some(Need::Something);
    }
    // This message says that SPIR-V without extensions has no such calls, and not which one has.
    if line.contains("An indirect call is encountered") {
        return Some(Need::Extension(vec!["SPV_INTEL_function_pointers"]));
    }
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = line.split(|c| !is_word(c));
    let names: Vec<&str> = words.filter(|word| KNOWN_EXTENSIONS.contains(word)).collect();
    (!names.is_empty()).then_some(Need::Extension(names))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn first() -> Attempt {
        let options = CodeOptions {
            triple: "spirv64v1.2-unknown-unknown".to_owned(),
            spirv_limits: Some(SpirvLimits::default()),
            ..CodeOptions::default()
        };
        Attempt::first(&options).unwrap()
    }

    #[test]
    fn what_is_missing_is_added_within_limits() {
        let (first, open) = (
            first(),
            SpirvLimits {
                version: (1, 3),
                extensions: None,
            },
        );
        let missing =
            "LLVM ERROR: f: the builtin requires the following SPIR-V extension: SPV_INTEL_subgroups\n";
        let Next::Again(next) = first.after(missing, &open, &first) else {
            panic!("nothing follows")
        };
        assert_eq!(next.extensions, ["SPV_INTEL_subgroups"]);
        // It has what it asks for.
        assert_eq!(next.after(missing, &open, &first), Next::Crash);
        let none = SpirvLimits {
            extensions: Some(Vec::new()),
            ..open.clone()
        };
        assert_eq!(first.after(missing, &none, &first), Next::Limit);

        let unmet = "LLVM ERROR: Unable to meet SPIR-V requirements for this target.";
        let Next::Again(newer) = first.after(unmet, &open, &first) else {
            panic!("nothing follows")
        };
        assert_eq!(newer.version, (1, 3));
        let Next::Again(all) = newer.after(unmet, &open, &first) else {
            panic!("nothing follows")
        };
        assert!(all.has_all && all.version == (1, 2));
        let mut last = all.clone();
        last.version = (1, 3);
        assert_eq!(last.after(unmet, &open, &first), Next::Limit);
        assert_eq!(first.after("LLVM ERROR: no", &open, &first), Next::Crash);
        let used = all.with_used(b"..SPV_KHR_expect_assume\0..SPV_KHR_float_controls2\0", &first);
        assert_eq!(
            used.extensions,
            ["SPV_KHR_expect_assume", "SPV_KHR_float_controls2"]
        );
    }

    #[test]
    fn the_version_is_part_of_the_triple() {
        let attempt = Attempt {
            version: (1, 4),
            ..first()
        };
        for (triple, expected) in [
            ("spirv64v1.2-unknown-unknown", "spirv64v1.4-unknown-unknown"),
            ("spirv32v1.0-unknown-unknown", "spirv32v1.4-unknown-unknown"),
        ] {
            let options = CodeOptions {
                triple: triple.to_owned(),
                ..CodeOptions::default()
            };
            assert_eq!(attempt.options(&options).triple, expected);
        }
    }
}
