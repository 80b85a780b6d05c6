//! `clang-sycl-linker`: bitcode for SYCL devices linked into one SPIR-V image, in an offload binary.
//!
//! The code is generated as LLVM's tool does: all of the linked module, not optimised. Three things are otherwise,
//! on purpose: an input that is not there is an error, `--dry-run` writes nothing, and the SPIR-V file beside the
//! output is left there only with `--save-temps`.

mod compiler;
mod link;

use std::ffi::OsString;
use std::path::PathBuf;

use offkit_host::files;
use offkit_llvm::Source;
use offkit_object::{BundleState, DeviceImage, ImageFormat, OffloadBinaryVersion, OutputFormat, Producer};

use crate::failure::{Failure, File};
use crate::options::CommandLine;
use compiler::Names;
pub(crate) use link::Error;

pub(crate) const COMMAND_LINE: CommandLine<Options<'static>> = CommandLine {
    tool: "clang-sycl-linker",
    overview:
        "Links bitcode for SYCL devices and generates SPIR-V, or native code for Intel's devices with Intel's
compilers.",
    usage: "[options] <bitcode files>",
    options: options![o: Options<'static>;
        "arch" = "<arch>" => o.arch, "The device's architecture";
        "device-libs" = "<value>" => o.device_libraries, "Device libraries, separated by commas; what is needed of them is linked";
        "dry-run" => o.dry_run, "Print what would be done, and do none of it";
        "library-path" = "<dir>" => o.library_path, "The folder of the device libraries";
        "ocloc-options" = "<value>" => o.ocloc, "Options for ocloc, which compiles for Intel's GPUs";
        "opencl-aot-options" = "<value>" => o.opencl_aot, "Options for opencl-aot, which compiles for Intel's CPUs";
        "o" = "<path>" => o.output, "The file to write";
        "print-linked-module" => o.print, "Print the linked module in LLVM's text form";
        "save-temps" => o.save_temps, "Keep intermediate files";
        "spirv-dump-device-code" = "<dir>" => o.dump, "A folder that also gets the SPIR-V";
        "triple" = "<triple>" => o.triple, "The target triple of the device";
        "v" => o.verbose, "Print what is done";
    ],
    positional: |options, file| options.inputs.push(Source::file(file)),
    positionals: 0..=usize::MAX,
    missing: |_| None,
};

/// What to link, and how.
#[derive(Default)]
pub(crate) struct Options<'a> {
    pub(crate) inputs: Vec<Source<'a>>,
    /// What intermediate files are named after.
    pub(crate) output: Option<PathBuf>,
    pub(crate) triple: Option<String>,
    pub(crate) arch: String,
    device_libraries: Option<String>,
    library_path: PathBuf,
    ocloc: String,
    opencl_aot: String,
    dump: Option<PathBuf>,
    dry_run: bool,
    print: bool,
    save_temps: bool,
    verbose: bool,
}

/// Runs as the tool.
pub(crate) fn run(arguments: Vec<OsString>) -> Result<String, Failure> {
    COMMAND_LINE.run(arguments, Options::default(), |options| {
        options.run().map_err(Failure::error)
    })
}

impl Options<'_> {
    /// Does what is asked, and returns what is to be printed.
    fn run(&self) -> Result<String, Error> {
        let output = self.output.as_deref().ok_or(Error::NoOutput)?;
        self.check()?;
        let libraries = self.libraries()?;
        let names = Names::new(self, output);
        if self.verbose || self.dry_run {
            let listed = |modules: &[Source<'_>]| {
                let names: Vec<_> = modules.iter().map(|module| module.name.as_str()).collect();
                names.join(", ")
            };
            let (linked, spirv) = (names.linked.display(), names.spirv.display());
            say!(
                "sycl-device-link: inputs: {} libfiles: {} output: {linked}",
                listed(&self.inputs),
                listed(&libraries),
            );
            say!("SPIR-V Backend: input: {linked}, output: {spirv}");
        }
        if self.dry_run {
            // To print the module it has to be linked, which writes nothing.
            let text = match self.print {
                true => self.open(&libraries)?.text()?,
                false => String::new(),
            };
            if let Some(compiler) = self.compiler(&names) {
                say!("{compiler}");
            }
            return Ok(text);
        }
        // Told before the work, and not after it.
        files::check_output(output).map_err(File)?;
        let mut linked = self.open(&libraries)?;
        let text = match self.print {
            true => linked.text()?,
            false => String::new(),
        };
        let image = linked.image(self, &names)?;
        files::write(output, &[&offload_binary(image)?]).map_err(File)?;
        Ok(text)
    }

    /// Links, and returns the image that [`run`] would write.
    pub(crate) fn link(&self) -> Result<DeviceImage<'static>, Error> {
        let output = self.output.as_deref().ok_or(Error::NoOutput)?;
        self.check()?;
        let names = Names::new(self, output);
        self.open(&self.libraries()?)?.image(self, &names)
    }
}

/// The offload binary with an image, as the original writes it, which never says what kind of image it is.
fn offload_binary(mut image: DeviceImage<'_>) -> Result<Vec<u8>, Error> {
    image.format = ImageFormat::Unknown;
    image.producer = Producer::Sycl;
    let format = OutputFormat::OffloadBinary(OffloadBinaryVersion::V1);
    Ok(offkit_object::pack([image], format, BundleState::Executable)?
        .content
        .into_bytes())
}
