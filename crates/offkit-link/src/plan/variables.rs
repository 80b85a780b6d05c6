//! Source files of variables.

use std::collections::HashMap;

use offkit_llvm::ModuleSummary;

use super::closure::Closure;
use crate::symbols::MODULE_ID;

/// The source files of variables as far as the module tells: front ends mark functions only, so a variable belongs to
/// the file whose functions need it, if these are all of one file. By number.
pub(super) fn sources<'a>(module: &'a ModuleSummary, closure: &Closure<'a>) -> HashMap<u32, &'a str> {
    let marks: Vec<Option<&str>> = (module.functions.iter())
        .map(|function| function.attributes.get(MODULE_ID).map(String::as_str))
        .collect();
    let is_marked = |symbol: u32| marks.get(symbol as usize).is_some_and(Option::is_some);
    // What was met by functions of one file, and without a file by those of several.
    let mut met: HashMap<u32, Option<&str>> = HashMap::new();
    for (mark, function) in marks.iter().zip(0..) {
        let Some(mark) = mark else { continue };
        let mut open: Vec<(u32, Option<&str>)> = vec![(function, Some(mark))];
        while let Some((symbol, file)) = open.pop() {
            let needed = closure.needed_by(symbol);
            for needed in needed.into_iter().filter(|needed| !is_marked(*needed)) {
                // A symbol goes from unmet to one file and from there to several, never back: it is passed through
                // twice at most.
                let file = match met.get(&needed) {
                    None => file,
                    Some(known) if known.is_none() || *known == file => continue,
                    Some(_) => None,
                };
                met.insert(needed, file);
                open.push((needed, file));
            }
        }
    }
    let is_variable = |symbol: u32| symbol as usize >= module.functions.len();
    (met.into_iter())
        .filter(|(symbol, _)| is_variable(*symbol))
        .filter_map(|(symbol, file)| Some((symbol, file?)))
        .collect()
}
