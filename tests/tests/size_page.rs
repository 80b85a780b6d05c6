//! `offkit size --html`: the page in a real browser, where its script runs and its tables are clicked.

#![cfg(unix)]

use std::process::Command;

use offkit_tests::{Folder, need, tool};
use serde_json::{Value, json};

/// Kernels for three of AMD's processors and PTX; `rare` is not for gfx942, and two kernels are of one template.
fn library(folder: &Folder) {
    folder.write(
        "k.cl",
        "kernel void small(global int *p) { p[0] = 1; }\n\
         kernel void _Z5scaleIfEvPT_(global float *p) { p[9] = p[0] * p[2] + p[3] * p[4] + p[5] * p[6] + p[7]; }\n\
         kernel void _Z5scaleIiEvPT_(global int *p) { p[9] = p[0] * p[2] + p[3] * p[4] + p[5] * p[6] + p[7]; }\n\
         #ifndef FEW\nkernel void rare(global int *p) { p[1] = p[0] * p[2]; }\n#endif\n",
    );
    let run = |line: &str| {
        let mut words = line.split_whitespace();
        let program = tool(words.next().unwrap()).expect("the test asked for it");
        folder.run(program, words).ok();
    };
    folder.write("empty", "");
    let mut bundle =
        "clang-offload-bundler -type=o -bundle-align=4096 -output=a.hipfb -input=empty".to_owned();
    let mut targets = "host-x86_64-unknown-linux--".to_owned();
    for (arch, few) in [("gfx90a", ""), ("gfx942", "-DFEW"), ("gfx1100", "")] {
        let code =
            format!("--target=amdgcn-amd-amdhsa -mcpu={arch} -nogpulib {few} -x cl k.cl -o {arch}.hsaco");
        run(&format!("clang-22 {code}"));
        bundle += &format!(" -input={arch}.hsaco");
        targets += &format!(",hipv4-amdgcn-amd-amdhsa--{arch}");
    }
    run(&format!("{bundle} -targets={targets}"));
    run(
        "clang-22 --target=nvptx64-nvidia-cuda -march=sm_80 -Xclang -target-feature -Xclang +ptx78 -nogpulib -DFEW -x cl -S k.cl -o k.ptx",
    );
    folder
        .offkit("pack -o ptx.out --image=file=k.ptx,triple=nvptx64-nvidia-cuda,arch=sm_80,kind=cuda")
        .ok();
    folder.write(
        "a.s",
        ".section .hip_fatbin,\"a\"\n.balign 4096\n.incbin \"a.hipfb\"\n\
         .section .llvm.offloading,\"a\"\n.balign 8\n.incbin \"ptx.out\"\n.text\n.globl f\nf: ret\n",
    );
    run("clang-22 -shared -nostdlib -fuse-ld=lld a.s -o libkernels.so");
}

/// What a page is asked in the browser, once it has run: it is clicked, and says what it then shows.
const QUESTIONS: &str = r##"<script>{
const texts = (id, of) => [...document.querySelectorAll(`#${id} ${of}`)].map(cell => cell.textContent);
const column = (id, at) => texts(id, `tr td:nth-child(${at + 1})`);
const click = (id, at) => document.querySelectorAll(`#${id} th`)[at].click();
const sorted = (id, at) => { click(id, at); const one = column(id, at); click(id, at); return [one, column(id, at)]; };
const map = document.getElementById("map").getBoundingClientRect();
const boxes = [...document.querySelectorAll("#map div")];
const said = {
  titles: texts("matrix", "th"),
  matrix: [...document.querySelectorAll("#matrix tr")].slice(1).map(row => [...row.cells].map(cell => cell.textContent)),
  holes: [...document.querySelectorAll("#matrix td.hole")].map(cell => cell.title),
  boxes: boxes.map(box => {
    const at = box.getBoundingClientRect();
    const inside = at.left >= map.left && at.top >= map.top && at.right <= map.right + 1 && at.bottom <= map.bottom + 1;
    return { title: box.title.split("\n")[0], part: at.width * at.height / (map.width * map.height), inside };
  }),
  code: sorted("kernels", 2),
  names: sorted("kernels", 0),
  rows: ["kernels", "redundant", "removals", "host"].map(id => column(id, 0)),
  families: sorted("matrix", 0)[0],
  wide: document.documentElement.scrollWidth > document.documentElement.clientWidth,
};
boxes[0].click();
said.found = column("matrix", 0);
said.errors = errors;
const answer = document.body.appendChild(document.createElement("pre"));
answer.id = "answer";
answer.textContent = encodeURIComponent(JSON.stringify(said));
}</script>"##;

/// What a page says in the browser.
fn ask(folder: &Folder, page: &str) -> Value {
    let listen = "<script>const errors = []; onerror = message => { errors.push(message); };</script>";
    let asked = page.replacen("<head>", &format!("<head>{listen}"), 1).replacen(
        "</body>",
        &format!("{QUESTIONS}</body>"),
        1,
    );
    let path = folder.write("asked.html", asked);
    let mut chromium = Command::new(tool("chromium").expect("the test asked for it"));
    chromium
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .args(["--disable-dev-shm-usage", "--window-size=1280,2000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", folder.path("profile").display()))
        .arg(format!("file://{}", path.display()))
        .env("HOME", folder.path(""));
    let shown = folder.run_command(&mut chromium).ok();
    let answer = shown
        .split_once("<pre id=\"answer\">")
        .and_then(|(_, rest)| rest.split_once("</pre>"))
        .unwrap_or_else(|| panic!("the page did not answer: {shown}"));
    serde_json::from_str(&decoded(answer.0)).unwrap()
}

/// The text that `encodeURIComponent` made this of.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut parts = text.split('%');
    bytes.extend(parts.next().unwrap().bytes());
    for part in parts {
        bytes.push(u8::from_str_radix(&part[..2], 16).unwrap());
        bytes.extend(part[2..].bytes());
    }
    String::from_utf8(bytes).unwrap()
}

fn list(value: &Value) -> Vec<&str> {
    let values = value.as_array().unwrap().iter();
    values.map(|value| value.as_str().unwrap()).collect()
}

/// `1.5 KiB` in bytes.
fn bytes(text: &str) -> f64 {
    let (number, unit) = text.split_once(' ').unwrap_or((text, "B"));
    let scale = ["B", "KiB", "MiB"]
        .iter()
        .position(|known| *known == unit)
        .unwrap();
    number.parse::<f64>().unwrap_or(-1.0) * [1.0, 1024.0, 1048576.0][scale]
}

#[test]
fn the_page_shows_holes_and_boxes_and_its_tables_are_sorted_by_a_click() {
    need!("clang-22", "ld.lld", "clang-offload-bundler", "chromium");
    let folder = Folder::new();
    library(&folder);
    folder.offkit("size --html page.html libkernels.so").ok();
    let page = String::from_utf8(folder.read("page.html")).unwrap();
    let said = ask(&folder, &page);
    assert_eq!(said["errors"], json!([]));
    assert_eq!(said["wide"], false, "the page is no wider than the window");
    // The host's entry of a bundle is no architecture.
    assert_eq!(
        list(&said["titles"]),
        ["family", "stored", "gfx90a", "gfx942", "gfx1100", "sm_80 PTX"]
    );
    let mut cells: Vec<_> = said["matrix"].as_array().unwrap().iter().map(list).collect();
    cells.sort_unstable();
    let cells: Vec<_> = cells.iter().map(|row| (row[0], &row[2..])).collect();
    assert_eq!(
        cells,
        [
            ("rare", &["1", "0 of 1", "1", "0 of 1"][..]),
            ("scale", &["2", "2", "2", "2"]),
            ("small", &["1", "1", "1", "1"]),
        ]
    );
    assert_eq!(
        list(&said["holes"]),
        [
            "1 kernel is not there for gfx942",
            "1 kernel is not there for sm_80 PTX"
        ]
    );
    // The boxes fill the map, each by its part.
    let boxes = said["boxes"].as_array().unwrap();
    let mut titles: Vec<_> = boxes.iter().map(|one| one["title"].as_str().unwrap()).collect();
    assert_eq!(titles[0], "scale", "the largest comes first");
    titles.sort_unstable();
    assert_eq!(titles, ["rare", "scale", "small"]);
    let parts: Vec<f64> = boxes.iter().map(|one| one["part"].as_f64().unwrap()).collect();
    assert!(parts.iter().all(|part| *part > 0.001), "{parts:?}");
    assert!((parts.iter().sum::<f64>() - 1.0).abs() < 0.02, "{parts:?}");
    assert!(boxes.iter().all(|one| one["inside"] == true), "{boxes:#?}");
    // A click on one finds its family.
    assert_eq!(list(&said["found"]), ["scale"]);
    // Numbers are sorted as numbers, the largest first; texts from the first letter on; a second click turns that round.
    let [down, up] = [0, 1].map(|click| {
        list(&said["code"][click])
            .into_iter()
            .map(bytes)
            .collect::<Vec<_>>()
    });
    assert_eq!(down.len(), 14);
    assert!(
        down.is_sorted_by(|one, other| one >= other) && down[0] > down[13],
        "{down:?}"
    );
    assert!(up.is_sorted(), "{up:?}");
    let [names, back] = [0, 1].map(|click| list(&said["names"][click]));
    assert!(names.is_sorted_by_key(|name| name.to_lowercase()), "{names:?}");
    assert!(
        back.is_sorted_by(|one, other| one.to_lowercase() >= other.to_lowercase()),
        "{back:?}"
    );
    assert!(names.contains(&"void scale<float>(float*)"), "{names:?}");
    assert_eq!(list(&said["families"]), ["rare", "scale", "small"]);
    let rows: Vec<_> = said["rows"].as_array().unwrap().iter().map(list).collect();
    assert_eq!(rows[1], ["nothing"], "nothing is redundant");
    let mut archs = rows[2].clone();
    archs.sort_unstable();
    assert_eq!(archs, ["gfx1100", "gfx90a", "gfx942", "sm_80"]);
    assert_eq!(rows[3], ["libkernels.so"]);
}
