//! What the bytes of an image say: data that a reader of its format fills in.

use std::borrow::Cow;
use std::fmt;

use crate::error::Error;
use crate::resources::Resources;
use crate::target::Target;

/// What an image's own bytes say.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Inspection {
    /// What the code was compiled for, as far as the bytes tell.
    pub target: Target,
    /// The version of the format, such as `1.4` of SPIR-V or `8.4` of PTX.
    pub version: Option<String>,
    /// The tool that wrote the image, as it calls itself.
    pub producer: Option<String>,
    /// What can be launched, in the order of the image.
    pub kernels: Vec<InspectedKernel>,
    /// Symbols that another image must define. Left out is what the device or its driver supplies by rule: names
    /// that start with `__spirv_` or `llvm.`, and what is open in an image that is linked already.
    pub imports: Vec<String>,
    /// Symbols that another image may define, and that are null otherwise.
    pub weak_imports: Vec<String>,
    /// Symbols that other images may use; no kernels, and not the copies that clang makes of these
    /// (`__clang_ocl_kern_imp_…`).
    pub exports: Vec<String>,
    /// The abilities that the code needs of a device, by SYCL's numbers: of SPIR-V, those that its capabilities mean.
    pub aspects: Vec<u32>,
    /// What else there is to say, in an order made for reading.
    pub details: Vec<Detail>,
    /// What is wrong with the image.
    pub problems: Vec<Error>,
}

impl Inspection {
    /// The names of the kernels, in order.
    pub fn kernel_names(&self) -> impl Iterator<Item = &str> {
        self.kernels.iter().map(|kernel| kernel.name.as_str())
    }
}

/// A kernel, and what the image says about it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InspectedKernel {
    /// The name it is launched by.
    pub name: String,
    /// What it takes of a device.
    pub resources: Resources,
    /// Facts such as the number of registers, in an order made for reading.
    pub details: Vec<Detail>,
}

impl InspectedKernel {
    /// A kernel of which nothing is known but its name.
    #[must_use]
    pub fn new(name: String) -> Self {
        Self {
            name,
            resources: Resources::default(),
            details: Vec::new(),
        }
    }

    /// How many arguments it takes, where the image says so.
    #[must_use]
    pub fn argument_count(&self) -> Option<usize> {
        let detail = |name| self.details.iter().find(|detail| detail.name == name);
        match detail("arguments")
            .or_else(|| detail("argument sizes"))
            .map(|detail| &detail.value)
        {
            Some(DetailValue::Number(count)) => usize::try_from(*count).ok(),
            // `split` makes one piece of an empty text, which would be one argument.
            Some(DetailValue::Text(sizes)) if sizes.is_empty() => Some(0),
            Some(DetailValue::Text(sizes)) => Some(sizes.split(',').count()),
            None => None,
        }
    }

    /// How many bytes each argument has, where the image says so.
    #[must_use]
    pub fn argument_sizes(&self) -> Option<Vec<usize>> {
        let detail = self
            .details
            .iter()
            .find(|detail| detail.name == "argument sizes")?;
        let DetailValue::Text(sizes) = &detail.value else {
            return None;
        };
        let sizes = sizes.split(',').map(str::trim).filter(|size| !size.is_empty());
        sizes.map(|size| size.parse().ok()).collect()
    }

    /// Adds a fact.
    pub fn add(&mut self, name: impl Into<Cow<'static, str>>, value: impl Into<DetailValue>) {
        self.details.push(Detail {
            name: name.into(),
            value: value.into(),
        });
    }
}

/// A fact with its name, such as `registers` and 32.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detail {
    /// What the fact is about, in lower case.
    pub name: Cow<'static, str>,
    /// The fact.
    pub value: DetailValue,
}

/// The value of a [`Detail`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DetailValue {
    /// A count, or a size in bytes.
    Number(u64),
    /// Anything else.
    Text(String),
}

impl From<u64> for DetailValue {
    fn from(number: u64) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for DetailValue {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<String> for DetailValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for DetailValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl fmt::Display for DetailValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}
