//! What a package is to keep to: the file `offkit.toml`, or `[tool.offkit]` of a `pyproject.toml`.

use serde::Deserialize;

/// The rules of a file. What is left out is not checked.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Policy {
    /// Which devices the code must run on.
    pub check: CheckRules,
    /// How large it may be.
    pub size: SizeRules,
    /// What kernels may take.
    pub kernels: KernelRules,
}

/// Which devices the code must run on.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct CheckRules {
    /// Devices that need code for every kernel.
    pub targets: Vec<String>,
    /// Devices that need machine code for every kernel.
    pub native: Vec<String>,
    /// Whether there must be code for NVIDIA's devices to come: `newest` for PTX of the newest architecture there is.
    pub ptx: Option<Ptx>,
    /// The oldest driver of NVIDIA's that is to do.
    pub driver: Option<String>,
    /// The oldest ROCm that is to do.
    pub rocm: Option<String>,
    /// What images for devices that are not listed are.
    pub extra: Level,
    /// What kernels without code for a device are.
    pub holes: Option<Level>,
    /// Kernels that may be without code.
    pub ignore: Vec<Waiver>,
}

/// Whether PTX must be there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ptx {
    /// None is asked for.
    None,
    /// Of every kernel, so that the devices to come have code.
    Newest,
}

/// How bad it is that a rule is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Level {
    /// Not at all.
    #[default]
    Off,
    /// It is said.
    Warn,
    /// It fails the check.
    Error,
}

/// Kernels that may be without code for some devices.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Waiver {
    /// Which kernels, by their readable names; `*` stands for anything.
    pub kernel: String,
    /// For which devices; all where it is left out.
    #[serde(default = "anything")]
    pub target: String,
    /// Why.
    pub why: String,
}

fn anything() -> String {
    "*".to_owned()
}

impl Waiver {
    /// Whether it is about a kernel on a device.
    #[must_use]
    pub fn is_about(&self, kernel: &str, target: &str) -> bool {
        matches(&self.kernel, kernel) && matches(&self.target, target)
    }
}

/// How large packages and architectures may be.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct SizeRules {
    /// Each file as it is.
    pub max: Option<Bytes>,
    /// Its libraries, unpacked.
    pub max_installed: Option<Bytes>,
    /// How much more than in the baseline the files, and the images of each architecture and format, may take:
    /// `no-increase`, `+8`, `+2%`.
    pub max_growth: Option<Growth>,
    /// The images of an architecture, in the libraries.
    pub max_per_arch: std::collections::BTreeMap<String, Bytes>,
    /// What can go without loss for any device.
    pub redundant: Level,
}

/// What kernels may take, and how much more than in a baseline.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct KernelRules {
    /// The most registers.
    pub max_registers: Option<u64>,
    /// How much more registers than in the baseline: `no-increase`, `+8`, `+10%`.
    pub registers: Option<Growth>,
    /// How much more may be spilled.
    pub spills: Option<Growth>,
    /// How much larger the code may be.
    pub code: Option<Growth>,
    /// The families that this is about; all where none is named. `*` stands for anything.
    pub families: Vec<String>,
}

impl KernelRules {
    /// Whether the rules are about a family.
    #[must_use]
    pub fn concern(&self, family: &str) -> bool {
        self.families.is_empty() || self.families.iter().any(|pattern| matches(pattern, family))
    }
}

/// A size: a number of bytes, or `400M`, `1.2G`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "toml::Value")]
pub struct Bytes(pub u64);

impl TryFrom<toml::Value> for Bytes {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Self, String> {
        let wrong =
            || format!("{value:?} is no size: expected bytes, or a text such as \"400M\" or \"1.2G\"");
        match &value {
            toml::Value::Integer(bytes) => u64::try_from(*bytes).map(Self).map_err(|_| wrong()),
            toml::Value::String(text) => {
                // `400M`, `400MB` and `400MiB` are the same: people write all three.
                let text = text.trim().trim_end_matches(['B', 'b']).trim_end_matches('i');
                let (number, unit) = match text.char_indices().last() {
                    Some((at, unit)) if unit.is_ascii_alphabetic() => {
                        (&text[..at], unit.to_ascii_uppercase())
                    }
                    _ => (text, ' '),
                };
                let factor = match unit {
                    ' ' => 1.0,
                    'K' => 1024.0,
                    'M' => 1024.0 * 1024.0,
                    'G' => 1024.0 * 1024.0 * 1024.0,
                    _ => return Err(wrong()),
                };
                let number: f64 = number.trim().parse().map_err(|_| wrong())?;
                match number.is_finite() && number >= 0.0 {
                    true => Ok(Self((number * factor) as u64)),
                    false => Err(wrong()),
                }
            }
            _ => Err(wrong()),
        }
    }
}

/// How much a number may grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Growth {
    /// By so much.
    By(u64),
    /// By so many parts of a million.
    PartsPerMillion(u64),
}

impl TryFrom<String> for Growth {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || format!("`{text}` is no growth: expected `no-increase`, `+8` or `+10%`");
        if text == "no-increase" {
            return Ok(Self::By(0));
        }
        let number = text.strip_prefix('+').ok_or_else(wrong)?;
        // `parse` takes a second sign.
        if number.starts_with(['+', '-']) {
            return Err(wrong());
        }
        match number.strip_suffix('%') {
            Some(percent) => {
                let percent: f64 = percent.parse().map_err(|_| wrong())?;
                match percent.is_finite() {
                    // In whole numbers, for 115 is 15 % more than 100, and 100 * 1.15 is less than 115.
                    true => Ok(Self::PartsPerMillion((percent * 10_000.0).round() as u64)),
                    false => Err(wrong()),
                }
            }
            None => number.parse().map(Self::By).map_err(|_| wrong()),
        }
    }
}

impl Growth {
    /// Whether a number may become another.
    #[must_use]
    pub fn allows(self, old: u64, new: u64) -> bool {
        match self {
            Self::By(more) => new <= old.saturating_add(more),
            Self::PartsPerMillion(parts) => {
                const ALL: u128 = 1_000_000;
                // Both sides multiplied instead of one divided, so that nothing is rounded.
                u128::from(new) * ALL <= u128::from(old) * (ALL + u128::from(parts))
            }
        }
    }
}

impl Policy {
    /// Reads the rules of an `offkit.toml`, or `[tool.offkit]` where the file has such a table.
    ///
    /// # Errors
    ///
    /// What is wrong with the file, with the line.
    pub fn parse(text: &str) -> Result<Self, String> {
        // As a plain table first: in a `pyproject.toml` everything that is not ours would be an
        // unknown key.
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| error.to_string())?;
        let own = table.get("tool").and_then(|tools| tools.get("offkit"));
        match own {
            Some(own) => own
                .clone()
                .try_into()
                .map_err(|error: toml::de::Error| error.to_string()),
            None if table.contains_key("tool") || table.contains_key("project") => {
                Err("there is no table `[tool.offkit]`".to_owned())
            }
            // From the text again: a table no longer knows the line that an error is on.
            None => toml::from_str(text).map_err(|error| error.to_string()),
        }
    }
}

/// Whether a text is as a pattern says, in which `*` stands for anything.
#[must_use]
pub fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, inner)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in inner {
        match rest.find(part) {
            // The first place does, as it leaves the most for the parts that follow.
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    // Of the rest and not of the whole: the end of `a*a` is not the `a` that it begins with.
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_read() {
        let policy = Policy::parse(
            "[check]\ntargets = ['sm_80']\nptx = 'newest'\nholes = 'error'\n\
             ignore = [{ kernel = '*sm90*', target = 'sm_7*', why = 'guarded' }]\n\
             [size]\nmax = '1.5M'\nmax-per-arch = { sm_90 = 1000 }\n[kernels]\nspills = 'no-increase'\ncode = '+10%'\n",
        )
        .unwrap();
        assert_eq!(policy.size.max, Some(Bytes(1_572_864)));
        assert_eq!(policy.size.max_per_arch["sm_90"], Bytes(1000));
        assert!(policy.check.ignore[0].is_about("flash_sm90_fwd", "sm_75"));
        assert!(!policy.check.ignore[0].is_about("flash_sm90_fwd", "sm_80"));
        let growth = policy.kernels.code.unwrap();
        assert!(growth.allows(100, 110) && !growth.allows(100, 111));
        let of = |text: &str| Growth::try_from(text.to_owned());
        assert!(of("+15%").unwrap().allows(100, 115));
        assert!(of("+0.5%").unwrap().allows(1000, 1005) && !of("+0.5%").unwrap().allows(1000, 1006));
        for wrong in ["+-15%", "++15%", "+NaN%", "+inf%", "++8", "-8", "8", "+"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
        assert!(!policy.kernels.spills.unwrap().allows(0, 1));
    }

    #[test]
    fn what_is_misspelt_is_an_error() {
        for (text, part) in [
            ("[check]\ntarget = []\n", "target"),
            ("[size]\nmax = 'much'\n", "much"),
            ("[kernels]\nspills = 'less'\n", "less"),
            ("[project]\nname = 'x'\n", "tool.offkit"),
        ] {
            let error = Policy::parse(text).unwrap_err();
            assert!(error.contains(part), "{error}");
        }
        let inside = Policy::parse("[tool.offkit.check]\ntargets = ['sm_90']\n").unwrap();
        assert_eq!(inside.check.targets, ["sm_90"]);
    }

    #[test]
    fn patterns_match() {
        for (pattern, text, expected) in [
            ("*", "", true),
            ("a*c", "abc", true),
            ("a*c", "abcd", false),
            ("*b*", "abc", true),
            ("abc", "abc", true),
            ("abc", "abcd", false),
            ("a*b*c", "aXbYc", true),
        ] {
            assert_eq!(matches(pattern, text), expected, "{pattern} {text}");
        }
    }
}
