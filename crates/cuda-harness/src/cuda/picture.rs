//! The figures of `--bandwidth` as a picture: SVG that takes nothing from elsewhere, in the colours that its reader prefers.

use std::fmt::{self, Write};

use super::figures::{Line, Peaks, Report, Step};

/// Where labels, bars and figures begin, and where the picture ends.
const LEFT: f64 = 16.0;
const BARS: f64 = 420.0;
const FIGURES: f64 = BARS + SPAN + 14.0;
const WIDTH: f64 = FIGURES + 276.0;

/// The length of a bar that reaches the end of the axis.
const SPAN: f64 = 350.0;

/// What the axis shows at least, as a share of the copy: a bar that is longer than it is seen to be so.
const LEAST: f64 = 1.25;

/// Where the first heading stands, from one row to the next, and how thick a bar is.
const TOP: f64 = 104.0;
const ROW: f64 = 36.0;
const BAR: f64 = 16.0;

/// What the number of the copy takes to either side, with half of another.
const ROOM: f64 = 58.0;

/// Colours of text, paper, bars and lines, by day and by night.
const STYLE: &str = "\
.paper{fill:#ffffff}.text{fill:#1f2328}.soft{fill:#59636e}.bar{fill:#2f6fb0}.step{fill:#2e7d32}.axis{stroke:#b8bfc6}.copy{stroke:#c62828}
@media (prefers-color-scheme:dark){.paper{fill:#0d1117}.text{fill:#e6edf3}.soft{fill:#9198a1}.bar{fill:#58a6ff}.step{fill:#56d364}.axis{stroke:#3d444d}.copy{stroke:#ff7b72}}";

/// A bar with what stands beside it.
struct Bar {
    class: &'static str,
    label: String,
    below: String,
    share: f64,
    figures: String,
    /// Where the peaks of the GPU are given.
    attained: Option<String>,
}

/// In words: by the roofline.
fn attained(
    peaks: Option<&Peaks>,
    bytes: usize,
    microseconds: f64,
    teraflops: Option<f64>,
) -> Option<String> {
    let (share, limit) = peaks?.attained(bytes, microseconds, teraflops);
    Some(format!("{} of the peak of {limit}", percent(share)))
}

impl Bar {
    fn of_line(line: &Line, peaks: Option<&Peaks>) -> Bar {
        let flops = line.teraflops.map(|flops| format!(" · {flops:.1} TFLOP/s")).unwrap_or_default();
        let (share, time, bytes) = (percent(line.of_the_copy), time(line.microseconds), size(line.bytes));
        Bar {
            class: "bar",
            label: line.opcode.clone(),
            below: line.what.clone(),
            share: line.of_the_copy,
            figures: format!("{share} · {time} · {bytes}{flops}"),
            attained: attained(peaks, line.bytes, line.microseconds, line.teraflops),
        }
    }

    fn of_step(step: &Step, peaks: Option<&Peaks>) -> Bar {
        let (share, time, bytes) = (percent(step.of_the_copy), time(step.microseconds), size(step.bytes));
        let tokens = grouped(step.tokens_per_second);
        Bar {
            class: "step",
            label: step.model.clone(),
            below: format!(
                "{} rows in the caches, {} tasks",
                grouped(step.context as f64),
                grouped(step.tasks as f64)
            ),
            share: step.of_the_copy,
            figures: format!("{tokens} tokens/s · {share} · {time} · {bytes}"),
            attained: attained(peaks, step.bytes, step.microseconds, None),
        }
    }
}

/// The same figures give the same bytes. With the peaks of the GPU each also has its share of what these allow.
pub fn svg(report: &Report, peaks: Option<&Peaks>) -> String {
    let mut text = String::new();
    // Nothing that is written to a string fails.
    let _ = draw(report, peaks, &mut text);
    text
}

fn draw(report: &Report, peaks: Option<&Peaks>, to: &mut String) -> fmt::Result {
    let opcodes: Vec<Bar> = report.opcodes.iter().map(|line| Bar::of_line(line, peaks)).collect();
    let steps: Vec<Bar> = report.steps.iter().map(|step| Bar::of_step(step, peaks)).collect();
    let shares = opcodes.iter().chain(&steps).map(|bar| bar.share).filter(|share| share.is_finite());
    // In quarters, so that the axis ends where something is written.
    let whole = (shares.fold(LEAST, f64::max) * 4.0).ceil() / 4.0;
    let parts: Vec<(&str, &[Bar])> =
        [("Opcodes", opcodes.as_slice()), ("One step of a decoder, as one launch", steps.as_slice())]
            .into_iter()
            .filter(|(_, bars)| !bars.is_empty())
            .collect();
    let height =
        TOP + parts.iter().map(|(_, bars)| 2.0 * ROW + ROW * bars.len() as f64).sum::<f64>() - ROW / 2.0;
    let device = &report.device;
    let title = format!("{}, {}: opcodes beside a plain copy", device.name, device.target);
    writeln!(
        to,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" font-family=\"sans-serif\" font-size=\"12\">"
    )?;
    writeln!(to, "<title>{}</title>\n<style>{STYLE}</style>", escaped(&title))?;
    writeln!(to, "<rect class=\"paper\" width=\"{WIDTH}\" height=\"{height}\"/>")?;
    writeln!(to, "<text class=\"text\" x=\"{LEFT}\" y=\"28\" font-size=\"16\">{}</text>", escaped(&title))?;
    let kernels = format!("kernels {}", device.kernels);
    let known = [&report.date, &device.uuid, &device.driver, &device.toolkit];
    let machine: Vec<&str> = known.into_iter().flatten().map(String::as_str).collect();
    let mut setting = report.setting();
    if let Some(Peaks { target, .. }) = peaks {
        let (memory, units) = (grouped(target.hbm_bandwidth_gbs), grouped(target.fp16_tflops));
        let _ =
            write!(setting, "; peaks of the record {}: {memory} GB/s, {units} TFLOP/s of F16", target.name);
    }
    for (at, said) in [machine.join("; "), kernels, setting].iter().enumerate() {
        let y = 48 + 17 * at;
        writeln!(to, "<text class=\"soft\" x=\"{LEFT}\" y=\"{y}\">{}</text>", escaped(said))?;
    }
    let mut y = TOP;
    for (heading, bars) in parts {
        let first = y + ROW;
        writeln!(
            to,
            "<text class=\"text\" x=\"{LEFT}\" y=\"{}\" font-size=\"14\">{heading}</text>",
            y + 14.0
        )?;
        axis(to, whole, [first - 8.0, first + ROW * bars.len() as f64 - 8.0])?;
        for (at, bar) in bars.iter().enumerate() {
            row(to, bar, whole, first + ROW * at as f64)?;
        }
        y = first + ROW * bars.len() as f64 + ROW;
    }
    writeln!(to, "</svg>")
}

/// A line at each quarter of the copy, or at each whole where there are many, and a thick one at the copy.
fn axis(to: &mut String, whole: f64, [top, bottom]: [f64; 2]) -> fmt::Result {
    // No more than a dozen, however much faster than the copy something is.
    let copy = BARS + SPAN / whole;
    let apart = if whole <= 3.0 { 0.25 } else { (whole / 12.0).ceil() };
    for at in 0..=(whole / apart) as usize {
        let share = apart * at as f64;
        let x = BARS + SPAN * share / whole;
        if share != 1.0 {
            writeln!(
                to,
                "<line class=\"axis\" x1=\"{x:.1}\" y1=\"{top:.1}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\"/>"
            )?;
            // Every other quarter has its number, and none that would touch that of the copy.
            if apart < 1.0 && at % 2 == 1 || (x - copy).abs() < ROOM {
                continue;
            }
            let said = percent(share);
            writeln!(
                to,
                "<text class=\"soft\" x=\"{x:.1}\" y=\"{:.1}\" font-size=\"11\" text-anchor=\"middle\">{said}</text>",
                top - 6.0
            )?;
        }
    }
    writeln!(
        to,
        "<line class=\"copy\" x1=\"{copy:.1}\" y1=\"{top:.1}\" x2=\"{copy:.1}\" y2=\"{bottom:.1}\" stroke-width=\"2\"/>\n\
         <text class=\"text\" x=\"{copy:.1}\" y=\"{:.1}\" font-size=\"11\" text-anchor=\"middle\">100 %, the copy</text>",
        top - 6.0
    )
}

fn row(to: &mut String, bar: &Bar, whole: f64, y: f64) -> fmt::Result {
    let length = if bar.share.is_finite() { SPAN * bar.share.max(0.0) / whole } else { 0.0 };
    let Bar { class, label, below, figures, attained, .. } = bar;
    writeln!(to, "<text class=\"text\" x=\"{LEFT}\" y=\"{:.1}\">{}</text>", y + 8.0, escaped(label))?;
    writeln!(
        to,
        "<text class=\"soft\" x=\"{LEFT}\" y=\"{:.1}\" font-size=\"11\">{}</text>",
        y + 22.0,
        escaped(below)
    )?;
    writeln!(
        to,
        "<rect class=\"{class}\" x=\"{BARS}\" y=\"{y:.1}\" width=\"{length:.1}\" height=\"{BAR}\" opacity=\"0.85\"/>"
    )?;
    if let Some(said) = attained {
        writeln!(
            to,
            "<text class=\"soft\" x=\"{FIGURES}\" y=\"{:.1}\" font-size=\"11\">{said}</text>",
            y + 22.0
        )?;
    }
    // Beside the labels where there are two lines, and beside the middle of the bar where there is one.
    let y = if attained.is_some() { y + 8.0 } else { y + 12.0 };
    writeln!(to, "<text class=\"text\" x=\"{FIGURES}\" y=\"{y:.1}\">{}</text>", escaped(figures))
}

/// With a digit behind the point where there would be none before it.
fn percent(share: f64) -> String {
    let digits = usize::from(share > 0.0 && share < 0.01);
    format!("{:.digits$} %", 100.0 * share)
}

fn time(microseconds: f64) -> String {
    if microseconds < 100.0 {
        format!("{microseconds:.1} µs")
    } else {
        format!("{} µs", grouped(microseconds))
    }
}

/// In thousands or millions of bytes.
fn size(bytes: usize) -> String {
    match bytes as f64 {
        small if small < 1e6 => format!("{:.1} kB", small / 1e3),
        middle if middle < 1e8 => format!("{:.1} MB", middle / 1e6),
        large => format!("{} MB", grouped(large / 1e6)),
    }
}

/// Without what is behind the point, in groups of three digits.
fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    // What is no number has no groups.
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return digits;
    }
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A text as XML has it, which has no place for the characters that are no text.
fn escaped(text: &str) -> String {
    let is_text = |letter: char| !letter.is_control() && !matches!(letter, '\u{fffe}' | '\u{ffff}');
    let text: String = text.chars().map(|letter| if is_text(letter) { letter } else { '\u{fffd}' }).collect();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use megakernel_ir::protocol::Facts;

    use super::*;

    fn line(opcode: &str, share: f64, microseconds: f64, bytes: usize) -> Line {
        Line {
            opcode: opcode.to_owned(),
            what: "K < N & \"more\"".to_owned(),
            bytes,
            microseconds,
            rate: 100.0 * share,
            of_the_copy: share,
            teraflops: None,
        }
    }

    fn report() -> Report {
        Report {
            date: Some("2026-11-27".to_owned()),
            device: Facts {
                name: "<script>\u{1}&".to_owned(),
                target: "sm_90a".to_owned(),
                kernels: "abc".to_owned(),
                driver: Some("CUDA 13.0".to_owned()),
                threads_per_block: Some(256),
                ..Facts::default()
            },
            blocks: 16,
            mebibytes: 512,
            copy: 2824.4,
            opcodes: vec![
                line("GEMV_TILE", 0.5, 12_345.6, 536_870_912),
                Line { teraflops: Some(7.74), ..line("GEMM_TILE", 1.1, 99.94, 2_500_000) },
            ],
            steps: vec![Step {
                model: "toy".to_owned(),
                context: 1024,
                tasks: 15_882,
                bytes: 131_072,
                microseconds: 400.0,
                tokens_per_second: 2500.0,
                of_the_copy: 0.0625,
                token: 7,
            }],
        }
    }

    /// Those of a class: x, y, width.
    fn bars(svg: &str, class: &str) -> Vec<[String; 3]> {
        let is_bar = |line: &&str| line.starts_with(&format!("<rect class=\"{class}\""));
        let member = |line: &str, name: &str| {
            let from = line.split(&format!(" {name}=\"")).nth(1).expect("the member");
            from.split('"').next().unwrap_or_default().to_owned()
        };
        svg.lines().filter(is_bar).map(|line| ["x", "y", "width"].map(|name| member(line, name))).collect()
    }

    fn widths(report: &Report) -> Vec<String> {
        bars(&svg(report, None), "bar").into_iter().map(|[_, _, width]| width).collect()
    }

    #[test]
    fn bars_are_as_long_as_their_share() {
        let svg = svg(&report(), None);
        // The axis goes to 125 %, 350 wide: so 100 % is 280. Rows are 36 apart, and begin 36 below their heading, at 104.
        assert_eq!(bars(&svg, "bar"), [["420", "140.0", "140.0"], ["420", "176.0", "308.0"]]);
        // The last row ends at 212, the next heading is at 248.
        assert_eq!(bars(&svg, "step"), [["420", "284.0", "17.5"]]);
        let copies: Vec<&str> = svg.lines().filter(|line| line.contains("class=\"copy\"")).collect();
        assert!(copies.len() == 2 && copies.iter().all(|line| line.contains("x1=\"700.0\"")), "{copies:?}");
    }

    #[test]
    fn what_is_faster_than_the_axis_makes_it_longer() {
        let mut report = report();
        report.opcodes[1].of_the_copy = 1.6;
        // To 175 %: 100 % is 200.
        assert_eq!(widths(&report), ["100.0", "320.0"]);
        report.opcodes[1].of_the_copy = 99.9;
        assert_eq!(widths(&report), ["1.8", "349.6"]);
        // A time of nothing is no length.
        report.opcodes[1].of_the_copy = f64::INFINITY;
        assert_eq!(widths(&report), ["140.0", "0.0"]);
    }

    #[test]
    fn beside_a_bar_stand_its_figures() {
        let svg = svg(&report(), None);
        for said in [
            ">50 % · 12,346 µs · 537 MB<",
            ">110 % · 99.9 µs · 2.5 MB · 7.7 TFLOP/s<",
            ">2,500 tokens/s · 6 % · 400 µs · 131.1 kB<",
            ">1,024 rows in the caches, 15,882 tasks<",
            ">16 blocks of 256 threads, 512 MiB in each launch; a plain copy moves 2824 GB/s<",
            ">2026-11-27; CUDA 13.0<",
            ">kernels abc<",
        ] {
            assert!(svg.contains(said), "{said}: {svg}");
        }
        assert_eq!([0.0, 0.002, 0.0149].map(percent), ["0 %", "0.2 %", "1 %"]);
    }

    #[test]
    fn texts_are_escaped_and_nothing_is_taken_from_elsewhere() {
        let report = report();
        let svg = svg(&report, None);
        assert!(
            svg.contains("<title>&lt;script&gt;\u{fffd}&amp;, sm_90a: opcodes beside a plain copy</title>"),
            "{svg}"
        );
        assert!(svg.contains(">K &lt; N &amp; &quot;more&quot;<"), "{svg}");
        assert!(!svg.contains("<script"), "{svg}");
        // The one address is the name of the language.
        let addresses =
            svg.matches("http").count() + svg.matches("url(").count() + svg.matches("href").count();
        assert_eq!(addresses, 1, "{svg}");
        // What is written as JSON and read again is drawn the same.
        let again: Report = serde_json::from_str(&report.json().expect("JSON")).expect("the same figures");
        assert_eq!((again == report, super::svg(&again, None)), (true, svg));
    }

    #[test]
    fn what_is_attained_is_of_the_nearer_limit() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("record.json");
        let record = |device: &str| {
            let target =
                r#"{"name": "<toy>", "hbm_bandwidth_gbs": 100.0, "fp16_tflops": 20.0, "sm_arch": 90}"#;
            let text = format!("{{\"target\": {target}, \"devices\": [{device:?}]}}");
            std::fs::write(&path, text).expect("a file");
        };
        let mut report = report();
        report.device.name = "a GPU".to_owned();
        record("a GPU");
        let peaks = Peaks::read(&path, &report).expect("the record");
        let svg = svg(&report, Some(&peaks));
        for said in [
            // 536,870,912 bytes in 12,345.6 µs are 43.5 GB/s of 100.
            ">43 % of the peak of memory<",
            // 2,500,000 bytes in 99.94 µs are 25.0 GB/s, a fourth; 7.74 TFLOP/s of 20 are more.
            ">39 % of the peak of matrix units<",
            // 131,072 bytes in 400 µs are 0.33 GB/s.
            ">0.3 % of the peak of memory<",
            "2824 GB/s; peaks of the record &lt;toy&gt;: 100 GB/s, 20 TFLOP/s of F16<",
        ] {
            assert!(svg.contains(said), "{said}: {svg}");
        }
        record("another");
        let refused = Peaks::read(&path, &report).expect_err("another GPU");
        assert!(refused.ends_with("the record is of another, and the figures are of a GPU"), "{refused}");
    }
}
