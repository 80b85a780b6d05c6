//! Which devices the user lets programs see: `ONEAPI_DEVICE_SELECTOR`, `SYCL_DEVICE_FILTER`, `SYCL_BE`.
//!
//! The newest variable that is set counts, and older ones are named as ignored. Their grammars are those of libsycl 2026.2
//! (the first), 2021.2 to 2023.0 (the second) and 2019 to 2023.0 (the third). A value that does not follow its grammar is
//! ignored as a whole, with the reason: half a filter would show devices that somebody wanted hidden. What follows it and
//! can match nothing, as libsycl's former host device, is told as well.
//!
//! ```
//! use offkit_runtime::filter::{DeviceFilter, Kind};
//!
//! let filter: DeviceFilter = "opencl:gpu,0;!*:1".parse()?;
//! assert!(filter.allows("opencl", Some(Kind::Cpu), 0, &[]));
//! assert!(!filter.allows("opencl", Some(Kind::Gpu), 1, &[]));
//! assert!(!filter.wants("cuda"));
//!
//! let parts: DeviceFilter = "opencl:0.*".parse()?;
//! assert!(parts.allows("opencl", Some(Kind::Cpu), 0, &[1]));
//! assert!(!parts.allows("opencl", Some(Kind::Cpu), 0, &[]));
//! # Ok::<(), offkit_runtime::filter::FilterError>(())
//! ```

use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::str::FromStr;

use offkit_pi::host::{Device, DeviceType, trace};

/// The variables, the one that counts before the others first.
pub const VARIABLES: [&str; 3] = ["ONEAPI_DEVICE_SELECTOR", "SYCL_DEVICE_FILTER", "SYCL_BE"];

/// Variables of libsycl that choose devices there, and not here.
pub const NOT_READ: [&str; 2] = ["SYCL_DEVICE_TYPE", "SYCL_DEVICE_ALLOWLIST"];

/// The backend and the kind of libsycl's host device, in the grammar of `SYCL_DEVICE_FILTER`.
const HOST: &str = "host";

/// The backends that the grammars always know: what is below a plugin. `offkit` is the embedded CPU device. Those of the
/// plugins that were found add to them.
pub const BACKENDS: [&str; 6] = ["opencl", "level_zero", "cuda", "hip", "native_cpu", "offkit"];

/// The kinds of devices that the grammars know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// `cpu`
    Cpu,
    /// `gpu`
    Gpu,
    /// `fpga`, in older grammars `acc`
    Accelerator,
}

/// Which devices may be seen: some that are accepted, less some that are discarded.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeviceFilter {
    accepted: Vec<Term>,
    discarded: Vec<Term>,
}

/// The devices of a backend.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Term {
    /// None for any.
    backend: Option<String>,
    devices: Vec<Wanted>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Any,
    Kind(Kind),
    /// The number among the backend's devices.
    Number(u32),
    Both(Kind, u32),
    /// `0.1`, `*.*.2`: parts of the devices with that number, by their places; none for any.
    Part(Place, Place),
    /// Parts of parts.
    PartOfPart(Place, Place, Place),
}

/// A number of `1.*.0`; none for any.
type Place = Option<u32>;

/// A value that does not follow its variable's grammar.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FilterError {
    /// A backend that nobody knows.
    #[error("`{name}` is no backend; the backends are {}, or `*` for any", .known.join(", "))]
    Backend {
        /// What is there.
        name: String,
        /// The backends there are.
        known: Vec<String>,
    },
    /// A device that is neither a kind nor a number.
    #[error("`{0}` is no device; expected `*`, `cpu`, `gpu`, `fpga` or a number from 0")]
    Device(String),
    /// A part of a term behind the one that it would have to come before, or one too many.
    #[error(
        "`{0}` is one too many or in the wrong place; expected `backend:kind:number`, each at most once and in this order"
    )]
    Place(String),
    /// A term without a colon.
    #[error("`{0}` names no devices; expected `backend:devices`, as in `opencl:gpu`")]
    Colon(String),
    /// An accepting term behind a discarding one.
    #[error("`{0}` comes after a term with `!`; put those with `!` last")]
    Order(String),
    /// More levels of parts than the grammar has.
    #[error(
        "`{0}` has too many levels; expected a device, a part of it or a part of that: `0`, `0.1` or `0.1.*`"
    )]
    Levels(String),
}

/// A variable that is set and does not count, or a part of its value that does not, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignored {
    /// The variable.
    pub variable: &'static str,
    /// Its value.
    pub value: String,
    /// The part of the value that can match nothing; none where it is the whole value that does not count.
    pub part: Option<String>,
    /// Why it does not count.
    pub reason: String,
}

impl fmt::Display for Ignored {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Ignored {
            variable,
            value,
            part,
            reason,
        } = self;
        match part {
            Some(part) => write!(
                formatter,
                "`{part}` in {variable}={value} matches nothing: {reason}"
            ),
            None => write!(formatter, "{variable}={value} is ignored: {reason}"),
        }
    }
}

/// What the environment says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct FromEnvironment {
    /// The filter; everything where no variable counts.
    pub filter: DeviceFilter,
    /// The variable that counts, and its value.
    pub variable: Option<(&'static str, String)>,
    /// The variables that do not, and parts of its value that match nothing.
    pub ignored: Vec<Ignored>,
}

impl FromEnvironment {
    /// Reads the variables of this process, where plugins of these backends were found. Those that say what is traced are
    /// among those that do not count, too, where they say nothing.
    pub fn read(backends: &[String]) -> FromEnvironment {
        let set = |name: &'static str| Some((name, env::var_os(name)?.to_string_lossy().into_owned()));
        let mut found = Self::of(VARIABLES.into_iter().chain(NOT_READ).filter_map(set), backends);
        let ignored = trace::ignored().iter().map(|(variable, value)| Ignored {
            variable,
            value: value.clone(),
            part: None,
            reason:
                "it is no number; expected 1 (plugins, devices), 2 (calls), 3 for both, or -1 for everything"
                    .to_owned(),
        });
        found.ignored.extend(ignored);
        found
    }

    fn of(set: impl Iterator<Item = (&'static str, String)>, backends: &[String]) -> FromEnvironment {
        let mut found = FromEnvironment::default();
        // A value that does not follow its grammar replaces nothing: an older variable may count then.
        for (variable, value) in set.filter(|(_, value)| !value.trim().is_empty()) {
            let mut hosts = Vec::new();
            let filter = match variable {
                "ONEAPI_DEVICE_SELECTOR" => DeviceFilter::parse(&value, backends),
                "SYCL_DEVICE_FILTER" => DeviceFilter::triples(&value, backends, &mut hosts),
                "SYCL_BE" => DeviceFilter::backend(&value, backends),
                _ => {
                    let reason = instead_of(variable, &value);
                    found.ignored.push(Ignored {
                        variable,
                        value,
                        part: None,
                        reason,
                    });
                    continue;
                }
            };
            let reason = match (filter, &found.variable) {
                (_, Some((newer, _))) => format!("{newer} is set, which replaced it"),
                (Err(error), None) => error.to_string(),
                (Ok(filter), None) => {
                    found.ignored.extend(hosts.into_iter().map(|term| Ignored {
                        variable,
                        value: value.clone(),
                        part: Some(term),
                        reason: "offkit has no host device".to_owned(),
                    }));
                    found.filter = filter;
                    found.variable = Some((variable, value));
                    continue;
                }
            };
            found.ignored.push(Ignored {
                variable,
                value,
                part: None,
                reason,
            });
        }
        found
    }
}

/// What to set in the place of a variable that is not read.
fn instead_of(variable: &str, value: &str) -> String {
    let kind = Kind::named(&value.trim().to_lowercase()).filter(|_| variable == "SYCL_DEVICE_TYPE");
    let instead = match kind {
        Some(Kind::Cpu) => "=*:cpu",
        Some(Kind::Gpu) => "=*:gpu",
        Some(Kind::Accelerator) => "=*:fpga",
        None => "",
    };
    format!(
        "offkit does not read it; {}{instead} chooses devices",
        VARIABLES[0]
    )
}

impl DeviceFilter {
    /// Whether the devices of a backend are worth looking for: if not, its plugin need not be loaded.
    pub fn wants(&self, backend: &str) -> bool {
        // Kinds and numbers rule out no plugin: which devices there are is known only when it is loaded.
        let all = |term: &&Term| term.is_of(backend) && term.devices.contains(&Wanted::Any);
        let is_accepted = self.accepted.is_empty() || self.accepted.iter().any(|term| term.is_of(backend));
        is_accepted && !self.discarded.iter().any(|term| all(&term))
    }

    /// Whether a device may be seen: of which backend and kind it is, its number among the backend's devices, and for a
    /// part of it the way there, as `[1, 0]` for the first part of its second part.
    ///
    /// Parts are seen where they are asked for, and never those of what is discarded.
    pub fn allows(&self, backend: &str, kind: Option<Kind>, number: u32, part: &[u32]) -> bool {
        let fits = |term: &Term, part: &[u32]| {
            let mut devices = term.devices.iter();
            term.is_of(backend) && devices.any(|wanted| wanted.is(kind, number, part))
        };
        let is_accepted = match self.accepted.as_slice() {
            // As in libsycl: where no term names parts, programs see whole devices alone.
            [] => part.is_empty(),
            accepted => accepted.iter().any(|term| fits(term, part)),
        };
        let mut ways = (0..=part.len()).map(|length| &part[..length]);
        is_accepted && !ways.any(|way| self.discarded.iter().any(|term| fits(term, way)))
    }

    /// How many levels of parts are asked for of a backend's device: none for the device itself alone.
    pub fn levels(&self, backend: &str, number: u32) -> usize {
        let terms = self.accepted.iter().filter(|term| term.is_of(backend));
        let levels = |wanted: &Wanted| match wanted {
            Wanted::Part(whole, _) if is_at(*whole, number) => 1,
            Wanted::PartOfPart(whole, ..) if is_at(*whole, number) => 2,
            _ => 0,
        };
        terms
            .flat_map(|term| &term.devices)
            .map(levels)
            .max()
            .unwrap_or(0)
    }

    /// The grammar of `ONEAPI_DEVICE_SELECTOR`: `opencl:cpu,0;cuda:*;!*:1`. There are these backends, in lower case, besides
    /// [`BACKENDS`].
    ///
    /// # Errors
    ///
    /// [`FilterError`] with the part that does not follow the grammar.
    pub fn parse(text: &str, backends: &[String]) -> Result<DeviceFilter, FilterError> {
        let mut filter = DeviceFilter::default();
        for text in text.split(';').map(str::trim).filter(|text| !text.is_empty()) {
            match text.strip_prefix('!') {
                Some(text) => filter.discarded.push(Term::parse(text, backends)?),
                // As in libsycl: what is discarded is taken from all that was accepted before it.
                None if filter.discarded.is_empty() => filter.accepted.push(Term::parse(text, backends)?),
                None => return Err(FilterError::Order(text.to_owned())),
            }
        }
        Ok(filter)
    }

    /// The grammar of `SYCL_DEVICE_FILTER`: `backend:kind:number`, each of which may be left out, separated by commas. The
    /// terms that mean the host device match nothing, and are added to `hosts`.
    fn triples(
        text: &str,
        backends: &[String],
        hosts: &mut Vec<String>,
    ) -> Result<DeviceFilter, FilterError> {
        let mut term = |text: &str| {
            let (mut backend, mut kind, mut number, mut is_host) = (None, None, None, false);
            // Which of the three is next, at the earliest.
            let mut next = 0;
            for part in text.split(':').map(|part| part.trim().to_lowercase()) {
                let place = match (part.as_str(), Kind::named(&part), part.parse()) {
                    // Any.
                    ("" | "*", ..) => next,
                    // A backend and a kind.
                    (HOST, ..) => {
                        is_host = true;
                        next.min(1)
                    }
                    (_, Some(found), _) => {
                        kind = Some(found);
                        1
                    }
                    (_, _, Ok(found)) => {
                        number = Some(found);
                        2
                    }
                    _ if next == 0 => {
                        backend = backend_named(&part, backends)?;
                        0
                    }
                    _ => return Err(FilterError::Device(part)),
                };
                if place < next {
                    return Err(FilterError::Place(part));
                }
                next = place + 1;
            }
            let wanted = match (kind, number) {
                (None, None) => Wanted::Any,
                (Some(kind), None) => Wanted::Kind(kind),
                (None, Some(number)) => Wanted::Number(number),
                (Some(kind), Some(number)) => Wanted::Both(kind, number),
            };
            if is_host {
                hosts.push(text.trim().to_owned());
            }
            Ok(match is_host {
                // No plugin is for it.
                true => Term {
                    backend: Some(HOST.to_owned()),
                    devices: Vec::new(),
                },
                false => Term {
                    backend,
                    devices: vec![wanted],
                },
            })
        };
        Ok(DeviceFilter {
            // As in libsycl: nothing follows a comma at the end. An empty term would be any device.
            accepted: text
                .trim()
                .split_terminator(',')
                .map(&mut term)
                .collect::<Result<_, _>>()?,
            discarded: Vec::new(),
        })
    }

    /// The grammar of `SYCL_BE`: `PI_OPENCL`, `PI_LEVEL_ZERO` (or `PI_LEVEL0`), `PI_CUDA`.
    fn backend(text: &str, backends: &[String]) -> Result<DeviceFilter, FilterError> {
        let name = text.trim().to_lowercase();
        let name = match name.strip_prefix("pi_").unwrap_or(&name) {
            "level0" => "level_zero",
            name => name,
        };
        Ok(DeviceFilter {
            accepted: vec![Term {
                backend: backend_named(name, backends)?,
                devices: vec![Wanted::Any],
            }],
            discarded: Vec::new(),
        })
    }
}

/// The grammar of `ONEAPI_DEVICE_SELECTOR`, with the backends that are always known.
impl FromStr for DeviceFilter {
    type Err = FilterError;

    fn from_str(text: &str) -> Result<DeviceFilter, FilterError> {
        DeviceFilter::parse(text, &[])
    }
}

impl Term {
    fn parse(text: &str, backends: &[String]) -> Result<Term, FilterError> {
        let (backend, devices) = text
            .split_once(':')
            .ok_or_else(|| FilterError::Colon(text.to_owned()))?;
        let device = |text: &str| {
            let name = text.trim().to_lowercase();
            match (name.as_str(), Kind::named(&name), name.parse()) {
                ("*", ..) => Ok(Wanted::Any),
                (_, Some(kind), _) => Ok(Wanted::Kind(kind)),
                (_, _, Ok(number)) => Ok(Wanted::Number(number)),
                _ => Wanted::part(&name),
            }
        };
        Ok(Term {
            backend: backend_named(&backend.trim().to_lowercase(), backends)?,
            devices: devices.split(',').map(device).collect::<Result<_, _>>()?,
        })
    }

    fn is_of(&self, backend: &str) -> bool {
        self.backend.as_deref().is_none_or(|wanted| wanted == backend)
    }
}

/// Whether a place that is wanted is that one.
fn is_at(wanted: Place, number: u32) -> bool {
    wanted.is_none_or(|wanted| wanted == number)
}

/// `None` is any. There are these backends besides those that are always known.
fn backend_named(name: &str, backends: &[String]) -> Result<Option<String>, FilterError> {
    if name == "*" {
        return Ok(None);
    }
    if BACKENDS.contains(&name) || backends.iter().any(|backend| backend == name) {
        return Ok(Some(name.to_owned()));
    }
    let mut known = BACKENDS.map(str::to_owned).to_vec();
    for backend in backends {
        // A library is one as well, but mostly its platforms say what is below it.
        if !known.contains(backend) && !backend.contains(".so") {
            known.push(backend.clone());
        }
    }
    Err(FilterError::Backend {
        name: name.to_owned(),
        known,
    })
}

/// Whether the grammars can name a backend of that name, which is in lower case: it means nothing else to them.
pub(crate) fn can_name(backend: &str) -> bool {
    let is_other = backend == HOST || Kind::named(backend).is_some() || backend.parse::<u32>().is_ok();
    !is_other && !backend.contains(['*', ':', ';', ',', '!'])
}

/// The known backend that was perhaps meant by a name which is none of them.
pub(crate) fn perhaps_meant(backend: &str) -> Option<&'static str> {
    // `cuda_next` is a name of somebody's own.
    let is_like = |known: &&str| {
        let differences = strsim::osa_distance(known, backend);
        !backend.starts_with(known) && differences <= known.len() / 3
    };
    BACKENDS
        .into_iter()
        .find(is_like)
        .filter(|_| !BACKENDS.contains(&backend))
}

impl Kind {
    /// What kind of device it is; none where it does not say, or is of another.
    pub fn of(device: &Device) -> Option<Kind> {
        match device.device_type().ok()? {
            DeviceType::Cpu => Some(Kind::Cpu),
            DeviceType::Gpu => Some(Kind::Gpu),
            DeviceType::Accelerator => Some(Kind::Accelerator),
            _ => None,
        }
    }

    /// The kind in one word: `cpu`, `gpu`, `accelerator`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Cpu => "cpu",
            Kind::Gpu => "gpu",
            Kind::Accelerator => "accelerator",
        }
    }

    fn named(name: &str) -> Option<Kind> {
        match name {
            "cpu" => Some(Kind::Cpu),
            "gpu" => Some(Kind::Gpu),
            "fpga" | "acc" | "accelerator" => Some(Kind::Accelerator),
            _ => None,
        }
    }
}

impl Wanted {
    /// Reads `0.1`, `*.*.2`.
    fn part(name: &str) -> Result<Wanted, FilterError> {
        let place = |text: &str| match text {
            "*" => Some(None),
            number => number.parse().ok().map(Some),
        };
        let places: Option<Vec<Place>> = name.split('.').map(place).collect();
        match places.as_deref() {
            Some([whole, part]) => Ok(Wanted::Part(*whole, *part)),
            Some([whole, part, inner]) => Ok(Wanted::PartOfPart(*whole, *part, *inner)),
            Some([_, _, _, ..]) => Err(FilterError::Levels(name.to_owned())),
            _ => Err(FilterError::Device(name.to_owned())),
        }
    }

    fn is(self, of: Option<Kind>, at: u32, part: &[u32]) -> bool {
        match (self, part) {
            (Wanted::Any, []) => true,
            (Wanted::Kind(kind), []) => of == Some(kind),
            (Wanted::Number(number), []) => at == number,
            (Wanted::Both(kind, number), []) => of == Some(kind) && at == number,
            (Wanted::Part(whole, place), [part]) => is_at(whole, at) && is_at(place, *part),
            (Wanted::PartOfPart(whole, place, inner), [part, of_part]) => {
                is_at(whole, at) && is_at(place, *part) && is_at(inner, *of_part)
            }
            _ => false,
        }
    }
}

/// Numbers devices as the grammars count them: from 0 within each backend.
#[derive(Debug, Default)]
pub struct Numbers(BTreeMap<String, u32>);

impl Numbers {
    /// The number of the next device of that backend.
    pub fn next(&mut self, backend: &str) -> u32 {
        let next = self.0.entry(backend.to_owned()).or_default();
        *next += 1;
        *next - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPU: Option<Kind> = Some(Kind::Cpu);
    const GPU: Option<Kind> = Some(Kind::Gpu);

    /// Which of six devices a filter shows.
    fn shown(filter: &DeviceFilter) -> Vec<&'static str> {
        let devices = [
            ("offkit cpu", "offkit", CPU, 0),
            ("opencl cpu", "opencl", CPU, 0),
            ("opencl gpu", "opencl", GPU, 1),
            ("opencl acc", "opencl", Some(Kind::Accelerator), 2),
            ("cuda 0", "cuda", GPU, 0),
            ("cuda 1", "cuda", GPU, 1),
        ];
        let shown = devices
            .into_iter()
            .filter(|(_, backend, kind, number)| filter.allows(backend, *kind, *number, &[]));
        shown.map(|(name, ..)| name).collect()
    }

    #[test]
    fn selectors_accept_some_and_discard_some_of_them() {
        for (text, expected) in [
            (
                "",
                &[
                    "offkit cpu",
                    "opencl cpu",
                    "opencl gpu",
                    "opencl acc",
                    "cuda 0",
                    "cuda 1",
                ][..],
            ),
            ("*:cpu", &["offkit cpu", "opencl cpu"]),
            ("OpenCL:GPU,fpga", &["opencl gpu", "opencl acc"]),
            ("opencl:0;cuda:1", &["opencl cpu", "cuda 1"]),
            ("!*:gpu", &["offkit cpu", "opencl cpu", "opencl acc"]),
            ("*:gpu; !cuda:0", &["opencl gpu", "cuda 1"]),
            ("level_zero:*", &[]),
        ] {
            assert_eq!(shown(&text.parse().expect(text)), expected, "{text}");
        }
    }

    #[test]
    fn selectors_that_break_the_grammar_say_where() {
        let error = |text: &str| text.parse::<DeviceFilter>().expect_err(text).to_string();
        assert_eq!(
            error("opencl"),
            "`opencl` names no devices; expected `backend:devices`, as in `opencl:gpu`"
        );
        assert!(error("rocm:gpu").starts_with("`rocm` is no backend; the backends are opencl, "));
        assert_eq!(
            error("opencl:tpu"),
            "`tpu` is no device; expected `*`, `cpu`, `gpu`, `fpga` or a number from 0"
        );
        assert!(error("!*:gpu;*:cpu").starts_with("`*:cpu` comes after a term with `!`"));
        assert!(error("cuda:0.x").starts_with("`0.x` is no device"));
        assert!(error("cuda:0.1.2.3").starts_with("`0.1.2.3` has too many levels"));
    }

    #[test]
    fn selectors_name_parts_of_devices() {
        let every: [&[u32]; 6] = [&[], &[0], &[1], &[0, 0], &[1, 0], &[1, 1]];
        for (text, levels, expected) in [
            ("cuda:*", 0, &[&[][..]][..]),
            ("cuda:0.*", 1, &[&[0], &[1]]),
            ("cuda:0.1,0", 1, &[&[], &[1]]),
            ("*:*.1.*", 2, &[&[1, 0], &[1, 1]]),
            ("*:*,*.*,*.*.*;!cuda:0.1", 2, &[&[], &[0], &[0, 0]]),
            ("cuda:0.*;!cuda:gpu", 1, &[]),
            ("cuda:1.*", 0, &[]),
        ] {
            let filter: DeviceFilter = text.parse().expect(text);
            assert_eq!(filter.levels("cuda", 0), levels, "{text}");
            let allowed = every
                .into_iter()
                .filter(|part| filter.allows("cuda", GPU, 0, part));
            assert_eq!(allowed.collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn plugins_that_could_show_nothing_are_not_wanted() {
        let filter: DeviceFilter = "opencl:gpu;cuda:*;!cuda:*".parse().expect("follows the grammar");
        assert_eq!(
            ["opencl", "cuda", "offkit"].map(|backend| filter.wants(backend)),
            [true, false, false]
        );
    }

    #[test]
    fn the_newest_variable_counts_and_the_others_are_named() {
        let of = |set: &[(&'static str, &str)]| {
            FromEnvironment::of(set.iter().map(|(name, value)| (*name, (*value).to_owned())), &[])
        };
        let found = of(&[("SYCL_DEVICE_FILTER", "opencl:cpu,cuda::1")]);
        assert_eq!(shown(&found.filter), ["opencl cpu", "cuda 1"]);
        let found = of(&[("SYCL_DEVICE_FILTER", "opencl:cpu,cuda:gpu:1,acc")]);
        assert_eq!(shown(&found.filter), ["opencl cpu", "opencl acc", "cuda 1"]);
        let found = of(&[("SYCL_DEVICE_FILTER", "opencl:cpu, ")]);
        assert_eq!(shown(&found.filter), ["opencl cpu"]);
        let found = of(&[("SYCL_BE", "PI_CUDA")]);
        assert_eq!(shown(&found.filter), ["cuda 0", "cuda 1"]);

        let found = of(&[("ONEAPI_DEVICE_SELECTOR", "opencl:cpu"), ("SYCL_BE", "PI_CUDA")]);
        assert_eq!(shown(&found.filter), ["opencl cpu"]);
        assert_eq!(
            found.ignored[0].to_string(),
            "SYCL_BE=PI_CUDA is ignored: ONEAPI_DEVICE_SELECTOR is set, which replaced it"
        );
        let found = of(&[("ONEAPI_DEVICE_SELECTOR", "gpu"), ("SYCL_BE", "PI_CUDA")]);
        assert_eq!(shown(&found.filter), ["cuda 0", "cuda 1"]);
        assert!(
            found.ignored[0].to_string().contains("names no devices"),
            "{found:?}"
        );
    }

    #[test]
    fn the_host_device_is_in_the_grammar_and_not_here() {
        let of =
            |value: &str| FromEnvironment::of([("SYCL_DEVICE_FILTER", value.to_owned())].into_iter(), &[]);
        for (value, terms, expected) in [
            ("host", &["host"][..], &[][..]),
            (
                "opencl:host,cuda::0, host:host:0",
                &["opencl:host", "host:host:0"],
                &["cuda 0"],
            ),
            ("*:host,cpu", &["*:host"], &["offkit cpu", "opencl cpu"]),
        ] {
            let found = of(value);
            assert_eq!(shown(&found.filter), expected, "{value}");
            let ignored: Vec<_> = found.ignored.iter().map(Ignored::to_string).collect();
            let said = |term: &&str| {
                format!("`{term}` in SYCL_DEVICE_FILTER={value} matches nothing: offkit has no host device")
            };
            assert_eq!(ignored, terms.iter().map(said).collect::<Vec<_>>());
        }
        assert!(!of("host").filter.wants("opencl"));
    }

    #[test]
    fn filters_have_each_part_once_and_in_order() {
        for (value, part) in [
            ("offkit:cpu:gpu", "`gpu` is one too many"),
            ("offkit:0:1", "`1` is one too many"),
            (
                "opencl:cpu,offkit:0:cpu",
                "`cpu` is one too many or in the wrong place; expected `backend:kind:number`",
            ),
            ("opencl:cpu:host", "`host` is one too many"),
            ("*:*:*:0", "`0` is one too many"),
            ("opencl:cuda", "`cuda` is no device"),
        ] {
            let found = FromEnvironment::of([("SYCL_DEVICE_FILTER", value.to_owned())].into_iter(), &[]);
            assert_eq!(found.variable, None, "{value}");
            assert!(found.ignored[0].reason.starts_with(part), "{found:?}");
        }
        for value in ["::0", "cpu:0", "*:cpu:", "opencl:0:"] {
            let found = FromEnvironment::of([("SYCL_DEVICE_FILTER", value.to_owned())].into_iter(), &[]);
            assert!(found.ignored.is_empty(), "{found:?}");
        }
    }

    #[test]
    fn variables_that_are_not_read_are_named() {
        let set = [
            ("SYCL_DEVICE_TYPE", "GPU"),
            ("SYCL_DEVICE_ALLOWLIST", "DeviceName:{{.*}}"),
        ];
        let found = FromEnvironment::of(set.into_iter().map(|(name, value)| (name, value.to_owned())), &[]);
        assert_eq!(found.variable, None);
        let ignored: Vec<_> = found.ignored.iter().map(Ignored::to_string).collect();
        assert_eq!(
            ignored,
            [
                "SYCL_DEVICE_TYPE=GPU is ignored: offkit does not read it; ONEAPI_DEVICE_SELECTOR=*:gpu chooses devices",
                "SYCL_DEVICE_ALLOWLIST=DeviceName:{{.*}} is ignored: offkit does not read it; ONEAPI_DEVICE_SELECTOR chooses devices",
            ]
        );
    }

    #[test]
    fn backends_of_the_plugins_that_are_found_can_be_named() {
        let backends = ["acme".to_owned(), "libgood.so".to_owned()];
        let filter = DeviceFilter::parse("*:*;!Acme:*;!libGood.so:1", &backends).expect("known backends");
        assert_eq!(
            ["acme", "libgood.so", "cuda"].map(|backend| filter.wants(backend)),
            [false, true, true]
        );
        assert!(!filter.allows("libgood.so", CPU, 1, &[]));
        let found = FromEnvironment::of(
            [("SYCL_DEVICE_FILTER", "acme:0".to_owned())].into_iter(),
            &backends,
        );
        assert!(found.filter.allows("acme", None, 0, &[]) && !found.filter.wants("cuda"));
        let error = DeviceFilter::parse("acne:0", &backends).expect_err("nobody knows it");
        assert!(
            error.to_string().contains("native_cpu, offkit, acme, or `*`"),
            "{error}"
        );
    }

    #[test]
    fn backends_may_be_called_what_means_nothing_else() {
        for (name, can, meant) in [
            ("acme", true, None),
            ("libgood.so", true, None),
            ("opencl", true, None),
            ("opncl", true, Some("opencl")),
            ("level-zero", true, Some("level_zero")),
            ("hpi", true, Some("hip")),
            ("cuda2", true, None),
            ("gpu", false, None),
            ("host", false, None),
            ("0", false, None),
            ("*", false, None),
            ("opencl:gpu", false, None),
        ] {
            assert_eq!((can_name(name), perhaps_meant(name)), (can, meant), "{name}");
        }
    }
}
