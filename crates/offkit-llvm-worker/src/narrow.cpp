// Counters of loops that 32 bits suffice for: `TargetMachine::narrow` says why.

#include <llvm-c/Core.h>
#include <llvm-c/TargetMachine.h>
#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SetVector.h>
#include <llvm/Analysis/LoopInfo.h>
#include <llvm/Analysis/ScalarEvolution.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/ConstantRange.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/CBindingWrapping.h>
#include <llvm/Target/TargetMachine.h>

using namespace llvm;

namespace {

const unsigned BITS = 32;

bool fit(const ConstantRange &range) { return range.getActiveBits() <= BITS; }

class Narrowing {
  LoopInfo &loops;
  ScalarEvolution &evolution;
  IntegerType *wide, *narrow;
  // What is to be narrow, and what its values may be.
  MapVector<Instruction *, ConstantRange> chosen;
  // Comparisons of these with each other, and with what fits as well.
  SmallSetVector<ICmpInst *, 8> comparisons;
  DenseMap<Instruction *, Value *> made;
  // Operands of those whose values fit, too.
  DenseSet<std::pair<Instruction *, Value *>> whole;

  // What a value is in each round of its loop, by the first and the last round.
  std::optional<ConstantRange> by_ends(const SCEV *value) {
    auto *recurrence = dyn_cast<SCEVAddRecExpr>(value);
    if (!recurrence || !recurrence->isAffine()) return std::nullopt;
    const Loop *loop = recurrence->getLoop();
    auto *step = dyn_cast<SCEVConstant>(recurrence->getStepRecurrence(evolution));
    const SCEV *rounds = evolution.getBackedgeTakenCount(loop);
    if (!step || !step->getAPInt().isSignedIntN(BITS) || isa<SCEVCouldNotCompute>(rounds)) return std::nullopt;
    rounds = evolution.applyLoopGuards(rounds, loop);
    if (evolution.getTypeSizeInBits(rounds->getType()) > 64) return std::nullopt;
    rounds = evolution.getNoopOrZeroExtend(rounds, wide);
    auto range = [&](const SCEV *end) { return evolution.getUnsignedRange(evolution.applyLoopGuards(end, loop)); };
    ConstantRange first = range(recurrence->getStart());
    ConstantRange last = range(recurrence->evaluateAtIteration(rounds, evolution));
    // So few steps of so few bits do not get from one end to the other the long way round.
    if (!fit(range(rounds)) || !fit(first) || !fit(last)) return std::nullopt;
    return first.unionWith(last, ConstantRange::Unsigned);
  }

  ConstantRange range_of(Value *value) {
    if (auto *instruction = dyn_cast<Instruction>(value))
      if (auto known = chosen.find(instruction); known != chosen.end()) return known->second;
    const SCEV *known = evolution.getSCEV(value);
    ConstantRange range = evolution.getUnsignedRange(known);
    if (fit(range)) return range;
    return by_ends(known).value_or(range);
  }

  // What a value is where a block is come to from another, which may have compared it.
  ConstantRange range_on(Value *value, BasicBlock *from, BasicBlock *to) {
    ConstantRange range = range_of(value);
    auto *branch = dyn_cast<BranchInst>(from->getTerminator());
    auto *compared = branch && branch->isConditional() && branch->getSuccessor(0) != branch->getSuccessor(1)
                         ? dyn_cast<ICmpInst>(branch->getCondition())
                         : nullptr;
    if (fit(range) || !compared || compared->getOperand(0) != value) return range;
    auto predicate = branch->getSuccessor(0) == to ? compared->getPredicate() : compared->getInversePredicate();
    return range.intersectWith(ConstantRange::makeAllowedICmpRegion(predicate, range_of(compared->getOperand(1))));
  }

  // What a result may be, if its low bits are made by the low bits of what it is made of.
  std::optional<ConstantRange> result(Instruction *instruction) {
    ConstantRange range = range_of(instruction);
    if (auto *phi = dyn_cast<PHINode>(instruction)) {
      if (fit(range)) return range;
      ConstantRange all = ConstantRange::getEmpty(64);
      for (unsigned index = 0; index < phi->getNumIncomingValues(); ++index)
        all = all.unionWith(range_on(phi->getIncomingValue(index), phi->getIncomingBlock(index), phi->getParent()),
                            ConstantRange::Unsigned);
      return all;
    }
    if (isa<SelectInst>(instruction)) return range;
    auto *operation = dyn_cast<BinaryOperator>(instruction);
    if (!operation) return std::nullopt;
    ConstantRange left = range_of(operation->getOperand(0)), right = range_of(operation->getOperand(1));
    switch (operation->getOpcode()) {
    case Instruction::LShr:
      if (!fit(left)) return std::nullopt;
      [[fallthrough]];
    case Instruction::Shl:
      if (right.getUnsignedMax().uge(BITS)) return std::nullopt;
      break;
    case Instruction::Add:
    case Instruction::Sub:
    case Instruction::Mul:
    case Instruction::And:
    case Instruction::Or:
    case Instruction::Xor:
      break;
    default:
      return std::nullopt;
    }
    return range.intersectWith(left.binaryOp(operation->getOpcode(), right));
  }

  void choose(Instruction *instruction) {
    if (instruction->getType() != wide || chosen.contains(instruction)) return;
    if (auto range = result(instruction); range && fit(*range)) chosen.insert({instruction, *range});
  }

  void choose() {
    // From the loops' own counters on to all that is computed from them; what is chosen grows while it is gone through.
    for (Loop *loop : loops.getLoopsInPreorder())
      for (PHINode &phi : loop->getHeader()->phis()) choose(&phi);
    for (unsigned index = 0; index < chosen.size(); ++index)
      for (User *user : chosen.begin()[index].first->users()) choose(cast<Instruction>(user));
    auto fits = [&](Value *operand) { return fit(range_of(operand)); };
    for (auto &[instruction, range] : chosen)
      for (User *user : instruction->users())
        if (auto *comparison = dyn_cast<ICmpInst>(user); comparison && all_of(comparison->operands(), fits))
          comparisons.insert(comparison);
    for (auto &[instruction, range] : chosen)
      for (Value *operand : instruction->operands())
        if (isa<OverflowingBinaryOperator>(instruction) && fits(operand)) whole.insert({instruction, operand});
  }

  // The low bits of a value, before an instruction that it is there at.
  Value *low(Value *value, Instruction *before) {
    if (auto *constant = dyn_cast<ConstantInt>(value))
      return ConstantInt::get(narrow, constant->getValue().trunc(BITS));
    auto *instruction = dyn_cast<Instruction>(value);
    if (instruction && chosen.contains(instruction)) return made_of(instruction);
    IRBuilder<> builder(before);
    Value *source;
    if (PatternMatch::match(value, PatternMatch::m_ZExt(PatternMatch::m_Value(source))) &&
        source->getType()->getIntegerBitWidth() <= BITS)
      return builder.CreateZExt(source, narrow);
    return builder.CreateTrunc(value, narrow);
  }

  Value *made_of(Instruction *instruction) {
    if (Value *known = made.lookup(instruction)) return known;
    IRBuilder<> builder(instruction);
    Value *result;
    if (auto *select = dyn_cast<SelectInst>(instruction)) {
      Value *yes = low(select->getTrueValue(), instruction), *no = low(select->getFalseValue(), instruction);
      result = builder.CreateSelect(select->getCondition(), yes, no);
    } else {
      Value *left = low(instruction->getOperand(0), instruction), *right = low(instruction->getOperand(1), instruction);
      result = builder.CreateBinOp(cast<BinaryOperator>(instruction)->getOpcode(), left, right);
      // What fits, and is made of what fits, does not wrap: that is what addresses are followed by.
      auto *operation = dyn_cast<OverflowingBinaryOperator>(result);
      auto is_whole = [&](Value *operand) { return whole.contains({instruction, operand}); };
      if (operation && all_of(instruction->operands(), is_whole))
        cast<Instruction>(result)->setHasNoUnsignedWrap();
    }
    made[instruction] = result;
    return result;
  }

public:
  Narrowing(Function &function, FunctionAnalysisManager &analyses)
      : loops(analyses.getResult<LoopAnalysis>(function)),
        evolution(analyses.getResult<ScalarEvolutionAnalysis>(function)),
        wide(Type::getInt64Ty(function.getContext())), narrow(Type::getInt32Ty(function.getContext())) {}

  bool run() {
    // All of it before anything is changed: what is known of values is of those that are there now.
    choose();
    // Empty at first: they are made of what is made of them.
    for (auto &[instruction, range] : chosen)
      if (auto *phi = dyn_cast<PHINode>(instruction))
        made[phi] = IRBuilder<>(phi).CreatePHI(narrow, phi->getNumIncomingValues());
    for (auto &[instruction, range] : chosen) {
      auto *phi = dyn_cast<PHINode>(instruction);
      if (!phi) {
        made_of(instruction);
        continue;
      }
      // The ends of a switch that come here come with the same value.
      DenseMap<BasicBlock *, Value *> incoming;
      for (unsigned index = 0; index < phi->getNumIncomingValues(); ++index) {
        BasicBlock *from = phi->getIncomingBlock(index);
        if (!incoming.contains(from)) {
          Value *value = low(phi->getIncomingValue(index), from->getTerminator());
          incoming[from] = value;
        }
        cast<PHINode>(made[phi])->addIncoming(incoming[from], from);
      }
    }
    for (ICmpInst *comparison : comparisons) {
      Value *left = low(comparison->getOperand(0), comparison), *right = low(comparison->getOperand(1), comparison);
      // What has 32 bits is positive in 64, where to compare with a sign is to compare without.
      Value *same = IRBuilder<>(comparison).CreateICmp(comparison->getUnsignedPredicate(), left, right);
      comparison->replaceAllUsesWith(same);
      comparison->eraseFromParent();
    }
    for (auto &[instruction, range] : chosen) {
      auto after = isa<PHINode>(instruction) ? instruction->getParent()->getFirstInsertionPt()
                                             : std::next(instruction->getIterator());
      IRBuilder<> builder(instruction->getParent(), after);
      instruction->replaceAllUsesWith(builder.CreateZExt(made[instruction], wide));
    }
    for (auto &[instruction, range] : chosen) instruction->eraseFromParent();
    return !chosen.empty();
  }
};

} // namespace

extern "C" void offkit_narrow(LLVMModuleRef module, LLVMTargetMachineRef machine) {
  PassBuilder builder(reinterpret_cast<TargetMachine *>(machine));
  LoopAnalysisManager of_loops;
  FunctionAnalysisManager of_functions;
  CGSCCAnalysisManager of_calls;
  ModuleAnalysisManager of_modules;
  builder.registerModuleAnalyses(of_modules);
  builder.registerCGSCCAnalyses(of_calls);
  builder.registerFunctionAnalyses(of_functions);
  builder.registerLoopAnalyses(of_loops);
  builder.crossRegisterProxies(of_loops, of_functions, of_calls, of_modules);
  for (Function &function : *unwrap(module))
    if (!function.isDeclaration() && Narrowing(function, of_functions).run())
      of_functions.invalidate(function, PreservedAnalyses::none());
}
