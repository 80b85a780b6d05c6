//! `offkit show --kernel-ir`: what the CPU device makes of a kernel, from SPIR-V to vector code.

use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::builder::TypedValueParser as _;
use clap::{Args, ValueEnum};
use offkit_compile::{Plan, Region, Variant, prepare};
use offkit_kernel::ir::{BlockId, Module, ValueId};
use offkit_llvm::{CompileRequest, Effort, Forms, Worker, WorkerError};
use offkit_object::{DeviceImage, ImageFormat, KernelName, Location};
use offkit_plugin_cpu::{Expected, Processor, expected, vector_functions};
use serde_json::{Map, Value, json};

use crate::commands::link::worker_failure;
use crate::failure::{ExitStatus, Failure};
use crate::terminal::{Output, Styles, escape};

/// The number of the form of its JSON.
const SCHEMA: u32 = 1;

/// How long LLVM may take for a kernel.
const LIMIT: Duration = Duration::from_secs(60);

#[derive(Debug, Args)]
#[command(next_help_heading = "How a kernel is compiled")]
pub(crate) struct KernelIr {
    /// Show each form that the CPU device compiles a kernel through, from SPIR-V to machine code
    #[arg(long)]
    kernel_ir: bool,
    /// Show these forms; a single stage is printed without headings
    #[arg(
        long,
        value_name = "STAGE[,STAGE…]",
        value_delimiter = ',',
        requires = "kernel_ir"
    )]
    stage: Vec<Stage>,
    /// Compile for this processor
    #[arg(
        long,
        value_name = "NAME",
        requires = "kernel_ir",
        default_value = Processor::Native.name(),
        value_parser = PossibleValuesParser::new(Processor::ALL.map(Processor::name))
            .map(|name| Processor::from_name(&name).unwrap_or(Processor::Native))
    )]
    cpu: Processor,
    /// Put this many work-items in a vector: a power of two up to 64, 1 for scalar code; by default what suits the
    /// processor
    #[arg(long, value_name = "NUMBER", requires = "kernel_ir", value_parser = width)]
    width: Option<u32>,
    /// How much LLVM optimizes; the device runs `light` code first, with shorter vectors, `full` code when it is ready
    #[arg(long, requires = "kernel_ir", default_value = "full")]
    effort: Spent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Stage {
    /// offkit's own form of the SPIR-V
    Read,
    /// One function without calls
    Prepared,
    /// What the work-items of a vector agree on, and the order of execution
    Plan,
    /// LLVM IR before LLVM's passes
    Llvm,
    /// LLVM IR after LLVM's passes
    Optimized,
    /// The processor's instructions
    Assembly,
}

impl Stage {
    fn name(self) -> &'static str {
        match self {
            Stage::Read => "read",
            Stage::Prepared => "prepared",
            Stage::Plan => "plan",
            Stage::Llvm => "llvm",
            Stage::Optimized => "optimized",
            Stage::Assembly => "assembly",
        }
    }

    fn about(self) -> &'static str {
        match self {
            Stage::Read => "offkit's form of the SPIR-V",
            Stage::Prepared => "one function without calls, values instead of private memory",
            Stage::Plan => "what the work-items of a vector agree on, and what is executed in which order",
            Stage::Llvm => "LLVM IR as it is emitted",
            Stage::Optimized => "LLVM IR behind LLVM's passes",
            Stage::Assembly => "the processor's instructions",
        }
    }

    /// Whether it is LLVM's.
    fn is_of_worker(self) -> bool {
        matches!(self, Stage::Llvm | Stage::Optimized | Stage::Assembly)
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Spent {
    Light,
    Full,
}

impl From<Spent> for Effort {
    fn from(spent: Spent) -> Effort {
        match spent {
            Spent::Light => Effort::Light,
            Spent::Full => Effort::Full,
        }
    }
}

fn width(text: &str) -> Result<u32, String> {
    let width: u32 = text.parse().map_err(|error| format!("{error}"))?;
    match width.is_power_of_two() && width <= 64 {
        true => Ok(width),
        false => Err("expected a power of two from 1 to 64".to_owned()),
    }
}

impl KernelIr {
    pub(super) fn is_wanted(&self) -> bool {
        self.kernel_ir
    }

    fn wants(&self, stage: Stage) -> bool {
        self.stage.is_empty() || self.stage.contains(&stage)
    }

    /// Shows a kernel of an image: the one of that name, or the only one.
    pub(super) fn show(
        &self,
        image: &DeviceImage<'_>,
        kernel: Option<&str>,
        json: bool,
        output: &mut Output,
    ) -> Result<(), Failure> {
        let compiled = Compiled::new(self, image, kernel)?;
        match json {
            true => output.json(SCHEMA, &compiled.json())?,
            false => compiled.print(output)?,
        }
        compiled.end()
    }
}

/// A kernel in all the forms that there are of it.
struct Compiled<'a> {
    options: &'a KernelIr,
    location: &'a Location,
    kernel: String,
    expected: Option<Expected>,
    plan: Option<Plan>,
    notes: Vec<String>,
    forms: Vec<(Stage, String)>,
    /// Why there are no more.
    refusal: Option<String>,
    missing: Option<WorkerError>,
}

impl<'a> Compiled<'a> {
    fn new(options: &'a KernelIr, image: &'a DeviceImage<'_>, kernel: Option<&str>) -> Result<Self, Failure> {
        let location = &image.location;
        if image.format != ImageFormat::Spirv {
            let format = image.format;
            let failure = Failure::input(format!(
                "{location}: the CPU device compiles SPIR-V, and this is {format}"
            ));
            return Err(match format {
                ImageFormat::Bitcode => failure.hint("`offkit link` makes SPIR-V of bitcode"),
                _ => failure.hint("`--format spirv` leaves other images out"),
            });
        }
        let of_image = |error: &dyn std::fmt::Display| Failure::input(format!("{location}: {error}"));
        let bytes = image.bytes().map_err(|error| of_image(&error))?;
        let spirv = offkit_spirv::Module::from_bytes(bytes).map_err(|error| of_image(&error))?;
        let module = offkit_kernel::read(spirv.dr()).map_err(|error| of_image(&error))?;
        module.verify().map_err(|problem| of_image(&problem))?;
        let index = find(&module, kernel, location)?;
        let mut compiled = Compiled {
            options,
            location,
            kernel: module.kernels[index].name.clone(),
            expected: None,
            plan: None,
            notes: Vec::new(),
            forms: Vec::new(),
            refusal: None,
            missing: None,
        };
        if let Err(refusal) = compiled.compile(&module, index, bytes) {
            compiled.refusal = Some(refusal);
        }
        Ok(compiled)
    }

    /// Goes from form to form, as far as the kernel gets.
    fn compile(&mut self, module: &Module, index: usize, bytes: &[u8]) -> Result<(), String> {
        self.add(Stage::Read, || module.of_kernel(index).to_string());
        let prepared = prepare(module, index).map_err(|refusal| refusal.to_string())?;
        self.add(Stage::Prepared, || prepared.to_string());
        let mut expected = expected(module, index, self.options.cpu, self.options.effort.into())?;
        if let Some(width) = self.options.width {
            expected.variant.width = width;
            expected.reason = "as asked for".to_owned();
        }
        // One work-item at a time it may still be compiled. A kernel that sees its sub-groups would
        // notice, and is left alone.
        let plan = match Plan::new(&prepared, 0, expected.variant) {
            Err(refusal) if expected.variant.width > 1 && !expected.sees_sub_groups => {
                expected.reason = format!("no vectors: {refusal}");
                expected.variant = expected.variant.scalar();
                Plan::new(&prepared, 0, expected.variant)
            }
            plan => plan,
        };
        let variant = expected.variant;
        self.expected = Some(expected);
        let plan = plan.map_err(|refusal| refusal.to_string())?;
        self.add(Stage::Plan, || plan.listing(&prepared).to_string());
        self.plan = Some(plan);
        let stages = [Stage::Llvm, Stage::Optimized, Stage::Assembly];
        if !stages.iter().any(|stage| self.options.wants(*stage)) {
            return Ok(());
        }
        match self.ask(module, bytes, variant) {
            Ok(forms) => {
                self.notes = forms.notes;
                for (stage, text) in stages
                    .into_iter()
                    .zip([forms.emitted, forms.optimized, forms.assembly])
                {
                    self.add(stage, || String::from_utf8_lossy(&text).into_owned());
                }
                Ok(())
            }
            // It was there and refused the kernel; all other errors say that nobody could be asked.
            Err(WorkerError::Failed { message }) => Err(message),
            Err(error) => {
                self.missing = Some(error);
                Ok(())
            }
        }
    }

    /// What LLVM makes of it.
    fn ask(&self, module: &Module, spirv: &[u8], variant: Variant) -> Result<Forms, WorkerError> {
        let (triple, processor) = self.options.cpu.target();
        let request = CompileRequest {
            kernel: self.kernel.clone(),
            variant,
            triple: triple.to_owned(),
            processor: processor.to_owned(),
            features: String::new(),
            vector_functions: match self.options.cpu {
                Processor::Native => vector_functions(module),
                // Which there are on another machine is not known.
                _ => Vec::new(),
            },
            level: self.options.effort.into(),
            lines: false,
        };
        Worker::start()?.forms(spirv, request, LIMIT)
    }

    fn add(&mut self, stage: Stage, text: impl FnOnce() -> String) {
        // The text of a large kernel takes its time: it is made only where it is shown.
        if self.options.wants(stage) {
            self.forms.push((stage, text()));
        }
    }

    fn print(&self, output: &mut Output) -> Result<(), Failure> {
        let is_alone = self.options.stage.len() == 1;
        let Styles { heading, faint, .. } = output.styles();
        if !is_alone {
            let (kernel, location) = (escape(&self.kernel), self.location.to_string());
            output.line(format_args!(
                "{heading}{kernel}{heading:#} in {}",
                escape(&location)
            ))?;
            if let Some(Expected { variant, reason, .. }) = &self.expected {
                let width = variant.width;
                output.line(format_args!("  {faint}processor{faint:#}  {}", self.options.cpu))?;
                output.line(format_args!(
                    "  {faint}width{faint:#}      {width}: {}",
                    escape(reason)
                ))?;
            }
            for note in &self.notes {
                output.line(format_args!("  {faint}note{faint:#}       {}", escape(note)))?;
            }
        }
        for (stage, text) in &self.forms {
            if !is_alone {
                let (name, about) = (stage.name(), stage.about());
                output.line(format_args!("\n{heading}=== {name}{heading:#}: {about}"))?;
            }
            for line in text.trim_end().lines() {
                // What tabs are is known.
                let shown: Vec<_> = line.split('\t').map(escape).collect();
                output.line(shown.join("\t"))?;
            }
        }
        Ok(())
    }

    fn json(&self) -> Value {
        let forms = self.forms.iter();
        let forms: Map<_, _> = forms
            .map(|(stage, text)| (stage.name().to_owned(), Value::from(text.as_str())))
            .collect();
        let plan = self.plan.as_ref().filter(|_| self.options.wants(Stage::Plan));
        json!({
            "location": self.location.to_string(),
            "kernel": self.kernel,
            "processor": self.options.cpu.name(),
            "variant": self.expected.as_ref().map(|expected| expected.variant),
            "reason": self.expected.as_ref().map(|expected| expected.reason.as_str()),
            "notes": self.notes,
            "forms": forms,
            "plan": plan.map(plan_json),
            "refusal": self.refusal,
            "missing": self.missing.as_ref().map(ToString::to_string),
        })
    }

    /// What is said when all is shown that there is.
    fn end(self) -> Result<(), Failure> {
        if let Some(refusal) = self.refusal {
            let kernel = &self.kernel;
            let message = format!("kernel `{kernel}` has no compiled code: {refusal}");
            return Err(Failure::new(ExitStatus::No, message));
        }
        let Some(error) = self.missing else {
            return Ok(());
        };
        let stages = [Stage::Read, Stage::Prepared, Stage::Plan].map(Stage::name);
        let is_all = self.options.stage.iter().all(|stage| stage.is_of_worker());
        let failure = worker_failure(error);
        Err(match is_all && !self.options.stage.is_empty() {
            true => failure.hint(format!("these stages need no LLVM: {}", stages.join(", "))),
            false => failure.hint("what is shown above needs no LLVM; the other stages do"),
        })
    }
}

/// The kernel of that name, or the only one.
fn find(module: &Module, wanted: Option<&str>, location: &Location) -> Result<usize, Failure> {
    let names = || module.kernels.iter().map(|kernel| kernel.name.as_str());
    let mut found = (0..module.kernels.len()).filter(|index| {
        let name = &module.kernels[*index].name;
        wanted.is_none_or(|wanted| KernelName::new(name).is(wanted))
    });
    match (found.next(), found.next()) {
        (Some(only), None) => Ok(only),
        (Some(first), Some(_)) => {
            // An exact name before one that is meant by others too.
            if let Some(exact) = names().position(|name| Some(name) == wanted) {
                return Ok(exact);
            }
            let names: Vec<_> = names().map(escape).collect();
            let names = names.join(", ");
            let example = escape(&module.kernels[first].name);
            Err(
                Failure::input(format!("{location}: there are several kernels: {names}"))
                    .hint(format!("name one: `--kernel {example}`")),
            )
        }
        (None, _) => Err(Failure::input(format!("{location}: there is no such kernel"))),
    }
}

fn plan_json(plan: &Plan) -> Value {
    let values = (0..plan.function.values.len() as u32).map(ValueId);
    let values = values.map(|value| {
        let shapes = plan.shapes.of(value).map(|shape| shape.to_string());
        json!({ "value": value.0, "shapes": shapes.collect::<Vec<_>>() })
    });
    json!({
        "values": values.collect::<Vec<_>>(),
        "regions": plan.regions.iter().map(region_json).collect::<Vec<_>>(),
    })
}

fn region_json(region: &Region) -> Value {
    let numbers = |values: &[ValueId]| values.iter().map(|value| value.0).collect::<Vec<_>>();
    let block = |block: &BlockId| {
        let control = region.control.get(block.0 as usize).copied().flatten();
        json!({
            "block": block.0,
            "mask": control.map(|control| control.mask.0),
            "guard": control.map(|control| control.guard.0),
        })
    };
    let loops = region.loops.iter().map(|found| {
        json!({
            "header": found.header.0,
            "first": found.range.0,
            "last": found.range.1,
            "divergent": found.is_divergent,
        })
    });
    json!({
        "entry": region.entry.0,
        "plain": region.is_plain,
        "blocks": region.order.iter().map(block).collect::<Vec<_>>(),
        "loops": loops.collect::<Vec<_>>(),
        "reads": numbers(&region.reads),
        "writes": numbers(&region.writes),
    })
}
