//! Kernels and parameters as people read them.

use std::fmt::{self, Display, Formatter};

use crate::kernel::{Kernel, Parameter, ParameterKind, Storage};

impl Kernel {
    /// The name and the types of the parameters: `saxpy(f32, global const f32*, global f32*)`.
    pub fn signature(&self) -> String {
        let parameters: Vec<_> = self.parameters.iter().map(Parameter::to_string).collect();
        format!("{}({})", self.name, parameters.join(", "))
    }
}

impl Parameter {
    /// What a message calls the parameter with this number, counted from 0: ``argument 1 (`x`)``.
    pub fn label(&self, index: usize) -> String {
        match &self.name {
            Some(name) => format!("argument {index} (`{name}`)"),
            None => format!("argument {index}"),
        }
    }

    /// What has to be given for it: `a value of 16 bytes`, `a pointer to global memory`.
    pub fn expects(&self) -> String {
        match &self.kind {
            ParameterKind::Pointer {
                storage: Storage::Local,
                ..
            } => "a size of local memory".to_owned(),
            ParameterKind::Pointer {
                storage: Storage::Constant,
                ..
            } => "a pointer to constant memory".to_owned(),
            ParameterKind::Pointer { .. } => "a pointer to global memory".to_owned(),
            ParameterKind::ByValue { .. }
            | ParameterKind::Struct { .. }
            | ParameterKind::Scalar(_)
            | ParameterKind::Vector { .. } => format!("a value of {} bytes", self.size),
            ParameterKind::Other(_) if self.size > 0 => format!("a value of {} bytes", self.size),
            _ => self.to_string(),
        }
    }
}

/// Its type: `f32`, `global const f32*`, `struct S of 12 bytes`.
impl Display for Parameter {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ParameterKind::Pointer { storage, pointee } => {
                let storage = match storage {
                    Storage::Global if self.read_only => "global const",
                    Storage::Global => "global",
                    Storage::Constant => "constant",
                    Storage::Local => "local",
                    Storage::Generic => "generic",
                };
                write!(formatter, "{storage} {}*", pointee.name)
            }
            ParameterKind::ByValue { value } | ParameterKind::Struct { value } => {
                write!(formatter, "{} of {} bytes", value.name, self.size)
            }
            ParameterKind::Scalar(scalar) => scalar.fmt(formatter),
            ParameterKind::Vector { component, count } => write!(formatter, "{component}x{count}"),
            ParameterKind::Image { .. } => formatter.write_str("an image"),
            ParameterKind::Sampler => formatter.write_str("a sampler"),
            ParameterKind::Pipe => formatter.write_str("a pipe"),
            ParameterKind::Event | ParameterKind::DeviceEvent => formatter.write_str("an event"),
            ParameterKind::Queue => formatter.write_str("a queue"),
            ParameterKind::Other(name) => formatter.write_str(name),
        }
    }
}
