"""The inputs of the benchmarks, made under target/bench/inputs and used again when they are there.

bench/make_inputs.py --delete removes them: they take about 15 GiB.

Images are AMDGPU objects made by clang, filled up to their size with bytes that do not compress and that begin with
the number of the image, so no two are the same.
"""

import functools
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

from measure import FOLDER

INPUTS = FOLDER / "inputs"
TRIPLE = "amdgcn-amd-amdhsa"
ARCHS = ["gfx900", "gfx906", "gfx908", "gfx90a", "gfx1030", "gfx1100", "gfx1101", "gfx1102"]
HOST = "host-x86_64-unknown-linux-gnu-"
# The numbers of offload kinds.
OPENMP, HIP, SYCL = 1, 4, 8
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30

BUNDLE_MAGIC = b"__CLANG_OFFLOAD_BUNDLE__"
WRITTEN_AT_ONCE = 32 * MIB


def made(name, make):
    """The file of that name; `make` writes it when it is not there."""
    path = INPUTS / name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_name(f"unfinished-{path.name}")
        make(unfinished)
        unfinished.rename(path)
    return path


def read_anew(path):
    """Takes the file's pages from memory and reads it from the disk, from its beginning to its end.

    A program that was linked just now is in memory in the small pages in which the linker wrote it. Of one that was read
    from the disk they are large, where memory is not in pieces, and listing 100,000 images in it takes 37 ms instead of
    88 (the peer: 730 and 870), else about 50.
    """
    file = os.open(path, os.O_RDONLY)
    os.fsync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_SEQUENTIAL)
    while os.read(file, MIB):
        pass
    os.close(file)
    return path


def tool(*command):
    subprocess.run([str(word) for word in command], check=True, stdout=subprocess.DEVNULL)


@functools.cache
def device_object(arch):
    """A small AMDGPU object."""

    def make(path):
        source = path.with_suffix(".c")
        source.write_text("__attribute__((amdgpu_kernel)) void kernel_of_image(float *x) { *x += 1; }\n")
        tool("clang-22", f"--target={TRIPLE}", f"-mcpu={arch}", "-nogpulib", "-O1", "-c", source, "-o", path)

    return made(f"{arch}.o", make).read_bytes()


@functools.cache
def filling():
    return os.urandom(MIB)


def image(number, size):
    """An image of a size, other than that of any other number, for the architecture of its number."""
    head = device_object(ARCHS[number % len(ARCHS)]) + struct.pack("<Q", number)
    rest = size - len(head)
    if rest <= 0:
        return head[:size]
    return head + (filling() * (rest // MIB + 1))[:rest]


def blob(number, size, kind):
    """An offload binary of version 1 with one image."""
    arch = ARCHS[number % len(ARCHS)]
    strings = f"\0triple\0{TRIPLE}\0arch\0{arch}\0".encode()
    places = [1, 8, 8 + len(TRIPLE) + 1, 8 + len(TRIPLE) + 6]
    table = 72 + 2 * 16
    start = -(-(table + len(strings)) // 8) * 8
    whole = start + -(-size // 8) * 8
    head = struct.pack("<IIQQQ", 0xAD10FF10, 1, whole, 32, 40)
    head += struct.pack("<HHIQQQQ", 1, kind, 0, 72, 2, start, size)
    head += struct.pack("<QQQQ", *(table + place for place in places)) + strings
    return head.ljust(start, b"\0") + image(number, size).ljust(whole - start, b"\0")


def write(path, pieces):
    """Writes pieces, many at a time."""
    with open(path, "wb", buffering=0) as out:
        waiting, size = [], 0
        for piece in pieces:
            waiting.append(piece)
            size += len(piece)
            if size >= WRITTEN_AT_ONCE:
                out.write(b"".join(waiting))
                waiting, size = [], 0
        out.write(b"".join(waiting))


def package(count, size, kind=HIP):
    """`count` offload binaries end to end, with images of `size` bytes."""
    name = f"{count}x{size}.pkg" if kind == HIP else f"{count}x{size}-{kind}.pkg"
    return made(name, lambda path: write(path, (blob(number, size, kind) for number in range(count))))


def offset_of_section(path, wanted):
    """Where a section is in an ELF file."""
    with open(path, "rb") as file:
        header = file.read(64)
        (table,) = struct.unpack_from("<Q", header, 40)
        size, count, names = struct.unpack_from("<HHH", header, 58)
        file.seek(table)
        sections = [file.read(size) for _ in range(count)]
        file.seek(struct.unpack_from("<Q", sections[names], 24)[0])
        text = file.read(struct.unpack_from("<Q", sections[names], 32)[0])
    for section in sections:
        (name,) = struct.unpack_from("<I", section)
        if text[name:].split(b"\0", 1)[0] == wanted:
            return struct.unpack_from("<Q", section, 24)[0]
    raise ValueError(f"{path} has no {wanted}")


def build_host(path, content, section, section_type, alignment, shift, is_program):
    """Assembles, and links, `path` with a file as the content of a section behind one of `shift` bytes."""
    source = path.with_suffix(".s")
    source.write_text(
        ".globl _start\n_start: ret\n"
        f'.section .shift,"",@progbits\n.zero {shift}\n'
        f'.section {section},"",{section_type}\n.balign {alignment}\n.incbin "{content}"\n'
    )
    compiled = path.with_suffix(".compiled") if is_program else path
    tool("clang-22", "--target=x86_64-linux-gnu", "-c", source, "-o", compiled)
    if is_program:
        tool("ld.lld", compiled, "-o", path)
        compiled.unlink()
    source.unlink()


def offloading(content, aligned, is_program=False):
    """An object or a program with a file in the section `.llvm.offloading`, at a multiple of 8 or not."""
    section = ".llvm.offloading"

    def build(path, content, shift):
        build_host(path, content, section, "@0x6fff4c0b", 8 if aligned else 1, shift, is_program)
        return offset_of_section(path, section.encode()) % 8 == 0

    def make(path):
        # Tried with a small content first, as where the section comes to lie does not depend on that.
        probe = path.with_name("probe")
        probe.write_bytes(bytes(64))
        shift = 2 if build(path, probe, 1) and not aligned else 1
        probe.unlink()
        if build(path, content, shift) != aligned:
            raise ValueError(f"{path}: the section is not where it was to be")

    return made(f"{content.stem}-{'aligned' if aligned else 'unaligned'}.{'out' if is_program else 'o'}", make)


def bundle_ids(count):
    """IDs for a host and that many less one targets."""
    archs = [f"{arch}:sramecc{sign}" for sign in "+-" for arch in ("gfx906", "gfx908", "gfx90a")]
    archs = ["gfx900", "gfx1030", "gfx1100", "gfx1101", "gfx1102", *archs]
    return [HOST] + [f"hip-{TRIPLE}--{arch}" for arch in archs[: count - 1]]


def bundle(count, size):
    """A binary bundle of `count` entries, of which the first is for the host."""

    def make(path):
        ids = [text.encode() for text in bundle_ids(count)]
        end = 32 + sum(24 + len(text) for text in ids)
        start = -(-end // 4096) * 4096
        head = BUNDLE_MAGIC + struct.pack("<Q", count)
        for number, text in enumerate(ids):
            head += struct.pack("<QQQ", start + number * size, size, len(text)) + text
        write(path, [head.ljust(start, b"\0"), *(image(number, size) for number in range(count))])

    return made(f"{count}x{size}.bundle", make)


def compressed_bundles(count, size):
    """An object with `count` compressed bundles in `.hip_fatbin`, each of a host and two images of `size` bytes
    that compress to half."""

    def make(path):
        images = [path.with_suffix(f".{number}") for number in range(2)]
        out = path.with_suffix(".ccob")
        pieces = []
        for _ in range(count):
            for file in images:
                file.write_bytes(os.urandom(size // 2).hex().encode())
            tool("clang-offload-bundler", "-type=bc", "-compress", f"-targets={','.join(bundle_ids(3))}",
                 "-input=/dev/null", *(f"-input={file}" for file in images), f"-output={out}")
            piece = out.read_bytes()
            pieces += [piece, bytes(-len(piece) % 4096)]
        write(out, pieces)
        build_host(path, out, ".hip_fatbin", "@progbits", 4096, 0, is_program=False)
        for file in (*images, out):
            file.unlink()

    return made(f"{count}x{size}-compressed.o", make)


def archive(path, members):
    """Writes a static archive without an index of symbols."""

    def pieces():
        yield b"!<arch>\n"
        for name, content in members:
            yield f"{name + '/':16}{0:<12}{0:<6}{0:<6}{644:<8}{len(content):<10}`\n".encode()
            yield content
            yield b"\n" * (len(content) % 2)

    write(path, pieces())


def many_members(count, content, number_places):
    """Members like `content`, each with its number at `number_places`."""
    for number in range(count):
        changed = bytearray(content)
        for place in number_places:
            struct.pack_into("<Q", changed, place, number)
        yield f"m{number:05}.o", bytes(changed)


def places_of(content, mark):
    place = content.find(mark)
    while place >= 0:
        yield place
        place = content.find(mark, place + 1)


def marks_of(content, count):
    """Where the images of the first numbers begin."""
    return [place for arch in ARCHS[:count] for place in places_of(content, device_object(arch))]


def archive_of_offloading(count):
    """An archive of objects with three images of 4 KiB each."""

    def make(path):
        member = offloading(package(3, 4 * KIB), aligned=True).read_bytes()
        ends = [place + 4 * KIB - 8 for place in marks_of(member, 3)]
        archive(path, many_members(count, member, ends))

    return made(f"{count}-objects.a", make)


def archive_of_bundled_objects(count):
    """An archive of objects of clang-offload-bundler, with two images of 4 KiB each."""

    def make(path):
        source, bundled = path.with_suffix(".s"), path.with_suffix(".bundled")
        source.write_text(".globl f\nf: ret\n")
        compiled, device = path.with_suffix(".host"), path.with_suffix(".device")
        tool("clang-22", "--target=x86_64-linux-gnu", "-c", source, "-o", compiled)
        device.write_bytes(image(0, 4 * KIB))
        ids = bundle_ids(3)
        tool("clang-offload-bundler", "-type=o", f"-targets={','.join(ids)}", f"-input={compiled}", f"-input={device}",
             f"-input={device}", f"-output={bundled}")
        content = bundled.read_bytes()
        ends = [place + 4 * KIB - 8 for place in marks_of(content, 1)]
        archive(path, many_members(count, content, ends))
        for file in (source, bundled, compiled, device):
            file.unlink()

    return made(f"{count}-bundled.a", make)


def single_images(count, size):
    """`count` files with an image of `size` bytes."""
    return [
        made(f"images-{size}/{number:05}.o", lambda path: path.write_bytes(image(number, size)))
        for number in range(count)
    ]


def delete():
    shutil.rmtree(INPUTS, ignore_errors=True)
    shutil.rmtree(FOLDER / "cuda", ignore_errors=True)


if __name__ == "__main__":
    if sys.argv[1:] != ["--delete"]:
        sys.exit("usage: bench/make_inputs.py --delete")
    delete()
