// What LLVM's C interface does not offer: see beyond_c.rs for what each function promises.

#include <cstring>
#include <memory>
#include <string>

#include <llvm-c/Core.h>
#include <llvm/IR/Attributes.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Metadata.h>
#include <llvm/IR/Module.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/CBindingWrapping.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/raw_ostream.h>

extern "C" {

// LLVMLinkModules2 makes a linker for every call, and that looks at all of the destination.
void *offkit_linker_create(LLVMModuleRef destination) {
  return new llvm::Linker(*llvm::unwrap(destination));
}

int offkit_linker_link(void *linker, LLVMModuleRef source) {
  std::unique_ptr<llvm::Module> owned(llvm::unwrap(source));
  return static_cast<llvm::Linker *>(linker)->linkInModule(std::move(owned));
}

void offkit_linker_dispose(void *linker) { delete static_cast<llvm::Linker *>(linker); }

unsigned offkit_variable_attributes(LLVMValueRef variable, LLVMAttributeRef *attributes) {
  llvm::AttributeSet set = llvm::unwrap<llvm::GlobalVariable>(variable)->getAttributes();
  if (attributes)
    for (llvm::Attribute attribute : set)
      *attributes++ = llvm::wrap(attribute);
  return set.getNumAttributes();
}

void offkit_remove_named_metadata(LLVMModuleRef module, const char *name) {
  if (llvm::NamedMDNode *list = llvm::unwrap(module)->getNamedMetadata(name))
    list->eraseFromParent();
}

// LLVMParseCommandLineOptions hides what is wrong with the options.
char *offkit_parse_options(int count, const char *const *options) {
  std::string message;
  llvm::raw_string_ostream stream(message);
  bool parsed = llvm::cl::ParseCommandLineOptions(count, options, "", &stream);
  stream.flush();
  return parsed ? nullptr : strdup(message.c_str());
}
}
