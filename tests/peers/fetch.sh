#!/usr/bin/env bash
# Fetches LLVM 22.1.8's source through apt and unpacks only the lit tests that exercise the
# offloading tools and clang's driver where it offloads: fetch.sh DEST [--tarball FILE] [--only PATH]...
#
# DEST            folder to fill (clang/test/..., llvm/test/..., lit.cfg.py)
# --tarball FILE  use an already downloaded llvm-toolchain-22_22.1.8.orig.tar.xz
# --only PATH     unpack this instead of the tests
#
# The machine's apt settings stay as they are: a private list folder is used.
# Not every mirror has every part of the source package (the .dsc of one suite may
# be missing while the upstream tarball is there), so suites are tried in turn and
# the upstream tarball is checked against its known SHA-256.
set -euo pipefail
SUM=b49b9277aef97616320b2da259e1f8174c65b0ce2fbe2e8629644a97693402fe
TAR=llvm-toolchain-22_22.1.8.orig.tar.xz
TOP=llvm-toolchain-22_22.1.8
HERE=$(cd "$(dirname "$0")" && pwd)
dest= tarball= only=()
while [ $# -gt 0 ]; do
  case $1 in
    --tarball) tarball=$(realpath "$2"); shift ;;
    --only) only+=("$2"); shift ;;
    -*) echo "unknown option $1" >&2; exit 2 ;;
    *) dest=$1 ;;
  esac
  shift
done
[ -n "$dest" ] || { sed -n '2,13p' "$0" >&2; exit 2; }
mkdir -p "$dest"; dest=$(cd "$dest" && pwd)
ok() { [ -f "$1" ] && echo "$SUM  $1" | sha256sum -c --quiet - 2>/dev/null; }

if [ -z "$tarball" ]; then
  work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
  mkdir -p "$work/lists/partial" "$work/archives/partial" "$work/dl"
  # The base addresses of the machine's own Debian suites, whatever they are.
  base=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE)' 'Created-By: Packages' | sort -u)
  main=$(awk '$2 !~ /-(security|updates|backports)$/ && $1 ~ /debian\/?$/ {print $1; exit}' <<<"$base")
  sec=$(awk '$2 ~ /-security$/ {print $1; exit}' <<<"$base")
  key=/usr/share/keyrings/debian-archive-keyring.gpg
  try() { # suites to list
    : >"$work/sources.list"
    local s
    for s in "$@"; do
      case $s in
        *-security) [ -n "$sec" ] && echo "deb-src [signed-by=$key] $sec $s main" >>"$work/sources.list" ;;
        *) [ -n "$main" ] && echo "deb-src [signed-by=$key] $main $s main" >>"$work/sources.list" ;;
      esac
    done
    local o=(-o Dir::Etc::sourcelist="$work/sources.list" -o Dir::Etc::sourceparts=/dev/null
             -o Dir::State::lists="$work/lists" -o Dir::Cache::archives="$work/archives"
             -o Dir::Cache::srcpkgcache= -o Dir::Cache::pkgcache= -o APT::Sandbox::User=root)
    apt-get "${o[@]}" update -qq >/dev/null 2>&1 || true
    local v
    for v in $(apt-cache "${o[@]}" showsrc llvm-toolchain-22 2>/dev/null |
               awk '/^Version:/ && $2 ~ /22\.1\.8/ {print $2}' | sort -ru); do
      (cd "$work/dl" && apt-get "${o[@]}" source --download-only -qq "llvm-toolchain-22=$v") >/dev/null 2>&1 || true
      ok "$work/dl/$TAR" && return 0
    done
    return 1
  }
  try bookworm-security || try sid forky || try trixie-security trixie ||
    { echo "no mirror had $TAR" >&2; exit 1; }
  tarball=$work/dl/$TAR
fi
ok "$tarball" || { echo "$tarball: wrong or missing (SHA-256 $SUM expected)" >&2; exit 1; }

if [ ${#only[@]} -gt 0 ]; then
  tar -C "$dest" --strip-components=1 -xf "$tarball" "${only[@]/#/$TOP/}"
  exit
fi

want=$(mktemp)
cat >"$want" <<'L'
clang/test/Driver/clang-offload-bundler-asserts-on.c
clang/test/Driver/clang-offload-bundler-standardize.c
clang/test/Driver/clang-offload-bundler-zlib.c
clang/test/Driver/clang-offload-bundler-zstd.c
clang/test/Driver/clang-offload-bundler.c
clang/test/Driver/clang-sycl-linker-test.cpp
clang/test/Driver/fat-archive-unbundle-ext.c
clang/test/Driver/link-device-code.test
clang/test/Driver/linker-wrapper-hip-amdgcnspirv.c
clang/test/Driver/linker-wrapper-hip-no-rdc.c
clang/test/Driver/linker-wrapper-image.c
clang/test/Driver/linker-wrapper-llvm-help.c
clang/test/Driver/linker-wrapper.c
clang/test/Driver/nvlink-wrapper.c
clang/test/Driver/offload-packager.c
clang/test/Driver/hip-partial-link.hip
clang/test/Driver/Inputs
clang/test/Driver/amdgpu-openmp-toolchain.c
clang/test/Driver/cuda-bindings.cu
clang/test/Driver/cuda-openmp-driver.cu
clang/test/Driver/cuda-phases.cu
clang/test/Driver/cuda-via-liboffload.cu
clang/test/Driver/gpu-libc.c
clang/test/Driver/hip-binding.hip
clang/test/Driver/hip-device-compile.hip
clang/test/Driver/hip-link-bc-to-bc.hip
clang/test/Driver/hip-link-bundle-archive.hip
clang/test/Driver/hip-offload-compress-zlib.hip
clang/test/Driver/hip-offload-compress-zstd.hip
clang/test/Driver/hip-options.hip
clang/test/Driver/hip-phases.hip
clang/test/Driver/hip-rdc-device-only.hip
clang/test/Driver/hip-toolchain-no-rdc.hip
clang/test/Driver/hip-toolchain-rdc-separate.hip
clang/test/Driver/hip-toolchain-rdc-static-lib.hip
clang/test/Driver/hip-toolchain-rdc.hip
clang/test/Driver/hip-unbundle-preproc.hipi
clang/test/Driver/hipspv-link-static-library.hip
clang/test/Driver/hipspv-toolchain-rdc.hip
clang/test/Driver/hipspv-toolchain.hip
clang/test/Driver/lto.cu
clang/test/Driver/no-gpu-bundle-respected.hip
clang/test/Driver/offload-Xarch.c
clang/test/Driver/offload-target.c
clang/test/Driver/openmp-offload-gpu.c
clang/test/Driver/openmp-offload-headers.c
clang/test/Driver/openmp-offload-infer.c
clang/test/Driver/openmp-offload-jit.c
clang/test/Driver/openmp-offload.c
clang/test/Driver/spirv-openmp-toolchain.c
clang/test/Driver/sycl-link-spirv-target.cpp
clang/test/Driver/sycl-offload-jit.cpp
clang/test/Driver/sycl.c
clang/test/Tooling/clang-linker-wrapper-spirv-elf.cpp
clang/test/Frontend/embed-object.c
clang/test/Frontend/embed-object.ll
clang/test/Frontend/Inputs/empty.h
llvm/test/ObjectYAML/Offload
llvm/test/tools/llvm-objdump/Offloading
llvm/test/tools/llvm-offload-binary
llvm/test/tools/llvm-offload-wrapper
llvm/test/tools/llvm-split/SplitByCategory
llvm/test/tools/llvm-readobj/ELF/AMDGPU/offloading-fail.test
llvm/test/tools/llvm-readobj/ELF/AMDGPU/offloading.test
L
sed "s#^#$TOP/#" "$want" >"$want.t"
# tar complains of names it did not find; the count below is the check.
tar -C "$dest" --strip-components=1 --keep-newer-files -xf "$tarball" -T "$want.t" 2>"$dest/.tar.err" || true
rm -f "$want" "$want.t"
cp "$HERE/lit.cfg.py" "$dest/lit.cfg.py"
n=$(find "$dest/clang/test" "$dest/llvm/test" -type f -not -path '*/Inputs/*' | wc -l)
echo "$n test files in $dest (missing: $(grep -c 'Not found in archive' "$dest/.tar.err" || true))"
