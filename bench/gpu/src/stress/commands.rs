//! Commands at random on memory of every kind, with what the host expects of it.

use std::sync::Arc;

use offkit_pi::NdRange;
use offkit_pi::host::{Context, Device, Event, Queue, QueueProperties, UsmKind};
use offkit_runtime::{Argument, Buffer, ImageRegistry, Kernel, Usm};

use super::dice::Dice;
use crate::Result;
use crate::launch::kernel;

/// How many words memory has at most.
const MOST_WORDS: u64 = 1 << 18;

/// How many work-items a launch has at most.
const MOST_ITEMS: u64 = 1 << 18;

enum Memory {
    Buffer(Buffer<u32>),
    Usm(Usm<u32>),
}

/// Memory, what is expected in it, and the commands that are not known to be done with it.
struct Place {
    memory: Memory,
    expected: Vec<u32>,
    in_use: Vec<Arc<Event>>,
    what: &'static str,
}

/// The kernels of `stress.cl`.
struct Kernels {
    hash: Kernel,
    mix: Kernel,
    count: Kernel,
    turn: Kernel,
}

/// A queue with memory and kernels, for as long as some commands take.
struct Scene<'a> {
    dice: &'a mut Dice,
    queue: Queue,
    /// Whether commands are ordered by events; a queue in order needs none.
    by_events: bool,
    places: Vec<Place>,
    kernels: Kernels,
    most_local: u64,
}

/// Makes a queue, memory and kernels, submits commands, and compares all memory in the end. Returns how many commands
/// there were.
///
/// # Errors
///
/// What the device refuses, and what differs.
pub(super) fn run(dice: &mut Dice, device: &Device, registry: &ImageRegistry) -> Result<u64> {
    let context = Context::new(&[device])?;
    let out_of_order = dice.one_in(2);
    let properties = QueueProperties {
        out_of_order,
        profiling: dice.one_in(4),
    };
    let queue = context.queue(device, properties)?;
    let kernel = |name| kernel(registry, name, &context, device);
    let kernels = Kernels {
        hash: kernel("stress_hash")?,
        mix: kernel("stress_mix")?,
        count: kernel("stress_count")?,
        turn: kernel("stress_turn")?,
    };
    let count = 2 + dice.below(6);
    let places = (0..count)
        .map(|_| place(dice, &context, &queue, device))
        .collect::<Result<_>>()?;
    let by_events = out_of_order || dice.one_in(2);
    let mut scene = Scene {
        dice,
        queue,
        by_events,
        places,
        kernels,
        most_local: device.max_work_group_size()?.min(1024) as u64,
    };
    let commands = 20 + scene.dice.below(180);
    for _ in 0..commands {
        scene.command()?;
    }
    (0..scene.places.len()).try_for_each(|index| scene.compare(index))?;
    scene.queue.finish()?;
    Ok(commands)
}

fn place(dice: &mut Dice, context: &Context, queue: &Queue, device: &Device) -> Result<Place> {
    // As many small ones as large ones.
    let most = 1 << dice.below(u64::from(MOST_WORDS.ilog2()) + 1);
    let words = 1 + dice.below(most);
    let expected = dice.words(words as usize);
    let usm = |kind| -> Result<Memory> {
        let memory = Usm::new(context, kind, device, expected.len())?;
        memory.write(queue, 0, &expected, &[])?;
        Ok(Memory::Usm(memory))
    };
    let (memory, what) = match dice.below(6) {
        0 => (usm(UsmKind::Device)?, "USM of the device"),
        1 => (usm(UsmKind::Host)?, "USM of the host"),
        2 => (usm(UsmKind::Shared)?, "shared USM"),
        _ => (
            Memory::Buffer(Buffer::from_slice(context, &expected)?),
            "a buffer",
        ),
    };
    Ok(Place {
        memory,
        expected,
        in_use: Vec::new(),
        what,
    })
}

impl Place {
    fn argument(&self) -> Argument {
        match &self.memory {
            Memory::Buffer(buffer) => buffer.into(),
            Memory::Usm(usm) => usm.at(0),
        }
    }
}

/// What a kernel does to a word, as `stress.cl` has it.
fn mixed(x: u32) -> u32 {
    let x = (x ^ (x >> 16)).wrapping_mul(0x7feb_352d);
    let x = (x ^ (x >> 15)).wrapping_mul(0x846c_a68b);
    x ^ (x >> 16)
}

impl Scene<'_> {
    fn any(&mut self) -> usize {
        self.dice.below(self.places.len() as u64) as usize
    }

    /// The events that a command on some memory waits for.
    fn wait(&self, indices: &[usize]) -> Vec<Arc<Event>> {
        match self.by_events {
            true => indices
                .iter()
                .flat_map(|index| self.places[*index].in_use.clone())
                .collect(),
            false => Vec::new(),
        }
    }

    /// Notes a command that writes some memory and reads other.
    fn submitted(&mut self, event: Event, written: usize, read: Option<usize>) {
        let event = Arc::new(event);
        self.places[written].in_use = vec![Arc::clone(&event)];
        if let Some(read) = read {
            self.places[read].in_use.push(event);
        }
    }

    fn command(&mut self) -> Result<()> {
        let index = self.any();
        match self.dice.below(10) {
            0 => self.write(index),
            1 => self.compare(index),
            2 => self.fill(index),
            3 => self.copy(index),
            4 | 5 => self.hash(index),
            6 | 7 => self.mix(index),
            8 => self.count(index),
            _ => self.turn(index),
        }
    }

    /// A part of some memory: its first word and how many.
    fn part(&mut self, index: usize) -> (usize, usize) {
        let words = self.places[index].expected.len() as u64;
        let first = self.dice.below(words);
        (first as usize, 1 + self.dice.below(words - first) as usize)
    }

    fn write(&mut self, index: usize) -> Result<()> {
        let (first, count) = self.part(index);
        let words = self.dice.words(count);
        let wait = self.wait(&[index]);
        let wait: Vec<&Event> = wait.iter().map(|event| &**event).collect();
        match &self.places[index].memory {
            Memory::Buffer(buffer) => buffer.write(&self.queue, first, &words, &wait)?,
            Memory::Usm(usm) => usm.write(&self.queue, first, &words, &wait)?,
        }
        self.places[index].expected[first..first + count].copy_from_slice(&words);
        // It has been waited for, and all before it.
        self.places[index].in_use.clear();
        Ok(())
    }

    fn compare(&mut self, index: usize) -> Result<()> {
        let wait = self.wait(&[index]);
        let wait: Vec<&Event> = wait.iter().map(|event| &**event).collect();
        let place = &self.places[index];
        let found = match &place.memory {
            Memory::Buffer(buffer) => buffer.read(&self.queue, &wait)?,
            Memory::Usm(usm) => usm.read(&self.queue, &wait)?,
        };
        if let Some(word) = (0..found.len()).find(|word| found[*word] != place.expected[*word]) {
            return Err(format!(
                "word {word} of {} of {} words is {:#x}, expected {:#x}",
                place.what,
                found.len(),
                found[word],
                place.expected[word]
            )
            .into());
        }
        Ok(())
    }

    fn fill(&mut self, index: usize) -> Result<()> {
        let (first, count) = self.part(index);
        let wait = self.wait(&[index]);
        let wait: Vec<&Event> = wait.iter().map(|event| &**event).collect();
        let (event, word) = match &self.places[index].memory {
            Memory::Buffer(buffer) => {
                let word = self.dice.word();
                (buffer.fill(&self.queue, first, count, &[word], &wait)?, word)
            }
            Memory::Usm(usm) => {
                let byte = self.dice.word() as u8;
                let memory = usm.pi().expect("it has words");
                let event = self.queue.set_usm(memory, 4 * first, byte, 4 * count, &wait)?;
                (event, u32::from_ne_bytes([byte; 4]))
            }
        };
        self.places[index].expected[first..first + count].fill(word);
        self.submitted(event, index, None);
        Ok(())
    }

    /// Copies to other memory of the same kind, if there is some.
    fn copy(&mut self, from: usize) -> Result<()> {
        let to = self.any();
        if from == to {
            return Ok(());
        }
        let (first, count) = self.part(from);
        let (to_first, room) = self.part(to);
        let count = count.min(room);
        let wait = self.wait(&[from, to]);
        let wait: Vec<&Event> = wait.iter().map(|event| &**event).collect();
        let event = match (&self.places[from].memory, &self.places[to].memory) {
            (Memory::Buffer(own), Memory::Buffer(other)) => {
                own.copy_to(&self.queue, first, other, to_first, count, &wait)?
            }
            (Memory::Usm(own), Memory::Usm(other)) => {
                let (own, other) = (own.pi().expect("it has words"), other.pi().expect("it has words"));
                self.queue
                    .copy_usm((own, 4 * first), (other, 4 * to_first), 4 * count, &wait)?
            }
            _ => return Ok(()),
        };
        let words = self.places[from].expected[first..first + count].to_vec();
        self.places[to].expected[to_first..to_first + count].copy_from_slice(&words);
        self.submitted(event, to, Some(from));
        Ok(())
    }

    /// A launch of at most so many work-items, with groups of one to three dimensions; how many items it has in all and in
    /// a group.
    fn range(&mut self, most: u64) -> (NdRange, usize, usize) {
        let dimensions = 1 + self.dice.below(3) as usize;
        let (mut local, mut groups) = ([1usize; 3], [1usize; 3]);
        let (mut items, mut all) = (1, 1);
        for axis in 0..dimensions {
            let limit = (self.most_local / items)
                .min(most / all)
                .min(if axis == 2 { 64 } else { 1024 });
            local[axis] = 1 + self.dice.below(limit.max(1)) as usize;
            items *= local[axis] as u64;
            all *= local[axis] as u64;
            groups[axis] = 1 + self.dice.below((most / all).clamp(1, 1 << 12)) as usize;
            all *= groups[axis] as u64;
        }
        let global: [usize; 3] = std::array::from_fn(|axis| local[axis] * groups[axis]);
        let range = NdRange {
            dimensions: dimensions as u32,
            offset: [0; 3],
            global,
            local: Some(local),
        };
        (range, all as usize, items as usize)
    }

    fn hash(&mut self, index: usize) -> Result<()> {
        let (range, items, _) = self.range(MOST_ITEMS);
        let words = self.places[index].expected.len();
        let count = (1 + self.dice.below(words as u64)) as u32;
        let (a, b) = (self.dice.word(), self.dice.word());
        let wait = self.wait(&[index]);
        let wait: Vec<&Event> = wait.iter().map(|event| &**event).collect();
        let arguments = [self.places[index].argument(), a.into(), b.into(), count.into()];
        let event = self.kernels.hash.launch(&self.queue, &range, &arguments, &wait)?;
        let expected = &mut self.places[index].expected;
        for (i, word) in (0u32..).zip(&mut expected[..items.min(count as usize)]) {
            *word = mixed(i.wrapping_mul(a).wrapping_add(b));
        }
        self.submitted(event, index, None);
        Ok(())
    }

    fn mix(&mut self, index: usize) -> Result<()> {
        let other = self.any();
        if index == other {
            return self.hash(index);
        }
        let (range, items, _) = self.range(MOST_ITEMS);
        let words = self.places[index]
            .expected
            .len()
            .min(self.places[other].expected.len());
        let (count, a) = (
            1 + self.dice.below(words as u64) as u32,
            self.dice.below(1 << 30) as u32,
        );
        let wait = self.wait(&[index, other]);
        let wait: Vec<&Event> = wait.iter().map(|event| &**event).collect();
        let arguments = [
            self.places[index].argument(),
            self.places[other].argument(),
            a.into(),
            count.into(),
        ];
        let event = self.kernels.mix.launch(&self.queue, &range, &arguments, &wait)?;
        for i in 0..items.min(count as usize) {
            let with = self.places[other].expected[(i + a as usize) % count as usize];
            let word = &mut self.places[index].expected[i];
            *word = mixed(*word ^ with);
        }
        self.submitted(event, index, Some(other));
        Ok(())
    }

    fn count(&mut self, index: usize) -> Result<()> {
        let (range, items, _) = self.range(MOST_ITEMS);
        let words = self.places[index].expected.len() as u64;
        let (count, value) = (1 + self.dice.below(words) as u32, self.dice.word());
        let wait = self.wait(&[index]);
        let wait: Vec<&Event> = wait.iter().map(|event| &**event).collect();
        let arguments = [self.places[index].argument(), value.into(), count.into()];
        let event = self
            .kernels
            .count
            .launch(&self.queue, &range, &arguments, &wait)?;
        for i in 0..items {
            let word = &mut self.places[index].expected[i % count as usize];
            *word = word.wrapping_add(value);
        }
        self.submitted(event, index, None);
        Ok(())
    }

    fn turn(&mut self, index: usize) -> Result<()> {
        let words = self.places[index].expected.len() as u64;
        let (range, items, group) = self.range(words);
        let wait = self.wait(&[index]);
        let wait: Vec<&Event> = wait.iter().map(|event| &**event).collect();
        let arguments = [self.places[index].argument(), Argument::local::<u32>(group)];
        let event = self.kernels.turn.launch(&self.queue, &range, &arguments, &wait)?;
        for words in self.places[index].expected[..items].chunks_mut(group) {
            words.reverse();
            for (own, word) in (0..).zip(words) {
                *word = word.wrapping_add(own);
            }
        }
        self.submitted(event, index, None);
        Ok(())
    }
}
