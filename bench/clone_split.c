// clone_split INPUT.bc OUTPUT_PREFIX GROUPS: splits a module the plain way, as a measure for post-link: the whole
// module is cloned for each of GROUPS images, every definition but the kernels of that image made internal, and
// what nothing needs dropped. The image of a kernel is the number at the end of its name, modulo GROUPS.
#include <llvm-c/Analysis.h>
#include <llvm-c/BitReader.h>
#include <llvm-c/BitWriter.h>
#include <llvm-c/Core.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is_kept(LLVMValueRef function, int group, int groups) {
  size_t length;
  const char *name = LLVMGetValueName2(function, &length);
  while (length > 0 && name[length - 1] >= '0' && name[length - 1] <= '9') --length;
  // 76 is the calling convention of SPIR-V's kernels.
  return LLVMGetFunctionCallConv(function) == 76 && atoi(name + length) % groups == group;
}

int main(int count, char **arguments) {
  if (count != 4) return 2;
  int groups = atoi(arguments[3]);
  char *message = NULL;
  LLVMMemoryBufferRef buffer;
  LLVMModuleRef module;
  LLVMContextRef context = LLVMContextCreate();
  if (LLVMCreateMemoryBufferWithContentsOfFile(arguments[1], &buffer, &message)) return 2;
  if (LLVMParseBitcodeInContext2(context, buffer, &module)) return 2;
  for (int group = 0; group < groups; ++group) {
    LLVMModuleRef clone = LLVMCloneModule(module);
    for (LLVMValueRef f = LLVMGetFirstFunction(clone); f; f = LLVMGetNextFunction(f))
      if (!LLVMIsDeclaration(f) && !is_kept(f, group, groups)) LLVMSetLinkage(f, LLVMInternalLinkage);
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(clone, "globaldce,strip-dead-prototypes", NULL, options);
    LLVMDisposePassBuilderOptions(options);
    if (error) return 2;
    char output[4096];
    snprintf(output, sizeof output, "%s_%d.bc", arguments[2], group);
    if (LLVMWriteBitcodeToFile(clone, output)) return 2;
    LLVMDisposeModule(clone);
  }
  return 0;
}
