# lit configuration of LLVM 22's tests of the offloading tools; fetch.sh copies it to the top of the
# folder it fills.  Parameters (lit -D name=value):
#   llvm   bin folder of the real LLVM 22 (default /usr/lib/llvm-22/bin)
#   tools  folder of replacement tools; a tool found there is used instead of LLVM's
#   only   comma-separated tool names that may be replaced (default: all of them)
#   driver a compiler driver in the place of clang's, which gets `cc` or `c++` as its first argument
#   features / without   comma-separated lit features to add / drop, e.g.
#          without=zstd runs the zlib test, features=asserts the -debug-only ones
import os, re, subprocess, lit.formats

config.name = "llvm22-offload"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".c", ".cpp", ".cu", ".hip", ".hipi", ".ll", ".test", ".yaml"]
config.excludes = ["Inputs", "lit.cfg.py", "out", "unittests", "docs"]
config.test_source_root = os.path.dirname(os.path.realpath(__file__))
config.test_exec_root = os.path.join(config.test_source_root, "out")

P = lit_config.params
llvm = P.get("llvm", "/usr/lib/llvm-22/bin")
tools = P.get("tools", "")
only = set(filter(None, P.get("only", "").split(",")))

# One folder of links, so that a replacement really stands where LLVM's tool stood.
bind = os.path.join(config.test_exec_root, "bin")
os.makedirs(bind, exist_ok=True)
for n in os.listdir(bind):
    os.unlink(os.path.join(bind, n))
replaced = []
for n in sorted(os.listdir(llvm)):
    os.symlink(os.path.join(llvm, n), os.path.join(bind, n))
if tools:
    for n in sorted(os.listdir(tools)):
        p = os.path.join(tools, n)
        if (only and n not in only) or not os.access(p, os.X_OK) or os.path.isdir(p):
            continue
        dst = os.path.join(bind, n)
        if os.path.lexists(dst):
            os.unlink(dst)
        os.symlink(os.path.realpath(p), dst)
        replaced.append(n)
if replaced:
    lit_config.note("replaced: " + ", ".join(replaced))

env = config.environment
env["PATH"] = os.pathsep.join([bind, os.environ["PATH"]])
env["TMPDIR"] = os.path.join(config.test_exec_root, "tmp")
os.makedirs(env["TMPDIR"], exist_ok=True)
clang = os.path.join(llvm, "clang")
res = subprocess.run([clang, "-print-resource-dir"], capture_output=True, text=True).stdout.strip()
triple = "x86_64-unknown-linux-gnu"
sub = config.substitutions
sub.append(("%resource_dir", res))
sub.append(("%itanium_abi_triple", triple))
sub.append(("%ms_abi_triple", "x86_64-pc-windows-msvc"))
sub.append(("%target_triple", triple))
sub.append(("%errc_ENOENT", "'No such file or directory'"))
sub.append(("%llvm-version-major", "22"))
sub.append(("%clang_cc1", f"{clang} -cc1 -internal-isystem {res}/include -nostdsysteminc"))
# -B makes the driver, too, run a replaced tool instead of the one beside it.
option = f" -B{bind}" if replaced else ""
driver = P.get("driver", "")
env["OFFKIT_CLANG"] = clang
env["XDG_CACHE_HOME"] = os.path.join(config.test_exec_root, "cache")
drv = (f"{driver} cc" if driver else clang) + option
sub.append(("%clang_cl", f"{clang} --driver-mode=cl"))
sub.append(("%clangxx", f"{driver} c++{option}" if driver else f"{drv} --driver-mode=g++"))
# `clang -cc1` must come first on a line, so it keeps the plain name.
sub.append(("%clang -cc1", f"{clang} -cc1"))
sub.append(("%clang", drv))
config.target_triple = triple

f = config.available_features
f.update(["x86-registered-target", "nvptx-registered-target", "amdgpu-registered-target",
          "spirv-registered-target", "zlib", "zstd", "system-linux", "target=" + triple,
          "shell", "default-pie-on-linux", "libgcc"])
if os.path.exists(os.path.join(llvm, "ld.lld")):
    f.add("lld")
for d in env["PATH"].split(os.pathsep):
    if os.path.exists(os.path.join(d, "spirv-link")):
        f.add("spirv-tools")
f.update(filter(None, P.get("features", "").split(",")))
f.difference_update(P.get("without", "").split(","))
