//! What is linked as what a runtime takes: images of one language in one container or one object.

use std::borrow::Cow;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use offkit_host::files;
use offkit_image::target::{Family, HostCpu, amd, triples};
use offkit_link::wrap::{Wrap, WrapError, WrapKind};
use offkit_llvm::Worker;
use offkit_object::host::intel_openmp_elf;
use offkit_object::{
    BundleState, DeviceImage, ImageFormat, OffloadBinaryVersion, OutputFormat, Producer, Target,
    header_target,
};

use super::commands::Commands;
use super::device_link::{ImageFile, Linked};
use super::error::{Error, Result};
use super::file_name;
use super::options::Options;
use crate::failure::File;
use crate::offload_bundler::{self, HipBundle};

/// Makes containers and objects.
pub(super) struct Bundler<'a> {
    pub(super) options: &'a Options,
    pub(super) commands: &'a Commands,
    pub(super) executable: &'a str,
    pub(super) host: &'a str,
}

/// The images of one language.
struct Language {
    producer: Producer,
    images: Vec<ImageFile>,
}

/// What says of an ELF file that it is one of 64 bits.
const ELF_CLASS_64: u8 = 2;

impl Bundler<'_> {
    /// The objects that register the images, one for each language; none if containers are all that is wanted.
    pub(super) fn bundle(&self, linked: Vec<Linked>) -> Result<Vec<PathBuf>> {
        let mut languages: Vec<Language> = Vec::new();
        let mut add = |producer, images| match languages.iter_mut().find(|other| other.producer == producer) {
            Some(language) => language.images.extend(images),
            None => languages.push(Language { producer, images }),
        };
        for (producer, image) in self.overrides()? {
            add(producer, vec![image]);
        }
        for linked in linked {
            // Most code is for one language only.
            let Some((last, others)) = linked.producers.split_last() else {
                continue;
            };
            for producer in others {
                add(*producer, linked.images.clone());
            }
            add(*last, linked.images);
        }
        let mut objects = Vec::new();
        // Code without regions or kernels was linked into nothing: there is nothing to register
        // then.
        languages.retain(|language| !language.images.is_empty());
        for Language { producer, mut images } in languages {
            // As in the original: what is written does not depend on the order of the inputs.
            images.sort_by(|a, b| b.image.target.cmp(&a.image.target));
            let images = self.container(producer, images)?;
            if self.options.fatbin_only {
                self.write_container(producer, &images)?;
            } else {
                objects.push(self.object(producer, images)?);
            }
        }
        Ok(objects)
    }

    /// The files that are used instead of what would be linked.
    fn overrides(&self) -> Result<Vec<(Producer, ImageFile)>> {
        let mut images = Vec::new();
        for (kind, file) in &self.options.overrides {
            let producer = Producer::from_clang_name(kind)
                .filter(|producer| *producer != Producer::None)
                .ok_or_else(|| Error::OffloadKind(kind.clone()))?;
            let bytes = std::fs::read(file).map_err(|error| Error::Override {
                file: file.clone(),
                error,
            })?;
            if !bytes.starts_with(b"\x7fELF") {
                return Err(Error::NotElf(file.clone()));
            }
            let mut image = DeviceImage::new(bytes);
            image.target = header_target(image.bytes()?, image.format);
            if image.target.triple.is_empty()
                && let &[_, _, _, _, class, ..] = image.bytes()?
                && let Some(&machine) = image.bytes()?.get(18..).and_then(|rest| rest.first_chunk())
                && let Some(cpu) = HostCpu::of_elf(u16::from_le_bytes(machine), class == ELF_CLASS_64, false)
            {
                // As LLVM reads it in the file's header, which says no more.
                image.target.triple = format!("{}--", cpu.name()).into();
                image.strings.set("triple", image.target.triple.to_string());
            }
            let file = file.clone();
            images.push((
                producer,
                ImageFile {
                    image,
                    file,
                    is_written: true,
                },
            ));
        }
        Ok(images)
    }

    /// The images as their runtime wants them: CUDA's and HIP's in one container.
    fn container(&self, producer: Producer, images: Vec<ImageFile>) -> Result<Vec<DeviceImage<'static>>> {
        let container = match producer {
            Producer::Cuda => self.fatbinary(&images)?,
            Producer::Hip => self.bundle_of_hip(&images)?,
            _ => {
                let mut images: Vec<_> = images.into_iter().map(|image| image.image).collect();
                if producer == Producer::OpenMp && !self.commands.is_dry() {
                    for image in images.iter_mut().filter(|image| is_intels_spirv(&image.target)) {
                        image.code = intel_openmp_elf(image.bytes()?)?.into();
                        image.format = ImageFormat::Elf;
                    }
                }
                return Ok(images);
            }
        };
        Ok(vec![DeviceImage::new(container)])
    }

    /// What NVIDIA's program makes of the images.
    fn fatbinary(&self, images: &[ImageFile]) -> Result<Vec<u8>> {
        let folder = self.options.cuda_path.iter().map(|path| path.join("bin"));
        let program = self.commands.find("fatbinary", &folder.collect::<Vec<_>>())?;
        let output = self.commands.file(&file_name(self.executable), "fatbin")?;
        let is_64 = match Family::of(self.host) {
            Family::Host(cpu) => cpu.is_64(),
            _ => true,
        };
        let mut arguments = vec![
            if is_64 { "-64".into() } else { "-32".into() },
            "--create".into(),
            output.clone().into_os_string(),
        ];
        for image in images {
            // NVIDIA's program reads files, and what was linked here is in memory.
            if !image.is_written {
                self.commands.write(&image.file, image.image.bytes()?)?;
            }
            let number = image.image.target.processor_number();
            arguments.push(format!("--image3=kind=elf,sm={number},file={}", image.file.display()).into());
        }
        self.commands.run(&program, &arguments)?;
        self.commands.read(&output)
    }

    /// What `clang-offload-bundler` would make of the images, and is said to.
    fn bundle_of_hip(&self, images: &[ImageFile]) -> Result<Vec<u8>> {
        let output = self.commands.file(&file_name(self.executable), "hipfb")?;
        let entries = images.iter().map(|ImageFile { image, .. }| {
            let triple = match image.target.arch.as_str() {
                amd::SPIRV_PROCESSOR => triples::SPIRV64_AMD,
                _ => triples::AMDHSA,
            };
            let id = format!("hip-{triple}--{}", image.target.arch_with_features());
            Ok((id, image.bytes()?))
        });
        let bundle = HipBundle {
            entries: entries.collect::<Result<_>>()?,
            compress: self.options.compress,
            level: self.options.compression_level,
        };
        let files: Vec<_> = images.iter().map(|image| image.file.as_path()).collect();
        self.commands
            .show("clang-offload-bundler".as_ref(), &bundle.command(&files, &output));
        if self.commands.is_dry() {
            return Ok(Vec::new());
        }
        let bundle = offload_bundler::hip_bundle(&bundle)?;
        self.commands.keep(&output, &bundle)?;
        Ok(bundle)
    }

    /// Writes the only container in the place of the program.
    fn write_container(&self, producer: Producer, images: &[DeviceImage<'_>]) -> Result<()> {
        let [image] = images else {
            return Err(Error::SeveralContainers);
        };
        if self.commands.is_dry() {
            return Ok(());
        }
        let container = match producer {
            Producer::OpenMp => {
                let mut image = image.clone();
                image.producer = producer;
                // What the original says of all images, known or not.
                let arch = image.target.arch_with_features();
                image.strings.set("triple", image.target.triple.to_string());
                image.strings.set("arch", arch);
                image.format = match self.options.embed_bitcode {
                    true => ImageFormat::Bitcode,
                    false => ImageFormat::Elf,
                };
                let format = OutputFormat::OffloadBinary(OffloadBinaryVersion::V1);
                let packed = offkit_object::pack([image], format, BundleState::Executable)?;
                Cow::Owned(packed.content.into_bytes())
            }
            _ => Cow::Borrowed(image.bytes()?),
        };
        Ok(files::write(Path::new(self.executable), &[&container]).map_err(File)?)
    }

    /// An object that registers the images.
    fn object(&self, producer: Producer, images: Vec<DeviceImage<'_>>) -> Result<PathBuf> {
        let name = format!("{}.{}.image.wrapper", file_name(self.executable), producer.name());
        let path = self.commands.file(&name, "o")?;
        if self.commands.is_dry() && !self.options.print_module {
            return Ok(path);
        }
        let mut wrap = Wrap::new(match producer {
            Producer::OpenMp => WrapKind::OpenMp,
            Producer::Cuda => WrapKind::Cuda,
            Producer::Hip => WrapKind::Hip,
            Producer::Sycl => self.sycl_kind()?,
            other => return Err(Error::NotWrapped(other)),
        });
        self.host.clone_into(&mut wrap.host_triple);
        wrap.relocatable = self.options.relocatable;
        if self.options.print_module {
            let mut worker = Worker::start().map_err(WrapError::from)?;
            let module = wrap.module(images.clone(), &mut worker)?;
            let _ = io::stderr().write_all(module.as_bytes());
        }
        if !self.commands.is_dry() {
            self.commands.write(&path, &wrap.run(images)?)?;
        }
        Ok(path)
    }

    fn sycl_kind(&self) -> Result<WrapKind> {
        let Some(name) = &self.options.sycl_images else {
            return Ok(WrapKind::SyclLlvm);
        };
        name.parse()
            .map_err(|reason: <WrapKind as std::str::FromStr>::Err| Error::SyclImages {
                name: name.clone(),
                reason: reason.to_string(),
            })
    }
}

/// Intel's runtime does not take SPIR-V as it is.
fn is_intels_spirv(target: &Target) -> bool {
    target.family().is_spirv() && target.parts().vendor() == "intel"
}
