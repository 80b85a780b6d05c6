// What LLVM's C interface does not offer: see beyond_c.rs for what each function promises.

#include <cstring>
#include <memory>
#include <string>

#include <llvm-c/Core.h>
#include <llvm/CodeGen/MachinePassRegistry.h>
#include <llvm/CodeGen/Passes.h>
#include <llvm/CodeGen/RegAllocRegistry.h>
#include <llvm/Frontend/Offloading/OffloadWrapper.h>
#include <llvm/Frontend/Offloading/Utility.h>
#include <llvm/IR/Attributes.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Instruction.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Metadata.h>
#include <llvm/IR/Module.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Object/OffloadBinary.h>
#include <llvm/Support/CBindingWrapping.h>
#include <llvm/Support/CommandLine.h>
#include <llvm/Support/Error.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Triple.h>

// Parts of LLVM's x86 back end that are in no header of its. A shared library doesn't offer them: they are null then.
namespace llvm {
struct X86FoldTableEntry;
__attribute__((weak)) const X86FoldTableEntry *lookupUnfoldTable(unsigned opcode);
__attribute__((weak)) const X86FoldTableEntry *lookupBroadcastFoldTableBySize(unsigned opcode, unsigned bits);
} // namespace llvm

// What a diagnostic says; of texts, those that are not null are the caller's to free.
struct OffkitDiagnostic {
  char *message;
  char *function;
  char *file;
  unsigned line;
  unsigned column;
  int is_wanted;
  int is_about_loops;
  unsigned long long assembly;
};

// Bytes of the caller's.
struct OffkitBytes {
  const char *start;
  size_t size;
};

static void place(OffkitDiagnostic &told, const llvm::Function *function, const llvm::DiagnosticLocation &location) {
  if (function)
    told.function = strdup(function->getName().str().c_str());
  if (location.isValid()) {
    told.file = strdup(location.getRelativePath().str().c_str());
    told.line = location.getLine();
    told.column = location.getColumn();
  }
}

static void place(OffkitDiagnostic &told, const llvm::Instruction *instruction) {
  if (instruction && instruction->getParent())
    place(told, instruction->getFunction(), instruction->getDebugLoc());
}

static bool is_remark(int kind) {
  return kind >= llvm::DK_FirstRemark && kind <= llvm::DK_LastMachineRemark;
}

static const llvm::DiagnosticInfoWithLocationBase *with_location(const llvm::DiagnosticInfo &info) {
  int kind = info.getKind();
  // The class with a location can't be asked for by itself: these are the kinds derived from it.
  bool has = kind == llvm::DK_GenericWithLoc || kind == llvm::DK_RegAllocFailure ||
             kind == llvm::DK_ResourceLimit || kind == llvm::DK_StackSize ||
             kind == llvm::DK_LegalizationFailure || kind == llvm::DK_Unsupported || kind == llvm::DK_MisExpect ||
             is_remark(kind);
  return has ? static_cast<const llvm::DiagnosticInfoWithLocationBase *>(&info) : nullptr;
}

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

void offkit_make_device_global(LLVMValueRef array, const char *host_name) {
  auto *old = llvm::unwrap<llvm::GlobalVariable>(array);
  llvm::Module &module = *old->getParent();
  llvm::LLVMContext &context = module.getContext();
  llvm::StructType *type = llvm::StructType::create(context);
  type->setBody({old->getValueType()});
  auto *made = new llvm::GlobalVariable(
      module, type, /*isConstant=*/false, llvm::GlobalValue::ExternalLinkage,
      llvm::ConstantStruct::get(type, {old->getInitializer()}), "", old, llvm::GlobalValue::NotThreadLocal,
      /*AddressSpace=*/1);
  made->copyAttributesFrom(old);
  made->copyMetadata(old, 0);
  made->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Local);
  made->setDSOLocal(true);
  made->addAttribute("sycl-device-global-size", std::to_string(module.getDataLayout().getTypeAllocSize(type)));
  auto number = [&](unsigned value) -> llvm::Metadata * {
    return llvm::ConstantAsMetadata::get(llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), value));
  };
  // HostAccessINTEL as SYCL's compilers number it, and NoneINTEL: how the host may use it.
  llvm::MDNode *decoration =
      llvm::MDNode::get(context, {number(6147), number(0), llvm::MDString::get(context, host_name)});
  made->setMetadata("spirv.Decorations", llvm::MDNode::get(context, {decoration}));
  made->takeName(old);
  old->replaceAllUsesWith(llvm::ConstantExpr::getPointerBitCastOrAddrSpaceCast(made, old->getType()));
  old->eraseFromParent();
}

void offkit_remove_named_metadata(LLVMModuleRef module, const char *name) {
  if (llvm::NamedMDNode *list = llvm::unwrap(module)->getNamedMetadata(name))
    list->eraseFromParent();
}

// LLVMGetDiagInfoDescription makes one text of place and message.
void offkit_describe_diagnostic(LLVMDiagnosticInfoRef raw, OffkitDiagnostic *told) {
  const llvm::DiagnosticInfo &info = *llvm::unwrap(raw);
  std::string message;
  if (auto *assembly = llvm::dyn_cast<llvm::DiagnosticInfoInlineAsm>(&info)) {
    message = assembly->getMsgStr().str();
    told->assembly = assembly->getLocCookie();
    place(*told, assembly->getInstruction());
  } else if (auto *source = llvm::dyn_cast<llvm::DiagnosticInfoSrcMgr>(&info)) {
    const llvm::SMDiagnostic &diagnostic = source->getSMDiag();
    message = diagnostic.getMessage().str();
    if (llvm::StringRef line = diagnostic.getLineContents().trim(); !line.empty())
      message += ": `" + line.str() + "`";
    told->assembly = source->getLocCookie();
  } else if (auto *generic = llvm::dyn_cast<llvm::DiagnosticInfoGeneric>(&info)) {
    message = generic->getMsgStr().str();
    place(*told, generic->getInstruction());
  } else {
    llvm::raw_string_ostream stream(message);
    llvm::DiagnosticPrinterRawOStream printer(stream);
    info.print(printer);
    stream.flush();
    if (auto *located = with_location(info)) {
      place(*told, &located->getFunction(), located->getLocation());
      std::string prefix = located->getLocationStr() + ": ";
      if (message.compare(0, prefix.size(), prefix) == 0)
        message.erase(0, prefix.size());
    }
  }
  told->message = strdup(message.c_str());
  told->is_wanted = !is_remark(info.getKind()) ||
                    static_cast<const llvm::DiagnosticInfoOptimizationBase &>(info).isEnabled();
  told->is_about_loops = info.getKind() == llvm::DK_OptimizationFailure;
}

// LLVMParseCommandLineOptions hides what is wrong with the options.
char *offkit_parse_options(int count, const char *const *options) {
  std::string message;
  llvm::raw_string_ostream stream(message);
  bool parsed = llvm::cl::ParseCommandLineOptions(count, options, "", &stream);
  stream.flush();
  return parsed ? nullptr : strdup(message.c_str());
}

// LLVM's own tools choose by the language as this does.
int offkit_wrapper_module(int language, const char *host, int relocatable, size_t count, const OffkitBytes *embedded,
                          char **text) {
  namespace offloading = llvm::offloading;
  llvm::LLVMContext context;
  llvm::Module module("offload.wrapper.module", context);
  module.setTargetTriple(llvm::Triple(host));
  llvm::SmallVector<llvm::ArrayRef<char>, 4> images;
  for (size_t number = 0; number < count; ++number)
    images.emplace_back(embedded[number].start, embedded[number].size);
  llvm::Error error = [&]() -> llvm::Error {
    switch (language) {
    case llvm::object::OFK_OpenMP:
      return offloading::wrapOpenMPBinaries(module, images, offloading::getOffloadEntryArray(module), "", relocatable);
    case llvm::object::OFK_Cuda:
      return offloading::wrapCudaBinary(module, images.front(), offloading::getOffloadEntryArray(module), "",
                                        /*EmitSurfacesAndTextures=*/false);
    case llvm::object::OFK_HIP:
      return offloading::wrapHIPBinary(module, images.front(), offloading::getOffloadEntryArray(module));
    default:
      return offloading::wrapSYCLBinaries(module, images.front());
    }
  }();
  bool failed = static_cast<bool>(error);
  std::string message;
  if (failed) {
    message = llvm::toString(std::move(error));
  } else {
    llvm::raw_string_ostream stream(message);
    module.print(stream, nullptr);
  }
  *text = strdup(message.c_str());
  return failed;
}

// The C interface folds it away where the pointer is a constant.
LLVMValueRef offkit_typed_address(LLVMValueRef before, LLVMTypeRef element, LLVMValueRef pointer) {
  auto *instruction = llvm::unwrap<llvm::Instruction>(before);
  llvm::Value *zero = llvm::ConstantInt::get(llvm::Type::getInt64Ty(instruction->getContext()), 0);
  return llvm::wrap(llvm::GetElementPtrInst::Create(llvm::unwrap(element), llvm::unwrap(pointer), {zero}, "",
                                                    instruction->getIterator()));
}

void offkit_lay_out(LLVMModuleRef module, const char *triple) {
  llvm::Triple target(triple);
  llvm::unwrap(module)->setDataLayout(target.computeDataLayout());
  llvm::unwrap(module)->setTargetTriple(std::move(target));
}

// The x86 back end makes these when they are first needed, and whoever needs one meanwhile waits for it.
void offkit_make_tables() {
  if (llvm::lookupUnfoldTable)
    llvm::lookupUnfoldTable(0);
  if (llvm::lookupBroadcastFoldTableBySize)
    llvm::lookupBroadcastFoldTableBySize(0, 0);
}

// LLVM has no other way than options of the whole process. Without a value, one has its default.
static void set_option(const char *name, const char *value) {
  auto &options = llvm::cl::getRegisteredOptions();
  auto option = options.find(name);
  if (option == options.end())
    return;
  // LLVM takes an option once only; this forgets the time before.
  option->second->reset();
  if (value)
    option->second->addOccurrence(0, name, value);
}

void offkit_set_strength_reduction(int on) { set_option("disable-lsr", on ? nullptr : "true"); }

void offkit_set_haste(int haste) {
  set_option("disable-lsr", haste ? "true" : nullptr);
  set_option("enable-misched", haste ? "false" : nullptr);
  auto &options = llvm::cl::getRegisteredOptions();
  using Allocators = llvm::RegisterRegAlloc;
  using Allocator = llvm::cl::opt<Allocators::FunctionPassCtor, false, llvm::RegisterPassParser<Allocators>>;
  Allocators::FunctionPassCtor basic = llvm::createBasicRegisterAllocator;
  auto usual = options.find("regalloc");
  if (usual != options.end())
    Allocators::setDefault(haste ? basic : static_cast<Allocator *>(usual->second)->getValue());
}
}
