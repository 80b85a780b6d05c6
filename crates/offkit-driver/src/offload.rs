//! What a command line says about offloading.

use std::ffi::OsString;

use offkit_link::device_link::spirv_version;
use offkit_link::post_link::SplitMode;
use offkit_object::BundleState;

use crate::arguments::{Argument, Role};
use crate::{UsageError, Warning};
use offkit_image::target::{Family, Target, intel, triples};

/// A target of DPC++ whose host code does what a runtime does elsewhere.
const NATIVE_CPU: &str = "native_cpu";

/// The target that is compiled for unless others are asked for.
pub fn portable() -> Target {
    Target::new(triples::SPIRV64, "")
}

/// Whether code for a target is compiled for a processor when it is loaded.
pub fn is_portable(target: &Target) -> bool {
    target.family().is_written_as_spirv()
}

/// The target that a value of `-fsycl-targets=` names, with the usual triple.
pub(super) fn target_named(name: &str) -> Target {
    Target::named(name).with_usual_triple()
}

/// Who makes the device code of a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Nobody: it has nothing to do with offloading.
    None,
    /// clang's own OpenMP, CUDA and HIP; only the tool that links device code is ours.
    Clang,
    /// The driver.
    Driver,
}

/// The settings for offloading, checked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offload {
    /// `-fsyclbin`: the output is a SYCLBIN file in that state.
    pub syclbin: Option<BundleState>,
    /// `-fsycl-link`: the output is the linked device code.
    pub link: bool,
    /// `-fsycl-device-only`: no host code.
    pub device_only: bool,
    /// `-fsycl-host-only`: no device code.
    pub host_only: bool,
    /// The targets to compile for.
    pub targets: Vec<Target>,
    /// Whether they were asked for; else it is the portable one, and a link takes what there is.
    pub targets_given: bool,
    /// Whether images may need symbols of others when they are loaded.
    pub allow_dependencies: bool,
    /// How device code is split into images.
    pub split: Option<SplitMode>,
    /// The newest version of SPIR-V that devices take, if that was said.
    pub spirv_version: Option<(u8, u8)>,
    /// The SPIR-V extensions that devices take, if that was said.
    pub spirv_extensions: Option<Vec<String>>,
    /// Options for the compiler of a target, with the triple they are for.
    pub backend_options: Vec<(Option<String>, OsString)>,
    /// Options for the linker of a target, with the triple they are for.
    pub linker_options: Vec<(Option<String>, OsString)>,
    /// `--no-default-device-libs`: nothing is taken from the libraries that come with offkit.
    pub no_default_libraries: bool,
    /// How many commands may run at a time.
    pub jobs: Option<usize>,
    /// What the user should know.
    pub warnings: Vec<Warning>,
}

const ALLOW: &str = "-fsycl-allow-device-image-dependencies";
const DISALLOW: &str = "-fno-sycl-allow-device-image-dependencies";

impl Offload {
    /// Finds out who is to do the offloading, and how.
    ///
    /// # Errors
    ///
    /// Values that are none, and options that contradict each other.
    pub fn read(arguments: &[Argument]) -> Result<(Mode, Self), UsageError> {
        let mut offload = Self::default();
        let mut sycl = false;
        let mut allowed: Option<(bool, String)> = None;
        let mut syclbin: Option<(BundleState, String)> = None;
        let mut archs = Vec::new();
        let mut triples: Vec<String> = Vec::new();
        let mut openmp = None;
        let mut split = None;
        let mut jobs = None;
        for argument in arguments {
            let Role::Offload(name) = argument.role else {
                continue;
            };
            let value = || argument.value(name);
            let text = || value().to_string_lossy().into_owned();
            match name {
                "-fsycl" => sycl = true,
                "-fno-sycl" => sycl = false,
                "-fsycl-device-only" => offload.device_only = true,
                "-fsycl-host-only" => offload.host_only = true,
                "-fsycl-link" => offload.link = true,
                "-fsyclbin" => syclbin = Some((BundleState::Executable, argument.spelling())),
                "-fsyclbin=" => {
                    let state = match &*text() {
                        "input" => BundleState::Input,
                        "object" => BundleState::Object,
                        "executable" => BundleState::Executable,
                        other => return Err(UsageError::value(other, name)),
                    };
                    syclbin = Some((state, argument.spelling()));
                }
                "-fsycl-targets=" | "--offload-targets=" => {
                    triples.extend(
                        text()
                            .split(',')
                            .filter(|triple| !triple.is_empty())
                            .map(str::to_owned),
                    );
                }
                "--offload-arch=" => {
                    archs.extend(
                        text()
                            .split(',')
                            .filter(|arch| !arch.is_empty())
                            .map(str::to_owned),
                    );
                }
                "-fopenmp-targets=" | "-fopenmp-targets" => openmp = Some(argument.spelling()),
                ALLOW => allowed = Some((true, argument.spelling())),
                DISALLOW => allowed = Some((false, argument.spelling())),
                "--no-default-device-libs" => offload.no_default_libraries = true,
                "-fsycl-device-code-split" => split = Some(SplitMode::Source),
                "-fsycl-device-code-split=" => {
                    split = Some(match &*text() {
                        "auto" | "per_source" => SplitMode::Source,
                        "per_kernel" => SplitMode::Kernel,
                        "off" => SplitMode::None,
                        other => return Err(UsageError::value(other, name)),
                    });
                }
                "--spirv-version=" => {
                    let version = spirv_version(&text());
                    let version = version.map_err(|expected| {
                        UsageError::new(format!("`{}`: {expected}", argument.spelling()))
                    })?;
                    offload.spirv_version = Some(version);
                }
                "--spirv-ext=" => {
                    let text = text();
                    let names = text.split(',').filter(|name| !name.is_empty());
                    let extensions = offload.spirv_extensions.get_or_insert_default();
                    extensions.extend(names.map(str::to_owned));
                }
                "-Xsycl-target-backend" | "-Xs" => offload.backend_options.push((None, value())),
                "-Xsycl-target-linker" => offload.linker_options.push((None, value())),
                "-Xsycl-target-backend=" => offload
                    .backend_options
                    .push((Some(triple_of(argument, name)), value())),
                "-Xsycl-target-linker=" => offload
                    .linker_options
                    .push((Some(triple_of(argument, name)), value())),
                // `jobserver` is for clang's linker wrapper, which asks make: steps here never do.
                "--offload-jobs=" if text() != "jobserver" => jobs = Some((text(), argument.spelling())),
                _ => {}
            }
        }
        if offload.device_only
            && let Some((_, spelling)) = syclbin.take()
        {
            offload.warnings.push(Warning::unused(&spelling));
        }
        let mode = if sycl || syclbin.is_some() || offload.link || offload.device_only || offload.host_only {
            Mode::Driver
        } else if openmp.is_some() || arguments.iter().any(is_clangs) {
            Mode::Clang
        } else {
            Mode::None
        };
        if mode != Mode::Driver {
            let unused = arguments.iter().filter(|argument| {
                // These two are handed on in other words.
                let is_handed_on = matches!(
                    argument.role,
                    Role::Offload("--offload-rdc" | "--no-default-device-libs")
                );
                !argument.is_known_to_clang() && !is_handed_on
            });
            offload
                .warnings
                .extend(unused.map(|argument| Warning::unused(&argument.spelling())));
            return Ok((mode, offload));
        }
        if let Some(spelling) = openmp {
            return Err(UsageError::new(format!(
                "`{spelling}` and SYCL in one command: compile and link the sources of each by themselves"
            )));
        }
        offload.targets_given = !(triples.is_empty() && archs.is_empty());
        offload.set_targets(&triples, &archs)?;
        offload.split = split;
        // Not before the mode is known: in others the option is clang's, which checks it itself.
        if let Some((value, spelling)) = jobs {
            let number = value.parse().ok().filter(|&number| number > 0);
            offload.jobs = Some(number.ok_or_else(|| {
                UsageError::new(format!("invalid integral value '{value}' in '{spelling}'"))
            })?);
        }
        if syclbin.is_some() {
            offload.warn_of_lost_options(arguments);
        }
        offload.set_dependencies(syclbin.as_ref(), allowed.as_ref())?;
        offload.syclbin = syclbin.map(|(state, _)| state);
        Ok((mode, offload))
    }

    fn set_targets(&mut self, triples: &[String], archs: &[String]) -> Result<(), UsageError> {
        let archs: Vec<_> = archs.iter().map(|arch| Target::of_processor(arch)).collect();
        for triple in triples {
            if triple == NATIVE_CPU {
                return Err(UsageError::new(format!(
                    "`{triple}` is a target of DPC++ alone, with a runtime of its own: CPU devices take \
                     `{}`, and a host's triple, such as `x86_64-unknown-linux-gnu`, makes native \
                     code of OpenCL C",
                    triples::SPIRV64
                )));
            }
            if triple.starts_with(intel::PREFIX) && intel::gpu_of_target(triple).is_none() {
                let known: Vec<_> = intel::GPUS.iter().map(|gpu| gpu.name).collect();
                return Err(UsageError::new(format!(
                    "`{triple}` is not a known Intel GPU; behind `{}` can be: {}",
                    intel::PREFIX,
                    known.join(", ")
                )));
            }
            let mut target = target_named(triple);
            if let Some(tool) = finishing_tool(target.family()) {
                self.warnings.push(Warning {
                    text: format!(
                        "code for '{triple}' stays SPIR-V, which a driver compiles when it is loaded: \
                         '{tool}' makes native code of it"
                    ),
                    group: "sycl-target",
                });
                target = portable();
            }
            // The processors of a triple stand in its place.
            if !archs.iter().any(|arch| arch.triple == target.triple) || !target.arch.is_empty() {
                self.targets.push(target);
            }
        }
        for arch in archs {
            if !triples.is_empty()
                && !triples
                    .iter()
                    .any(|triple| target_named(triple).triple == arch.triple)
            {
                return Err(UsageError::new(format!(
                    "`--offload-arch={}` is a processor of `{}`, which is not among the targets",
                    arch.arch_with_features(),
                    arch.triple
                )));
            }
            self.targets.push(arch);
        }
        if self.targets.is_empty() {
            self.targets.push(portable());
        }
        // One target may be named in several ways: `spir64` and `spirv64` mean the same. Its code
        // must not be compiled and packed twice.
        let mut seen = Vec::new();
        self.targets.retain(|target| {
            let is_new = !seen.contains(target);
            seen.push(target.clone());
            is_new
        });
        // Code for NVIDIA may do without one: PTX is compiled for the processor at hand when it is
        // loaded.
        match self
            .targets
            .iter()
            .find(|target| target.family() == Family::Amdgcn && target.arch.is_empty())
        {
            Some(target) => Err(UsageError::new(format!(
                "code for `{}` is made for one processor: add --offload-arch=gfx90a, for example",
                target.triple
            ))),
            None => Ok(()),
        }
    }

    /// A SYCLBIN file has no place for options of compilers and linkers that run when a kernel is loaded.
    fn warn_of_lost_options(&mut self, arguments: &[Argument]) {
        let is_lost = |argument: &&Argument| match argument.role {
            Role::Offload("-Xsycl-target-linker" | "-Xsycl-target-linker=") => true,
            // Native code is compiled now, and these go to its compiler.
            Role::Offload("-Xsycl-target-backend" | "-Xs") => self.targets.iter().all(is_portable),
            Role::Offload(name @ "-Xsycl-target-backend=") => {
                let triple = triple_of(argument, name);
                let mut targets = self.targets.iter().filter(|target| target.triple == triple);
                targets.all(is_portable)
            }
            _ => false,
        };
        let lost = arguments.iter().filter(is_lost);
        let warnings: Vec<_> = lost
            .map(|argument| Warning::unused(&argument.spelling()))
            .collect();
        self.warnings.extend(warnings);
    }

    /// Code that is linked later may leave symbols for others to supply; complete code may not.
    fn set_dependencies(
        &mut self,
        syclbin: Option<&(BundleState, String)>,
        allowed: Option<&(bool, String)>,
    ) -> Result<(), UsageError> {
        self.allow_dependencies = match (syclbin, allowed) {
            (Some((BundleState::Executable, option)), Some((true, allow))) => {
                // Without a value the option is spelt as DPC++ spells it: with its default.
                let option = if option.contains('=') {
                    option.clone()
                } else {
                    format!("{option}=executable")
                };
                self.warnings.push(Warning {
                    text: format!("'{allow}' has no effect with '{option}'"),
                    group: "option-ignored",
                });
                false
            }
            (Some((BundleState::Executable, _)), _) => false,
            (Some((_, option)), Some((false, disallow))) => {
                return Err(UsageError::new(format!(
                    "invalid argument '{disallow}' not allowed with '{option}': \
                     code in that state is linked with others later; use '-fsyclbin=executable'"
                )));
            }
            (Some(_), _) => true,
            (None, allowed) => allowed.is_some_and(|(allow, _)| *allow),
        };
        Ok(())
    }
}

/// The tool of Intel's that compiles SPIR-V ahead of time for a target.
fn finishing_tool(family: Family) -> Option<&'static str> {
    match family {
        Family::IntelGpu => Some("ocloc compile -spirv_input"),
        Family::IntelCpu => Some("opencl-aot"),
        Family::IntelFpga => Some("aoc"),
        _ => None,
    }
}

/// A target as `offkit link` takes it.
pub(super) fn target_option(target: &Target) -> String {
    format!("--target={}", target.option_value())
}

fn triple_of(argument: &Argument, name: &str) -> String {
    let option = argument.name();
    target_named(option.strip_prefix(name).unwrap_or_default())
        .triple
        .into()
}

/// Whether an argument makes clang do offloading of its own.
fn is_clangs(argument: &Argument) -> bool {
    match &argument.role {
        Role::Offload(name) => matches!(*name, "--offload-arch=" | "--offload-targets="),
        Role::Input(Some(language)) => matches!(&**language, "cuda" | "hip"),
        Role::Input(None) => {
            let name = argument.name();
            [".cu", ".hip"].iter().any(|extension| name.ends_with(extension))
        }
        Role::Other => matches!(&*argument.name(), "--offload-link" | "--hip-link"),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<(Mode, Offload), UsageError> {
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        Offload::read(&super::super::arguments::parse(&words))
    }

    fn driver(line: &str) -> Offload {
        let (mode, offload) = read(line).expect("a good command line");
        assert_eq!(mode, Mode::Driver, "{line}");
        offload
    }

    fn warnings(offload: &Offload) -> Vec<String> {
        offload.warnings.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn who_does_the_offloading() {
        for (line, expected) in [
            ("-c a.cpp", Mode::None),
            ("-c a.cpp --offload-rdc", Mode::None),
            ("-fsycl a.cpp", Mode::Driver),
            ("-fsycl -fno-sycl a.cpp", Mode::None),
            ("-fsyclbin a.cpp", Mode::Driver),
            ("-fno-sycl -fsyclbin=input a.cpp", Mode::Driver),
            ("-fsycl-link a.o", Mode::Driver),
            ("-fopenmp -fopenmp-targets=x86_64-pc-linux-gnu a.c", Mode::Clang),
            ("-fopenmp --offload-arch=gfx90a a.c", Mode::Clang),
            ("-x hip a.cpp", Mode::Clang),
            ("a.cu", Mode::Clang),
            ("--hip-link a.o", Mode::Clang),
        ] {
            assert_eq!(read(line).expect(line).0, expected, "{line}");
        }
    }

    #[test]
    fn the_state_decides_about_dependencies() {
        for (line, allowed) in [
            ("-fsycl", false),
            ("-fsycl -fsycl-allow-device-image-dependencies", true),
            (
                "-fsycl -fsycl-allow-device-image-dependencies -fno-sycl-allow-device-image-dependencies",
                false,
            ),
            ("-fsyclbin=input", true),
            ("-fsyclbin=object -fsycl-allow-device-image-dependencies", true),
            ("-fsyclbin", false),
            (
                "-fsyclbin=executable -fno-sycl-allow-device-image-dependencies",
                false,
            ),
        ] {
            let offload = driver(line);
            assert_eq!(offload.allow_dependencies, allowed, "{line}");
            assert_eq!(warnings(&offload), Vec::<String>::new(), "{line}");
        }
        for state in ["-fsyclbin", "-fsyclbin=executable"] {
            let offload = driver(&format!("{state} -fsycl-allow-device-image-dependencies"));
            assert!(!offload.allow_dependencies);
            assert_eq!(
                warnings(&offload),
                [
                    "'-fsycl-allow-device-image-dependencies' has no effect with '-fsyclbin=executable' [-Woption-ignored]"
                ]
            );
        }
        for state in ["input", "object"] {
            let line = format!("-fsyclbin={state} -fno-sycl-allow-device-image-dependencies");
            let error = read(&line).expect_err("a contradiction").to_string();
            assert!(
                error.contains(&format!(
                    "'-fno-sycl-allow-device-image-dependencies' not allowed with '-fsyclbin={state}'"
                )),
                "{error}"
            );
        }
    }

    #[test]
    fn what_has_no_effect_is_told() {
        let offload = driver("-fsycl -fsycl-device-only -fsyclbin=object a.cpp");
        assert_eq!(offload.syclbin, None);
        assert_eq!(
            warnings(&offload),
            ["argument unused during compilation: '-fsyclbin=object' [-Wunused-command-line-argument]"]
        );
        let (_, offload) =
            read("-fsycl-targets=spir64 -Xsycl-target-backend -g a.o").expect("a good command line");
        assert_eq!(
            warnings(&offload),
            [
                "argument unused during compilation: '-fsycl-targets=spir64' [-Wunused-command-line-argument]",
                "argument unused during compilation: '-Xsycl-target-backend -g' [-Wunused-command-line-argument]"
            ]
        );
    }

    #[test]
    fn options_that_a_file_cannot_keep_are_told() {
        let lost = |line: &str| driver(line).warnings.len();
        assert_eq!(lost("-fsycl -Xsycl-target-backend -g -Xsycl-target-linker -g"), 0);
        assert_eq!(
            lost("-fsyclbin -Xsycl-target-backend -g -Xsycl-target-linker -g"),
            2
        );
        assert_eq!(lost("-fsyclbin --offload-arch=sm_70 -Xsycl-target-backend -g"), 0);
        assert_eq!(
            lost("-fsyclbin --offload-arch=sm_70 -Xsycl-target-backend=spir64 -g"),
            1
        );
    }

    #[test]
    fn targets_are_triples_or_processors() {
        let targets =
            |line: &str| -> Vec<String> { driver(line).targets.iter().map(target_option).collect() };
        assert_eq!(targets("-fsycl"), ["--target=spirv64-unknown-unknown"]);
        assert_eq!(
            targets("-fsycl -fsycl-targets=spir64,nvptx64-nvidia-cuda,spirv64"),
            ["--target=spirv64-unknown-unknown", "--target=nvptx64-nvidia-cuda"]
        );
        assert_eq!(
            targets("-fsycl --offload-arch=gfx90a,sm_70,bmg_g21"),
            [
                "--target=amdgcn-amd-amdhsa,arch=gfx90a",
                "--target=nvptx64-nvidia-cuda,arch=sm_70",
                "--target=spirv64-unknown-unknown,arch=bmg_g21"
            ]
        );
        assert_eq!(
            targets(
                "-fsycl -fsycl-targets=spir64,nvptx64-nvidia-cuda --offload-arch=sm_80 -fsycl-targets=amd_gpu_gfx942"
            ),
            [
                "--target=spirv64-unknown-unknown",
                "--target=amdgcn-amd-amdhsa,arch=gfx942",
                "--target=nvptx64-nvidia-cuda,arch=sm_80"
            ]
        );
        let error = read("-fsycl -fsycl-targets=spir64 --offload-arch=gfx90a").expect_err("a contradiction");
        assert!(error.to_string().contains("amdgcn-amd-amdhsa"), "{error}");
        let error = read("-fsycl -fsycl-targets=amdgcn-amd-amdhsa").expect_err("no processor");
        assert!(error.to_string().contains("--offload-arch="), "{error}");
    }

    #[test]
    fn what_intels_compilers_finish_stays_spirv() {
        for (name, tool) in [("spir64_gen", "ocloc"), ("spir64_x86_64", "opencl-aot")] {
            let offload = driver(&format!("-fsycl -fsycl-targets={name}"));
            assert_eq!(offload.targets, [portable()]);
            let [warning] = &warnings(&offload)[..] else {
                panic!("{:?}", offload.warnings)
            };
            assert!(warning.contains(name) && warning.contains(tool), "{warning}");
        }
        let lunar_lake = driver("-fsycl -fsycl-targets=intel_gpu_lnl_m");
        assert_eq!(lunar_lake.targets, [Target::new(triples::SPIRV64, "lnl_m")]);
        let error = read("-fsycl -fsycl-targets=intel_gpu_lnlm").expect_err("there is none");
        assert!(error.to_string().contains("lnl_m"), "{error}");
    }

    #[test]
    fn values_are_checked() {
        for (line, message) in [
            ("-fsyclbin=exe", "invalid value 'exe' in '-fsyclbin='"),
            (
                "-fsycl -fsycl-device-code-split=some",
                "invalid value 'some' in '-fsycl-device-code-split='",
            ),
            (
                "-fsycl --offload-jobs=0",
                "invalid integral value '0' in '--offload-jobs=0'",
            ),
        ] {
            assert_eq!(read(line).expect_err(line).to_string(), message);
        }
        assert_eq!(
            driver("-fsycl -fsycl-device-code-split").split,
            Some(SplitMode::Source)
        );
        assert_eq!(
            driver("-fsycl -fsycl-device-code-split=per_kernel").split,
            Some(SplitMode::Kernel)
        );
        assert_eq!(
            driver("-fsycl -Xsycl-target-backend=spir64 -g -Xs -O0").backend_options,
            [
                (Some(triples::SPIRV64.to_owned()), "-g".into()),
                (None, "-O0".into())
            ]
        );
    }
}
