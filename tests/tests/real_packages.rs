//! Device code in libraries as vendors ship them, and in fatbins that CUDA's own tools make.

use std::collections::BTreeMap;
use std::path::Path;

use offkit_object::{
    Compression, ContainerKind, Contents, DeviceImage, ErrorKind, ImageFormat, Limits, Location, Producer,
};
use offkit_tests::Folder;
use offkit_tests::cuda::{Cuda, lto_ir};
use offkit_tests::packages::{Package, System};

const DPCTL: Package = Package {
    name: "dpctl==0.22.1",
    python: "3.11",
};
const DPNP: Package = Package {
    name: "dpnp==0.20.0",
    python: "3.11",
};
const BITSANDBYTES: Package = Package {
    name: "bitsandbytes==0.50.2",
    python: "3.11",
};

/// Reads a library that must be in order.
fn read(bytes: &[u8]) -> Contents<'_> {
    let contents = offkit_object::read("lib.so", bytes, &Limits::default());
    assert_eq!(contents.problems, []);
    contents
}

/// The numbers of descriptors or fatbins, images and entries.
fn counts(images: &[DeviceImage<'_>]) -> [usize; 3] {
    let mut outer: Vec<_> = images
        .iter()
        .map(|image| {
            let depth = image.location.depth();
            image.location.parts().take(depth - 1).collect::<Vec<_>>()
        })
        .collect();
    outer.dedup();
    let entries = images.iter().flat_map(|image| &image.entries).flatten();
    [outer.len(), images.len(), entries.count()]
}

#[test]
fn sycl_libraries_have_every_image_that_their_runtime_registers() {
    let libraries = [
        (DPNP, "/_blas_impl.cpython-311-x86_64-linux-gnu.so", [1, 12, 12]),
        (DPNP, "/libdpnp_backend_c.so", [1, 59, 59]),
        (
            DPNP,
            "/_indexing_impl.cpython-311-x86_64-linux-gnu.so",
            [1, 448, 448],
        ),
        (DPCTL, "/_sycl_queue.cpython-311-x86_64-linux-gnu.so", [1, 1, 0]),
    ];
    for (package, file, expected) in libraries {
        let Some(path) = package.file(file) else { return };
        let bytes = std::fs::read(path).unwrap();
        let contents = read(&bytes);
        assert_eq!(counts(&contents.images), expected, "{file}");
        for image in &contents.images {
            assert_eq!(image.container, ContainerKind::SyclWrapped);
            assert_eq!(image.container_version, Some(3));
            assert_eq!(
                (image.producer, image.format),
                (Producer::Sycl, ImageFormat::Spirv)
            );
            assert_eq!(image.target.to_string(), "spir64");
            assert_eq!(image.entries.as_ref(), Some(&image.kernels), "{}", image.location);
            let aspects = image.properties.get("SYCL/device requirements", "aspects");
            assert!(aspects.is_some_and(|aspects| aspects.as_u32s().is_some()));
        }
    }
}

#[test]
fn libraries_for_windows_have_theirs_too() {
    let Some(path) = DPCTL.file_for(System::Windows, "/_seq_order_keeper.cp311-win_amd64.pyd") else {
        return;
    };
    let bytes = std::fs::read(path).unwrap();
    let contents = read(&bytes);
    assert_eq!(counts(&contents.images), [1, 1, 1]);
    let image = &contents.images[0];
    assert_eq!(image.container, ContainerKind::SyclWrapped);
    assert_eq!((image.format, image.kernels.len()), (ImageFormat::Spirv, 1));
    assert_eq!(image.entries.as_ref(), Some(&image.kernels));
}

#[test]
fn compressed_images_for_several_targets_come_out() {
    for (file, version, expected) in [
        ("/libbitsandbytes_xpu2025.so", 2, [2, 6, 28]),
        ("/libbitsandbytes_xpu2026.so", 3, [2, 8, 28]),
    ] {
        let Some(path) = BITSANDBYTES.file(file) else {
            return;
        };
        let bytes = std::fs::read(path).unwrap();
        let contents = read(&bytes);
        assert_eq!(counts(&contents.images), expected, "{file}");
        for image in &contents.images {
            assert_eq!(image.container_version, Some(version));
            assert_eq!(image.compression(), Some(Compression::Zstd));
            // Code for GPUs is an archive with a member for each.
            let expected = match image.target.triple.as_str() {
                "spir64" => ImageFormat::Spirv,
                _ => ImageFormat::Archive,
            };
            assert_eq!(image.format, expected, "{}", image.location);
        }
        let ahead_of_time = |image: &&DeviceImage<'_>| image.target.triple == "spir64_gen";
        assert_eq!(contents.images.iter().filter(ahead_of_time).count(), 3);
        let imports = contents.images.iter().flat_map(|image| &image.imports);
        let exporters = contents.images.iter().filter(|image| !image.exports.is_empty());
        assert_eq!(
            (imports.count() > 0, exporters.count() > 0),
            (version == 3, version == 3)
        );
    }
}

#[test]
fn cuda_libraries_have_every_entry() {
    for (file, compression, plain) in [
        ("/libbitsandbytes_cuda118.so", Compression::Lz4, 7),
        ("/libbitsandbytes_cuda130.so", Compression::Zstd, 0),
    ] {
        let Some(path) = BITSANDBYTES.file(file) else {
            return;
        };
        let bytes = std::fs::read(path).unwrap();
        let contents = read(&bytes);
        assert_eq!(counts(&contents.images), [7, 55, 0], "{file}");
        let mut formats = BTreeMap::<_, usize>::new();
        let mut stored = BTreeMap::<_, usize>::new();
        for image in &contents.images {
            *formats.entry(image.format.name()).or_default() += 1;
            *stored.entry(image.compression()).or_default() += 1;
            assert_eq!(image.producer, Producer::Cuda);
            assert!(image.target.arch.starts_with("sm_"), "{}", image.target);
            if image.format == ImageFormat::Ptx {
                assert!(image.bytes().unwrap().ends_with(b"\0"));
                assert_eq!(image.strings.get("ptxas-options"), Some("--compile-only"));
            }
        }
        assert_eq!(formats, BTreeMap::from([("PTX", 6), ("cubin", 49)]));
        assert_eq!(stored.get(&Some(compression)), Some(&(55 - plain)));
        assert_eq!(stored.get(&None).copied().unwrap_or_default(), plain);
    }
}

/// Makes `ARCH.ptx` with a kernel that does nothing, and `ARCH.cubin` of it.
fn cubin(cuda: &Cuda, folder: &Folder, arch: &str) {
    let source = format!(
        ".version 8.8\n.target {arch}\n.address_size 64\n.visible .entry saxpy(.param .u64 p) {{ ret; }}\n"
    );
    let [ptx, cubin] = ["ptx", "cubin"].map(|extension| format!("{arch}.{extension}"));
    folder.write(&ptx, source);
    cuda.cubin(folder, &ptx, arch, &cubin, &[]);
}

/// A fatbin of such images.
fn fatbin(cuda: &Cuda, folder: &Folder, options: &[&str], images: &[(&str, &str)]) -> Vec<u8> {
    let images: Vec<_> = images
        .iter()
        .map(|(kind, arch)| {
            let extension = if *kind == "elf" { "cubin" } else { "ptx" };
            (*kind, *arch, format!("{arch}.{extension}"))
        })
        .collect();
    cuda.fatbin(folder, "out.fatbin", options, &images);
    folder.read("out.fatbin")
}

#[test]
fn fatbins_of_cuda_s_own_tool_give_back_what_went_in() {
    let Some(cuda) = Cuda::get() else { return };
    let folder = Folder::new();
    let architectures = ["sm_80", "sm_90a", "sm_100f", "sm_120"];
    for arch in architectures {
        cubin(&cuda, &folder, arch);
    }
    let images: Vec<_> = architectures
        .iter()
        .flat_map(|arch| [("elf", *arch), ("ptx", *arch)])
        .collect();
    for (mode, compression) in [
        ("none", None),
        ("size", Some(Compression::Zstd)),
        ("speed", Some(Compression::Lz4)),
    ] {
        let options = [
            "--compress-all",
            "--compress-mode",
            mode,
            "--ident=saxpy.cu",
            "--cmdline=-O3",
        ];
        let bytes = fatbin(&cuda, &folder, &options, &images);
        let contents = offkit_object::read("out.fatbin", &bytes, &Limits::default());
        assert_eq!(contents.problems, []);
        assert_eq!(contents.images.len(), images.len());
        for (image, (kind, arch)) in contents.images.iter().zip(&images) {
            assert_eq!(image.target.arch, *arch);
            assert_eq!(image.strings.get("identifier"), Some("saxpy.cu"));
            assert_eq!(image.compression(), compression, "{mode} {kind} {arch}");
            if *kind == "elf" {
                assert_eq!(
                    *image.bytes().unwrap(),
                    *folder.read(&format!("{arch}.cubin")),
                    "{mode} {arch}"
                );
            } else {
                assert_eq!(image.format, ImageFormat::Ptx);
                assert_eq!(image.strings.get("ptxas-options"), Some("-O3"));
                let text = image.bytes().unwrap().strip_suffix(b"\0").unwrap();
                assert!(text.ends_with(b"ret; }\n"), "{mode} {arch}");
            }
        }
        replace_every_cubin(&folder, &bytes, &contents);
    }
}

/// Puts the first cubin in the place of every other.
fn replace_every_cubin(folder: &Folder, bytes: &[u8], contents: &Contents<'_>) {
    let new = folder.read("sm_80.cubin");
    for image in contents
        .images
        .iter()
        .filter(|image| image.format == ImageFormat::Cubin)
    {
        let location: Location = image.location.clone();
        let changed = offkit_object::replace(bytes, &location, &new, &Limits::default()).unwrap();
        let after = offkit_object::read("out.fatbin", &changed, &Limits::default());
        let replaced = after
            .images
            .iter()
            .find(|image| image.location == location)
            .unwrap();
        assert_eq!(*replaced.bytes().unwrap(), *new);
        // Of code that is still compressed the container's word counts, else that of the bytes.
        match image.compression() {
            Some(_) => assert_eq!(replaced.target, image.target),
            None => assert_eq!(replaced.target.arch, "sm_80"),
        }
    }
}

#[test]
fn lto_ir_is_listed_and_kept_as_it_is_stored() {
    let Some(cuda) = Cuda::get() else { return };
    let folder = Folder::new();
    let source = "extern \"C\" __global__ void saxpy(float *p) { p[threadIdx.x] *= 2; }";
    let Some(code) = lto_ir(&folder, source) else {
        return;
    };
    assert_eq!(ImageFormat::detect(&code), ImageFormat::LtoIr);
    cubin(&cuda, &folder, "sm_90");
    for mode in ["none", "size", "speed"] {
        let mode_option = format!("--compress-mode={mode}");
        let lto_option = "--image3=kind=nvvm,sm=80,file=k.ltoir";
        let options = ["--compress-all", &mode_option, lto_option];
        let bytes = fatbin(&cuda, &folder, &options, &[("elf", "sm_90")]);
        let contents = read(&bytes);
        let [lto, cubin] = &contents.images[..] else {
            panic!("{mode}: two images")
        };
        assert_eq!(
            (lto.format, cubin.format),
            (ImageFormat::LtoIr, ImageFormat::Cubin)
        );
        assert_eq!(lto.target.to_string(), "nvptx64-nvidia-cuda-sm_80");
        let unpacked = lto.strings.get("unpacked-size");
        if mode == "none" {
            // Entries are whole words of 64 bits.
            let mut padded = code.clone();
            padded.resize(code.len().next_multiple_of(8), 0);
            assert_eq!((lto.stored_bytes(), unpacked), (&padded[..], None));
        } else {
            assert!(lto.stored_bytes().len() < code.len());
            assert_eq!(unpacked, Some(code.len().to_string().as_str()), "{mode}");
            let changed = offkit_object::replace(&bytes, &lto.location, &code, &Limits::default());
            assert_eq!(changed.unwrap_err().kind(), ErrorKind::Unrepresentable);
        }
        assert_eq!(
            offkit_object::verify("out.fatbin", &bytes, &Limits::default()),
            []
        );
    }
}

#[test]
fn stripped_libraries_keep_their_images() {
    let Some(objcopy) = offkit_tests::tool("llvm-objcopy") else {
        return;
    };
    let Some(library) = BITSANDBYTES.file("/libbitsandbytes_xpu2025.so") else {
        return;
    };
    let folder = Folder::new();
    let library: &Path = &library;
    folder
        .run(
            objcopy,
            [Path::new("--strip-sections"), library, Path::new("stripped.so")],
        )
        .ok();
    let bytes = folder.read("stripped.so");
    assert_eq!(counts(&read(&bytes).images), [2, 6, 28]);
}

#[test]
fn libraries_of_vendors_break_no_rule() {
    for name in [
        "/libbitsandbytes_xpu2026.so",
        "/libbitsandbytes_rocm64.so",
        "/libbitsandbytes_cuda130.so",
    ] {
        let Some(library) = BITSANDBYTES.file(name) else {
            return;
        };
        let folder = Folder::new();
        folder.write("lib.so", std::fs::read(&library).unwrap());
        // Whatever is installed: an old spirv-val does not know all that SYCL's compiler uses.
        let said = folder.offkit("verify lib.so").ok();
        assert!(said.contains("lib.so: no problems"), "{name}: {said}");
    }
}
