//! Errors as C sees them.

use std::error::Error as StdError;
use std::ffi::{CString, c_char, c_int};
use std::fmt::Write;

use offkit_pi::ffi::*;
use offkit_pi::host::PiError;
use offkit_runtime::{
    BuildError, BundleError, ChoiceError, CollectError, DeviceError, ImageError, KernelNameError,
    LaunchError, SelectError,
};

use crate::c::{In, Owned, c_text, free};

/// `offkit_code`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Code {
    Success = 0,
    Invalid = 1,
    NoDevice = 2,
    NotFound = 3,
    Ambiguous = 4,
    Unresolved = 5,
    Incompatible = 6,
    Read = 7,
    Format = 8,
    State = 9,
    Build = 10,
    Argument = 11,
    Device = 12,
    Memory = 13,
    Unsupported = 14,
    Withdrawn = 15,
    Internal = 16,
}

/// `offkit_error`.
pub(crate) struct Error {
    code: Code,
    message: CString,
}

/// What went wrong, before C is told.
pub(crate) struct Failure {
    code: Code,
    message: String,
}

impl Failure {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(Code::Invalid, message)
    }

    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// The same as a part of something larger that failed.
    pub(crate) fn within(self, what: &str) -> Self {
        Self::new(self.code, format!("{what}: {}", self.message))
    }

    /// An error with all that led to it.
    pub(crate) fn of(code: Code, error: &dyn StdError) -> Self {
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(cause) = source {
            // Writing to a text never fails.
            let _ = write!(message, ": {cause}");
            source = cause.source();
        }
        Self { code, message }
    }
}

impl From<Failure> for Error {
    fn from(Failure { code, message }: Failure) -> Self {
        Self {
            code,
            message: c_text(&message),
        }
    }
}

/// Which code an error is.
trait Coded: StdError {
    fn code(&self) -> Code;
}

impl Coded for PiError {
    fn code(&self) -> Code {
        match self.result() {
            PI_OUT_OF_HOST_MEMORY | PI_OUT_OF_RESOURCES | PI_MEM_OBJECT_ALLOCATION_FAILURE => Code::Memory,
            // What the caller has passed, and can pass otherwise.
            PI_INVALID_VALUE
            | PI_INVALID_CONTEXT
            | PI_INVALID_DEVICE
            | PI_INVALID_BUFFER_SIZE
            | PI_INVALID_DEVICE_PARTITION_COUNT
            | PI_MEM_COPY_OVERLAP => Code::Invalid,
            PI_INVALID_OPERATION
            | PI_DEVICE_PARTITION_FAILED
            | PI_UNSUPPORTED_FEATURE
            | PI_COMPILER_NOT_AVAILABLE
            | PI_LINKER_NOT_AVAILABLE => Code::Unsupported,
            _ => Code::Device,
        }
    }
}

impl Coded for DeviceError {
    fn code(&self) -> Code {
        Code::NoDevice
    }
}

impl Coded for ImageError {
    fn code(&self) -> Code {
        match self {
            Self::Withdrawn => Code::Withdrawn,
            Self::Damaged { .. } => Code::Format,
            _ => Code::Read,
        }
    }
}

impl Coded for SelectError {
    fn code(&self) -> Code {
        match self {
            Self::NoneFits { .. } | Self::NotLinked { .. } => Code::Incompatible,
            Self::Ambiguous { .. } => Code::Ambiguous,
            Self::Image(error) => error.code(),
            _ => Code::Device,
        }
    }
}

impl Coded for CollectError {
    fn code(&self) -> Code {
        match self {
            Self::Image(error) => error.code(),
            Self::Select(error) => error.code(),
            Self::SeveralExporters { .. } | Self::Clash { .. } => Code::Ambiguous,
            _ => Code::Unresolved,
        }
    }
}

impl Coded for BuildError {
    fn code(&self) -> Code {
        match self {
            Self::Missing(error) => error.code(),
            _ => Code::Build,
        }
    }
}

impl Coded for LaunchError {
    fn code(&self) -> Code {
        match self {
            Self::Device { source, .. } => source.code(),
            Self::TimedOut { .. } => Code::Device,
            _ => Code::Argument,
        }
    }
}

impl Coded for BundleError {
    fn code(&self) -> Code {
        match self {
            Self::Read { .. } => Code::Read,
            Self::NotSyclBin { .. } | Self::NotSpirv { .. } | Self::Write(_) => Code::Format,
            Self::State { .. } => Code::State,
            Self::Unable { .. } => Code::Unsupported,
            Self::NotExported { .. } => Code::Unresolved,
            Self::SeveralExporters { .. } | Self::SeveralGlobals { .. } => Code::Ambiguous,
            Self::Build(error) => error.code(),
            Self::Select(error) => error.code(),
            Self::Image(error) => error.code(),
            Self::NoKernel { .. } | Self::NoConstant { .. } | Self::NoGlobal { .. } => Code::NotFound,
            Self::Global { .. } => Code::Device,
            _ => Code::Invalid,
        }
    }
}

macro_rules! coded {
    ($($error:ty),*) => {$(
        impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Failure::of(error.code(), &error)
            }
        }
    )*};
}

coded!(
    PiError,
    DeviceError,
    ImageError,
    SelectError,
    CollectError,
    BuildError,
    LaunchError,
    BundleError
);

impl From<ChoiceError> for Failure {
    fn from(error: ChoiceError) -> Self {
        let mut failure = match &error {
            ChoiceError::Device(error) => return error.clone().into(),
            ChoiceError::Select(error) => Failure::of(error.code(), error),
            other => Failure::of(Code::Incompatible, other),
        };
        // A device's reasons are no source of the error, of which there could be one alone.
        if let ChoiceError::NoneTakes { reasons, .. } = &error {
            for reason in reasons {
                let _ = write!(failure.message, "\n{reason}");
            }
        }
        failure
    }
}

impl From<KernelNameError> for Failure {
    fn from(error: KernelNameError) -> Self {
        let mut failure = match &error {
            KernelNameError::NotFound { .. } => Failure::of(Code::NotFound, &error),
            _ => Failure::of(Code::Ambiguous, &error),
        };
        if let KernelNameError::NotFound { similar, .. } = &error
            && !similar.is_empty()
        {
            let _ = write!(
                failure.message,
                "; there are {}",
                offkit_object::backquoted(similar)
            );
        }
        failure
    }
}

#[unsafe(no_mangle)]
extern "C" fn offkit_error_code(error: In<'_, Error>) -> c_int {
    error.map_or(Code::Success, |error| error.code) as c_int
}

#[unsafe(no_mangle)]
extern "C" fn offkit_error_message(error: In<'_, Error>) -> *const c_char {
    error.map_or(c"".as_ptr(), |error| error.message.as_ptr())
}

#[unsafe(no_mangle)]
extern "C" fn offkit_error_free(error: Owned<Error>) {
    free(error);
}
