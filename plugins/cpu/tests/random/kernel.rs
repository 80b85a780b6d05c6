//! Kernels that nobody would write, as text: any control flow that the work-items of a group share, with barriers anywhere in
//! it, and control flow of each work-item's own between them.

use std::collections::BTreeSet;
use std::fmt::Write;

use offkit_plugin_cpu::NdRange;

/// Words in front of those of the work-items: the first is an input.
pub(crate) const HEADER_WORDS: usize = 16;

/// Words of each work-item's own.
pub(crate) const ITEM_WORDS: usize = 16;

/// How often control moves on, roughly.
const ROUNDS: u64 = 12;

/// Words of the private array that are used.
const PRIVATE: u64 = 8;

/// Words of a private array that is so large that vectors of work-items have no memory near enough, and code is scalar.
const LARGE: u64 = 40_000;

const TYPES: &str = r#"offkit-kernel 1
type #0 void
type #1 scalar i32
type #2 pointer CrossWorkgroup #1
type #3 pointer Workgroup #1
type #4 pointer Function #1
type #5 array #1 LENGTH
type #6 array #1 512
type #7 scalar i64
type #8 vector i64 3
type #9 scalar bool
type #10 scalar i8
type #11 array #10 TABLE
type #12 pointer Function #11
variable &0 "linear" input GlobalLinearId #7 8
variable &1 "local" input LocalInvocationIndex #7 8
variable &2 "size" input WorkgroupSize #8 32
variable &3 "group" input WorkgroupId #8 32
variable &4 "id" input GlobalInvocationId #8 32
variable &5 "exchange" local #6 4
constant $0 #3 [0] addresses [0 &5]
constant $1 #11 [CONTENT]
"#;

/// Numbers that are given, then such that look random and are the same each time.
struct Dice<'c> {
    /// A byte for each number.
    given: std::slice::Iter<'c, u8>,
    state: u64,
}

impl Dice<'_> {
    fn next(&mut self) -> u64 {
        if let Some(given) = self.given.next() {
            return u64::from(*given);
        }
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut word = self.state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn one_in(&mut self, count: u64) -> bool {
        self.below(count) == 0
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}

/// A kernel and the range that it runs over.
pub(crate) struct Case {
    pub(crate) text: String,
    pub(crate) range: NdRange,
}

#[derive(Default)]
struct Block {
    phis: String,
    code: String,
    end: String,
}

/// Values of 32-bit integers that may be read, by their numbers.
#[derive(Clone, Default)]
struct Pool {
    all: Vec<u32>,
    /// Those that are the same for all work-items of a group.
    uniform: Vec<u32>,
}

struct Writer<'c> {
    dice: Dice<'c>,
    next: u32,
    blocks: Vec<Block>,
    current: usize,
    pool: Pool,
    /// Whether the kernel sees sub-groups.
    sub_groups: bool,
    /// The address of the work-item's words, its place in the group, and the group's size.
    own: u32,
    index: u32,
    size: u32,
}

impl Writer<'_> {
    fn number(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    fn line(&mut self, line: &str) {
        _ = writeln!(self.blocks[self.current].code, "  {line}");
    }

    fn value(&mut self, kind: &str, code: &str) -> u32 {
        let number = self.number();
        self.line(&format!("%{number} {kind} = {code}"));
        number
    }

    fn add(&mut self, code: &str) -> u32 {
        let value = self.value("#1", code);
        self.pool.all.push(value);
        value
    }

    fn end(&mut self, end: String) {
        self.blocks[self.current].end = end;
    }

    fn new_block(&mut self) -> usize {
        self.blocks.push(Block::default());
        self.blocks.len() - 1
    }

    fn any(&mut self) -> String {
        match self.dice.one_in(8) {
            true => format!("i32:{}", self.dice.below(1000)),
            false => format!("%{}", self.dice.pick(&self.pool.all)),
        }
    }

    fn operation(&mut self) -> &'static str {
        self.dice
            .pick(&["IAdd", "ISub", "IMul", "BitwiseXor", "BitwiseAnd"])
    }

    /// A truth: of each work-item, or of all together.
    fn condition(&mut self, uniform: bool) -> u32 {
        let of = match uniform {
            true => self.dice.pick(&self.pool.uniform),
            false => self.dice.pick(&self.pool.all),
        };
        let shift = self.dice.below(4);
        let shifted = self.value("#1", &format!("op ShiftRightLogical (%{of} i32:{shift})"));
        let bit = self.value("#1", &format!("op BitwiseAnd (%{shifted} i32:1)"));
        self.value("#9", &format!("op IEqual (%{bit} i32:0)"))
    }

    /// A place in the private array.
    fn place(&mut self) -> u32 {
        if self.dice.one_in(3) {
            let index = self.any();
            let index = self.value("#1", &format!("op BitwiseAnd ({index} i32:7)"));
            self.value("#4", &format!("address 0 [4] (%1 %{index})"))
        } else {
            let offset = 4 * self.dice.below(PRIVATE);
            self.value("#4", &format!("address {offset} [] (%1)"))
        }
    }

    /// What a work-item does by itself.
    fn statement(&mut self, depth: u32) {
        match self.dice.below(if depth < 2 { 14 } else { 10 }) {
            0..3 => {
                let (a, b, operation) = (self.any(), self.any(), self.operation());
                self.add(&format!("op {operation} ({a} {b})"));
            }
            3 | 4 => {
                let place = self.place();
                self.add(&format!("load (%{place})"));
            }
            5 | 6 => {
                let (place, value) = (self.place(), self.any());
                self.line(&format!("store (%{place} {value})"));
            }
            7 => {
                let offset = 4 * self.dice.below(8);
                let own = self.own;
                let place = self.value("#2", &format!("address {offset} [] (%{own})"));
                match self.dice.one_in(2) {
                    true => _ = self.add(&format!("load (%{place})")),
                    false => {
                        let value = self.any();
                        self.line(&format!("store (%{place} {value})"));
                    }
                }
            }
            8 => {
                let uniform = self.dice.one_in(2);
                let condition = self.condition(uniform);
                let (a, b) = (self.any(), self.any());
                self.add(&format!("select (%{condition} {a} {b})"));
            }
            9 => {
                let (a, b) = (
                    self.dice.pick(&self.pool.uniform),
                    self.dice.pick(&self.pool.uniform),
                );
                let operation = self.operation();
                let value = self.add(&format!("op {operation} (%{a} %{b})"));
                self.pool.uniform.push(value);
            }
            10 | 11 => self.diamond(depth),
            _ => self.loop_(depth),
        }
    }

    fn statements(&mut self, depth: u32) {
        for _ in 0..self.dice.below(4) {
            self.statement(depth);
        }
    }

    /// Two ways, or one that some take, and where they meet.
    fn diamond(&mut self, depth: u32) {
        let uniform = self.dice.one_in(4);
        let condition = self.condition(uniform);
        let before = self.current;
        let known = self.pool.clone();
        let base = self.any();
        let (yes, meeting) = (self.new_block(), self.new_block());
        let has_other = self.dice.one_in(2);
        let no = if has_other { self.new_block() } else { meeting };
        self.end(format!("branch %{condition} ^{yes} ^{no}"));
        self.current = yes;
        self.statements(depth + 1);
        let (given, from) = (self.any(), self.current);
        self.end(format!("jump ^{meeting}"));
        self.pool = known.clone();
        let mut incoming = format!("^{from} {given}");
        if has_other {
            self.current = no;
            self.statements(depth + 1);
            let (given, from) = (self.any(), self.current);
            self.end(format!("jump ^{meeting}"));
            _ = write!(incoming, " ^{from} {given}");
            self.pool = known;
        } else {
            _ = write!(incoming, " ^{before} {base}");
        }
        self.current = meeting;
        let phi = self.number();
        _ = writeln!(self.blocks[meeting].phis, "  %{phi} #1 = phi [{incoming}]");
        self.pool.all.push(phi);
    }

    /// A loop that each work-item goes round as often as it likes, and may leave in the middle.
    fn loop_(&mut self, depth: u32) {
        let uniform = self.dice.one_in(4);
        let of = match uniform {
            true => self.dice.pick(&self.pool.uniform),
            false => self.dice.pick(&self.pool.all),
        };
        let trips = self.value("#1", &format!("op BitwiseAnd (%{of} i32:3)"));
        let start = self.any();
        let before = self.current;
        let (head, body, after) = (self.new_block(), self.new_block(), self.new_block());
        let [count, sum, next_count, next_sum] = [0; 4].map(|_: u32| self.number());
        self.end(format!("jump ^{head}"));
        self.current = head;
        let goes_on = self.value("#9", &format!("op SLessThan (%{count} %{trips})"));
        self.end(format!("branch %{goes_on} ^{body} ^{after}"));
        self.current = body;
        let known = self.pool.clone();
        self.pool.all.extend([count, sum]);
        self.statements(depth + 1);
        let given = self.any();
        let operation = self.operation();
        if self.dice.one_in(4) {
            let condition = self.condition(false);
            let rest = self.new_block();
            self.end(format!("branch %{condition} ^{after} ^{rest}"));
            self.current = rest;
        }
        self.line(&format!("%{next_count} #1 = op IAdd (%{count} i32:1)"));
        self.line(&format!("%{next_sum} #1 = op {operation} (%{sum} {given})"));
        let latch = self.current;
        self.end(format!("jump ^{head}"));
        let phis = &mut self.blocks[head].phis;
        _ = writeln!(
            phis,
            "  %{count} #1 = phi [^{before} i32:0 ^{latch} %{next_count}]"
        );
        _ = writeln!(phis, "  %{sum} #1 = phi [^{before} {start} ^{latch} %{next_sum}]");
        self.current = after;
        self.pool = known;
        self.pool.all.extend([count, sum]);
    }

    fn barrier(&mut self) {
        self.line("collective barrier work_group uniform ()");
    }

    /// What all work-items of a group come to.
    fn shared_statement(&mut self) {
        match self.dice.below(10) {
            0..2 => self.barrier(),
            2..4 => self.exchange(),
            4 => {
                let value = self.any();
                let kind = self.dice.pick(&[
                    "reduce IAdd i32",
                    "inclusive_scan IAdd i32",
                    "exclusive_scan IAdd i32",
                ]);
                let value = self.add(&format!("collective {kind} work_group uniform ({value})"));
                if kind.starts_with("reduce") {
                    self.pool.uniform.push(value);
                }
            }
            5 if self.sub_groups => {
                let value = self.any();
                let kind = self.dice.pick(&[
                    "reduce IAdd i32",
                    "inclusive_scan BitwiseXor i32",
                    "exclusive_scan IAdd i32",
                ]);
                self.add(&format!("collective {kind} sub_group uniform ({value})"));
            }
            _ => self.statement(0),
        }
    }

    /// Everybody leaves a word in local memory and takes another's, or the first one's.
    fn exchange(&mut self) {
        let (index, size, value) = (self.index, self.size, self.any());
        let place = self.value("#3", &format!("address 0 [4] ($0 %{index})"));
        self.line(&format!("store (%{place} {value})"));
        self.barrier();
        if self.dice.one_in(3) {
            let value = self.add("load ($0)");
            self.pool.uniform.push(value);
        } else {
            let distance = self.dice.below(9);
            let other = self.value("#1", &format!("op IAdd (%{index} i32:{distance})"));
            let other = self.value("#1", &format!("op UMod (%{other} %{size})"));
            let place = self.value("#3", &format!("address 0 [4] ($0 %{other})"));
            self.add(&format!("load (%{place})"));
        }
        self.barrier();
    }

    /// Leaves a value where the host sees it.
    fn show(&mut self, word: usize, value: &str) {
        let (own, offset) = (self.own, 4 * word);
        let place = self.value("#2", &format!("address {offset} [] (%{own})"));
        self.line(&format!("store (%{place} {value})"));
    }
}

/// Which blocks every way from block 0 to each block goes through, itself among them.
fn dominators(targets: &[Vec<usize>]) -> Vec<BTreeSet<usize>> {
    let reached = |without: usize| {
        let mut seen = BTreeSet::new();
        let mut stack = vec![0];
        while let Some(block) = stack.pop() {
            if block != without && seen.insert(block) {
                stack.extend(&targets[block]);
            }
        }
        seen
    };
    let mut dominators = vec![BTreeSet::new(); targets.len()];
    let all = reached(usize::MAX);
    for above in 0..targets.len() {
        for block in all.difference(&reached(above)) {
            dominators[*block].insert(above);
        }
    }
    dominators
}

fn range(dice: &mut Dice<'_>) -> NdRange {
    let dimensions = 1 + dice.below(3) as u32;
    let most: &[u64] = match dimensions {
        1 => &[70],
        2 => &[18, 9],
        _ => &[9, 5, 4],
    };
    let (mut global, mut local) = ([1; 3], [1; 3]);
    for (axis, most) in most.iter().enumerate() {
        local[axis] = match dice.one_in(4) {
            true => 1 << dice.below(u64::from(most.ilog2()) + 1),
            false => 1 + dice.below(*most) as usize,
        };
        global[axis] = local[axis] * (1 + dice.below(3)) as usize;
        // The last groups may be smaller.
        if dice.one_in(6) && global[axis] > 1 {
            global[axis] -= 1;
        }
    }
    NdRange {
        dimensions,
        offset: [0; 3],
        global,
        local: Some(local),
    }
}

/// The kernel that comes of these choices, and of a number for the rest.
pub(crate) fn kernel(choices: &[u8], seed: u64) -> Case {
    let (given, state) = (choices.iter(), seed);
    let mut dice = Dice { given, state };
    let range = range(&mut dice);
    let size = match dice.below(8) {
        0..3 => None,
        3..6 => Some(1),
        _ => Some(1 << dice.below(7)),
    };
    // Where each of the blocks that work-items share leads to, besides the last one.
    let middle = 1 + dice.below(6) as usize;
    let exit = middle + 1;
    let mut targets: Vec<Vec<usize>> = Vec::new();
    for block in 0..=middle {
        let count = if block == 0 { 1 } else { 1 + dice.below(3) };
        targets.push(
            (0..count)
                .map(|_| 1 + dice.below(middle as u64) as usize)
                .collect(),
        );
    }
    targets.push(Vec::new());
    let mut ways = targets.clone();
    for block in &mut ways[1..=middle] {
        block.push(exit);
    }
    let dominators = dominators(&ways);
    let mut writer = Writer {
        dice,
        next: 3,
        blocks: (0..=exit).map(|_| Block::default()).collect(),
        current: 0,
        pool: Pool::default(),
        sub_groups: size.is_some(),
        own: 0,
        index: 0,
        size: 0,
    };
    let w = &mut writer;

    // The entry: who one is.
    let linear = w.value("#7", "input &0 ()");
    let index = w.value("#7", "input &1 ()");
    let sizes = w.value("#8", "input &2 ()");
    let group = w.value("#8", "input &3 ()");
    let ids = w.value("#8", "input &4 ()");
    w.own = w.value("#2", &format!("address 64 [64] (%0 %{linear})"));
    w.index = w.add(&format!("convert unsigned (%{index})"));
    w.add(&format!("convert unsigned (%{linear})"));
    let parts = [0, 1, 2].map(|axis| w.value("#7", &format!("extract {axis} (%{sizes})")));
    let area = w.value("#7", &format!("op IMul (%{} %{})", parts[0], parts[1]));
    let volume = w.value("#7", &format!("op IMul (%{area} %{})", parts[2]));
    w.size = w.value("#1", &format!("convert unsigned (%{volume})"));
    for axis in 0..3 {
        let id = w.value("#7", &format!("extract {axis} (%{ids})"));
        w.add(&format!("convert unsigned (%{id})"));
        let number = w.value("#7", &format!("extract {axis} (%{group})"));
        let number = w.add(&format!("convert unsigned (%{number})"));
        w.pool.uniform.push(number);
    }
    let input = w.add("load (%0)");
    w.pool.uniform.push(input);
    let mixed = w.add(&format!("op IMul (%{} i32:2654435761)", w.pool.all[1]));
    w.add(&format!("op ShiftRightLogical (%{mixed} i32:13)"));
    // As compilers write `int array[8] = {1, 2}`, the bytes all in all or a part of more.
    let is_copied = w.dice.one_in(2);
    let table = w.dice.pick(&[4 * PRIVATE, 12 * PRIVATE]);
    if is_copied {
        let skipped = 4 * w.dice.below(table / 4 - PRIVATE + 1);
        let from = w.value("#12", &format!("address {skipped} [] (%2)"));
        w.line(&format!("copy (%1 %{from} i64:{}) align 4", 4 * PRIVATE));
    }
    for element in 0..PRIVATE {
        if is_copied && w.dice.one_in(2) {
            continue;
        }
        let place = w.value("#4", &format!("address {} [] (%1)", 4 * element));
        let value = w.any();
        w.line(&format!("store (%{place} {value})"));
    }
    w.end(format!("jump ^{}", targets[0][0]));
    let known = w.pool.clone();

    // The blocks that work-items share, those above others first.
    let states: Vec<[u32; 4]> = (0..=exit).map(|_| [0; 4].map(|_: u32| w.number())).collect();
    let mut pools: Vec<Option<Pool>> = vec![None; exit + 1];
    let mut lasts = vec![0; exit + 1];
    let gather = |pools: &[Option<Pool>], block: usize| {
        let mut pool = known.clone();
        for above in dominators[block].iter().filter(|above| **above != block) {
            if let Some(found) = &pools[*above] {
                pool.all.extend(&found.all);
                pool.uniform.extend(&found.uniform);
            }
        }
        pool
    };
    let mut order: Vec<usize> = (1..=middle).collect();
    order.sort_by_key(|block| dominators[*block].len());
    for block in order {
        let [count, state, next_count, next_state] = states[block];
        w.current = block;
        w.pool = gather(&pools, block);
        let (all, uniform) = (w.pool.all.len(), w.pool.uniform.len());
        w.pool.all.extend([count, state]);
        w.pool.uniform.extend([count, state]);
        for _ in 0..w.dice.below(7) {
            w.shared_statement();
        }
        w.line(&format!("%{next_count} #1 = op IAdd (%{count} i32:1)"));
        let scaled = w.value("#1", &format!("op IMul (%{state} i32:1664525)"));
        let more = w.dice.pick(&w.pool.uniform);
        w.line(&format!("%{next_state} #1 = op IAdd (%{scaled} %{more})"));
        w.pool.all.push(next_state);
        w.pool.uniform.push(next_state);
        let shown = w.any();
        w.show(8 + block % 4, &shown);
        let shifted = w.value("#1", &format!("op ShiftRightLogical (%{next_state} i32:16)"));
        let mut way = w.value("#1", &format!("op BitwiseAnd (%{shifted} i32:3)"));
        if w.dice.one_in(3) {
            // All go the same way, and nobody sees it.
            let own = w.any();
            let odd = w.value("#1", &format!("op BitwiseOr ({own} i32:1)"));
            let one = w.value("#1", &format!("op BitwiseAnd (%{odd} i32:1)"));
            let nothing = w.value("#1", &format!("op ISub (%{one} i32:1)"));
            way = w.value("#1", &format!("op IAdd (%{way} %{nothing})"));
        }
        let done = w.value("#9", &format!("op SGreaterThan (%{count} i32:{ROUNDS})"));
        let selector = w.value("#1", &format!("select (%{done} i32:99 %{way})"));
        let (default, cases) = targets[block].split_first().expect("there is one");
        let cases = cases.iter().zip(0..).map(|(to, case)| format!("{case} ^{to} "));
        let cases: String = cases.collect();
        w.end(format!("switch %{selector} [{cases}99 ^{exit}] ^{default}"));
        lasts[block] = w.current;
        pools[block] = Some(Pool {
            all: w.pool.all.split_off(all),
            uniform: w.pool.uniform.split_off(uniform),
        });
    }
    for block in 1..=middle {
        let [count, state, ..] = states[block];
        let before: Vec<usize> = (0..=middle)
            .filter(|from| targets[*from].contains(&block))
            .collect();
        let (mut counts, mut given) = (String::new(), String::new());
        for from in before {
            let [.., next_count, next_state] = states[from];
            match from {
                0 => {
                    counts += "^0 i32:0 ";
                    _ = write!(given, "^0 %{input} ");
                }
                _ => {
                    _ = write!(counts, "^{} %{next_count} ", lasts[from]);
                    _ = write!(given, "^{} %{next_state} ", lasts[from]);
                }
            }
        }
        // Blocks that nothing leads to have no phis.
        let (counts, given) = (counts.trim_end(), given.trim_end());
        w.blocks[block].phis = match counts.is_empty() {
            true => format!("  %{count} #1 = op IAdd (i32:0 i32:0)\n  %{state} #1 = op IAdd (i32:0 i32:0)\n"),
            false => {
                format!("  %{count} #1 = phi [{counts}]\n  %{state} #1 = phi [{given}]\n")
            }
        };
    }

    // The exit: what is left.
    w.current = exit;
    w.pool = gather(&pools, exit);
    for word in 12..ITEM_WORDS {
        let last = w.pool.all.len().saturating_sub(6);
        let value = match word % 2 {
            0 => w.any(),
            _ => format!("%{}", w.dice.pick(&w.pool.all[last..])),
        };
        w.show(word, &value);
    }
    for element in 0..PRIVATE {
        let place = w.value("#4", &format!("address {} [] (%1)", 4 * element));
        let value = w.value("#1", &format!("load (%{place})"));
        if element < 4 {
            let own = w.own;
            let slot = w.value("#2", &format!("address {} [] (%{own})", 4 * element));
            let there = w.value("#1", &format!("load (%{slot})"));
            let both = w.value("#1", &format!("op BitwiseXor (%{there} %{value})"));
            w.line(&format!("store (%{slot} %{both})"));
        } else {
            w.show(element as usize, &format!("%{value}"));
        }
    }
    w.end("return none".to_owned());
    // Numbers that no value has are given away at the end of the entry.
    for unused in [0, exit] {
        for number in states[unused] {
            _ = writeln!(w.blocks[0].code, "  %{number} #1 = op IAdd (i32:0 i32:0)");
        }
    }

    let length = if writer.dice.one_in(10) { LARGE } else { PRIVATE };
    let content: Vec<String> = (0..table).map(|_| writer.dice.below(256).to_string()).collect();
    let types = TYPES
        .replace("LENGTH", &length.to_string())
        .replace("TABLE", &table.to_string())
        .replace("CONTENT", &content.join(" "));
    let size = size.map_or_else(String::new, |size| format!(" sub_group_size {size}"));
    let mut text = format!(
        "{types}kernel \"k\" @0{size}\n\nfunction @0 \"k\" #0\n  parameter %0 #2\n  variable #4 %1 #5\n  \
         variable #12 %2 #11 initializer $1\n"
    );
    for (number, block) in writer.blocks.iter().enumerate() {
        let Block { phis, code, end } = block;
        _ = writeln!(text, "block ^{number}\n{phis}{code}  end {end}");
    }
    Case { text, range }
}
