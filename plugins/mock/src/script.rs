//! Scripts, as their lines say.

use std::str::FromStr;
use std::time::Duration;

use offkit_image::Target;
use offkit_pi::ffi::*;
use offkit_pi::plugin::Info;
use offkit_pi::table::Function;

/// What the plugin has, and what goes wrong.
#[derive(Debug, Default)]
pub(crate) struct Script {
    pub(crate) platforms: Vec<Platform>,
    pub(crate) kernels: Vec<Kernel>,
    /// The variables of every program: their names, and their sizes in bytes.
    pub(crate) variables: Vec<(String, usize)>,
    pub(crate) unresolved: Vec<String>,
    pub(crate) missing: Vec<Function>,
    pub(crate) faults: Vec<Fault>,
}

#[derive(Debug, Clone)]
pub(crate) struct Platform {
    pub(crate) name: String,
    pub(crate) backend: pi_platform_backend,
    pub(crate) devices: Vec<Device>,
}

#[derive(Debug, Clone)]
pub(crate) struct Device {
    pub(crate) kind: pi_device_type,
    pub(crate) name: String,
    /// Empty for SPIR-V.
    pub(crate) takes: Vec<Target>,
    /// How many parts it has by affinity, each of them, and so on.
    pub(crate) parts: Vec<usize>,
    pub(crate) info: Vec<(pi_device_info, Info)>,
}

#[derive(Debug, Clone)]
pub(crate) struct Kernel {
    pub(crate) name: String,
    pub(crate) arguments: u32,
    /// The argument whose buffer it fills, and the byte.
    pub(crate) fills: Option<(u32, u8)>,
}

/// Something that goes wrong.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) place: Place,
    /// The number of the call, from 1; none for every one.
    pub(crate) number: Option<usize>,
    pub(crate) effect: Effect,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// `piPluginInit`.
    SetUp,
    Any,
    Call(Function),
    /// The kernel that was launched.
    Launch,
}

#[derive(Debug, Clone)]
pub(crate) enum Effect {
    Fail(pi_result, String),
    Delay(Duration),
    Hang,
    Crash,
    Exit(i32),
    Eat,
}

/// A line of a script that says nothing known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line} of the mock's script, `{text}`: {expected}")]
pub struct ScriptError {
    /// The line, from 1.
    pub line: usize,
    /// What it says.
    pub text: String,
    /// What it should say.
    pub expected: &'static str,
}

impl FromStr for Script {
    type Err = ScriptError;

    fn from_str(text: &str) -> Result<Script, ScriptError> {
        let mut script = Script::default();
        for (line, text) in (1..).zip(text.lines()) {
            let words = words(text);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            script.line(&words).map_err(|expected| ScriptError {
                line,
                text: text.trim().to_owned(),
                expected,
            })?;
        }
        if script
            .platforms
            .iter()
            .all(|platform| platform.devices.is_empty())
        {
            script.devices().push(Device::new(PI_DEVICE_TYPE_GPU, "Mock GPU"));
        }
        Ok(script)
    }
}

impl Device {
    fn new(kind: pi_device_type, name: &str) -> Device {
        Device {
            kind,
            name: name.to_owned(),
            takes: Vec::new(),
            parts: Vec::new(),
            info: Vec::new(),
        }
    }
}

impl Script {
    fn last_platform(&mut self) -> &mut Platform {
        if self.platforms.is_empty() {
            self.platform("Mock");
        }
        let last = self.platforms.len() - 1;
        &mut self.platforms[last]
    }

    /// The devices of the last platform.
    fn devices(&mut self) -> &mut Vec<Device> {
        &mut self.last_platform().devices
    }

    fn platform(&mut self, name: &str) {
        self.platforms.push(Platform {
            name: name.to_owned(),
            backend: PI_EXT_PLATFORM_BACKEND_UNKNOWN,
            devices: Vec::new(),
        });
    }

    fn device(&mut self) -> Result<&mut Device, &'static str> {
        self.devices().last_mut().ok_or("there is no device above it")
    }

    fn line(&mut self, words: &[&str]) -> Result<(), &'static str> {
        match *words {
            [] => {}
            ["platform", name] => self.platform(name),
            ["device", kind, name] => {
                let kind = match kind {
                    "cpu" => PI_DEVICE_TYPE_CPU,
                    "gpu" => PI_DEVICE_TYPE_GPU,
                    "acc" => PI_DEVICE_TYPE_ACC,
                    _ => return Err("a device is a cpu, a gpu or an acc"),
                };
                self.devices().push(Device::new(kind, name));
            }
            ["backend", name] => self.last_platform().backend = backend(name)?,
            ["takes", ref targets @ ..] => {
                let targets = targets.iter().map(|name| Target::named(name));
                self.device()?.takes.extend(targets);
            }
            ["parts", ref counts @ ..] => {
                let counts: Result<_, _> = counts.iter().map(|count| count.parse()).collect();
                self.device()?.parts = counts.map_err(|_| "parts are numbers, one for each level")?;
            }
            ["info", name, value] => {
                let name =
                    device_info(name).ok_or("a query is one of PI_DEVICE_INFO_, or 0x and its number")?;
                self.device()?.info.push((name, info(value)));
            }
            ["kernel", name] => self.kernels.push(Kernel {
                name: name.to_owned(),
                arguments: 0,
                fills: None,
            }),
            ["kernel", name, arguments, ref fills @ ..] => {
                let number = |text: &str| {
                    text.parse::<u32>()
                        .map_err(|_| "a kernel's name is followed by numbers")
                };
                let fills = match *fills {
                    [] => None,
                    [argument, byte] => {
                        let byte = byte
                            .parse()
                            .map_err(|_| "a buffer is filled with a byte, 0 to 255")?;
                        Some((number(argument)?, byte))
                    }
                    _ => return Err("a kernel fills one buffer with one byte"),
                };
                self.kernels.push(Kernel {
                    name: name.to_owned(),
                    arguments: number(arguments)?,
                    fills,
                });
            }
            ["variable", name, size] => {
                let size = size.parse().map_err(|_| "a variable has a size in bytes")?;
                self.variables.push((name.to_owned(), size));
            }
            ["unresolved", name] => self.unresolved.push(name.to_owned()),
            ["missing", name] => self.missing.push(function(name)?),
            [effect, place, ref details @ ..] => {
                let (place, number) = place_of(place)?;
                let effect = effect_of(effect, details)?;
                self.faults.push(Fault {
                    place,
                    number,
                    effect,
                });
            }
            _ => return Err("no line begins like this"),
        }
        Ok(())
    }
}

fn function(name: &str) -> Result<Function, &'static str> {
    Function::from_name(name).ok_or("the interface has no such function")
}

fn backend(name: &str) -> Result<pi_platform_backend, &'static str> {
    Ok(match name {
        "LEVEL_ZERO" => PI_EXT_PLATFORM_BACKEND_LEVEL_ZERO,
        "OPENCL" => PI_EXT_PLATFORM_BACKEND_OPENCL,
        "CUDA" => PI_EXT_PLATFORM_BACKEND_CUDA,
        "HIP" => PI_EXT_PLATFORM_BACKEND_HIP,
        "NATIVE_CPU" => PI_EXT_PLATFORM_BACKEND_NATIVE_CPU,
        _ => return Err("a backend is one of PI_EXT_PLATFORM_BACKEND_"),
    })
}

fn place_of(text: &str) -> Result<(Place, Option<usize>), &'static str> {
    let (name, number) = match text.split_once('#') {
        Some((name, number)) => {
            let number = number
                .parse()
                .map_err(|_| "a `#` is followed by the number of a call")?;
            (name, Some(number))
        }
        None => (text, None),
    };
    let place = match name {
        "any" => Place::Any,
        "launch" => Place::Launch,
        "piPluginInit" => Place::SetUp,
        name => Place::Call(function(name)?),
    };
    Ok((place, number))
}

fn effect_of(name: &str, details: &[&str]) -> Result<Effect, &'static str> {
    Ok(match (name, details) {
        ("fail", [code]) => Effect::Fail(result(code)?, "the script says so".to_owned()),
        ("fail", [code, words]) => Effect::Fail(result(code)?, (*words).to_owned()),
        ("delay", [milliseconds]) => {
            let milliseconds = milliseconds.parse().map_err(|_| "a delay is in milliseconds")?;
            Effect::Delay(Duration::from_millis(milliseconds))
        }
        ("hang", []) => Effect::Hang,
        ("crash", []) => Effect::Crash,
        ("exit", [code]) => Effect::Exit(code.parse().map_err(|_| "an exit code is a number")?),
        ("eat", []) => Effect::Eat,
        _ => return Err("what goes wrong is `fail`, `delay`, `hang`, `crash`, `exit` or `eat`"),
    })
}

fn result(name: &str) -> Result<pi_result, &'static str> {
    let number = || name.parse().map(pi_result).ok();
    pi_result::from_name(name)
        .or_else(number)
        .ok_or("a failure is a code such as PI_OUT_OF_RESOURCES")
}

fn device_info(name: &str) -> Option<pi_device_info> {
    match name.strip_prefix("0x") {
        Some(number) => u32::from_str_radix(number, 16).ok(),
        None => {
            let is_named = |(known, _): &&(&str, u64)| known.strip_prefix("PI_DEVICE_INFO_") == Some(name);
            let (_, number) = constant_names("pi_device_info").iter().find(is_named)?;
            u32::try_from(*number).ok()
        }
    }
}

fn info(value: &str) -> Info {
    let wide = value
        .strip_suffix("u64")
        .and_then(|number| number.parse::<u64>().ok());
    match (wide, value.parse::<u32>()) {
        (Some(number), _) => number.into(),
        (_, Ok(number)) => number.into(),
        _ => value.into(),
    }
}

/// The words of a line, without its comment.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut is_quoted) = (Vec::new(), None::<String>, false);
    for character in line.chars() {
        match character {
            '"' => {
                is_quoted = !is_quoted;
                // Two quotes with nothing between them are a word as well.
                word.get_or_insert_default();
            }
            // Within a word it stands before the number of a call, as in `piProgramBuild#2`.
            '#' if !is_quoted && word.is_none() => break,
            character if character.is_whitespace() && !is_quoted => words.extend(word.take()),
            character => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}
