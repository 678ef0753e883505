//! Who sends what when: a lane for each element, time downwards, and a line for each message.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::Figures;
use crate::network::{Element, Network};
use crate::program::Program;

/// The most lanes and messages of a picture.
const MOST: [usize; 2] = [128, 20_000];

const LANE: f64 = 64.0;
const HEIGHT: f64 = 900.0;
const TOP: f64 = 40.0;

/// An SVG of all messages.
///
/// # Errors
/// There are too many to be seen.
pub fn picture(program: &Program, network: &Network, figures: &Figures) -> Result<String, String> {
    let ends = |queue: usize| program.queues.get(queue).map(|queue| [queue.sender, queue.receiver]);
    let lanes: BTreeSet<Element> =
        figures.messages.iter().filter_map(|message| ends(message.queue)).flatten().collect();
    let lanes: Vec<Element> = lanes.into_iter().collect();
    let found = [lanes.len(), figures.messages.len()];
    if found[0] > MOST[0] || found[1] > MOST[1] {
        return Err(format!(
            "{} elements with {} messages are more than a picture shows: {} and {}",
            found[0], found[1], MOST[0], MOST[1]
        ));
    }
    let x = |element: Element| (lanes.binary_search(&element).unwrap_or(0) as f64 + 0.5) * LANE;
    let scale = if figures.time > 0.0 { HEIGHT / figures.time } else { 1.0 };
    let y = |time: f64| TOP + time * scale;
    let [width, height] = [lanes.len() as f64 * LANE, TOP + HEIGHT + 20.0];
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"10\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"
    );
    for &element in &lanes {
        let x = x(element);
        let _ = writeln!(
            svg,
            "<text x=\"{x}\" y=\"20\" text-anchor=\"middle\">{}</text>\n<line x1=\"{x}\" y1=\"{TOP}\" x2=\"{x}\" y2=\"{}\" stroke=\"#ccc\"/>",
            network.name(element).replace("rank ", "r").replace(" cube ", " c"),
            TOP + HEIGHT
        );
    }
    for message in &figures.messages {
        let Some([sender, receiver]) = ends(message.queue) else { continue };
        let colour = if network.rank(sender) == network.rank(receiver) { "#2a7" } else { "#15c" };
        let _ = writeln!(
            svg,
            "<line x1=\"{}\" y1=\"{:.2}\" x2=\"{}\" y2=\"{:.2}\" stroke=\"{colour}\"><title>{} to {}: {} bytes, {:.3} to {:.3}</title></line>",
            x(sender),
            y(message.start),
            x(receiver),
            y(message.end),
            network.name(sender),
            network.name(receiver),
            message.bytes,
            message.start,
            message.end
        );
    }
    svg.push_str("</svg>\n");
    Ok(svg)
}
