//! Which regions can be one (clause MCI-26).

use std::collections::{BTreeMap, HashMap};

use serde_json::Value as Json;

use crate::elimination::Draft;
use crate::part::{Kind, Node, Part, size};

const EACH: usize = 1;

/// Why a tensor stays that could vanish when other regions have become one.
pub const AROUND: &str =
    "a region between those that store and load it needs the one, and the other needs it";
const OTHER: &str = "blocks load other tiles of it than they store";

/// Two regions that can be one.
#[derive(Clone, Debug)]
pub struct Joint {
    /// The one that stores.
    pub first: usize,
    /// The one that loads.
    pub second: usize,
    /// Which of the two places it takes.
    pub place: usize,
    /// Block axes of the second one, and those of the first one that they are.
    pub axes: HashMap<String, String>,
    /// By tensor that the first one stores and the second one loads: the tile.
    pub tiles: BTreeMap<String, String>,
}

/// Stores of a region by tensor, each with its body.
pub type Stores<'p> = HashMap<&'p str, (usize, &'p Node)>;

/// Whether two regions can be one, of which the second one alone loads something that the first one stores.
///
/// # Errors
/// Why what is between them stays.
pub fn joint(draft: &Draft, stores: &Stores<'_>, first: usize, second: usize) -> Result<Joint, &'static str> {
    let (Some(one), Some(two)) = (&draft.parts[first], &draft.parts[second]) else {
        return Err("nobody loads it");
    };
    if one.goes_on() && two.goes_on() {
        return Err("the regions that store and load it both have a stream or a state");
    }
    let (axes, tiles) = matched(draft, one, two, stores)?;
    let (smaller, larger) = if one.tiles.len() < two.tiles.len() { (one, two) } else { (two, one) };
    let mut held = larger.held;
    for tile in smaller.tiles.iter().filter(|tile| !larger.tiles.contains(*tile)) {
        let (memory, bytes) = size(draft.values, tile);
        held[memory] = held[memory].saturating_add(bytes);
    }
    if held.iter().zip(draft.target).any(|(held, most)| most.is_some_and(|most| *held > most)) {
        return Err("the tiles of the regions that store and load it do not fit together");
    }
    let between = || first + 1..second;
    let is_needed = stores.keys().any(|name| draft.readers(name, between()).next().is_some());
    let needs =
        || two.tensors(false).any(|name| draft.storer(name).is_some_and(|place| between().contains(&place)));
    let place = match is_needed {
        false => second,
        true if needs() => return Err(AROUND),
        true => first,
    };
    Ok(Joint { first, second, place, axes, tiles })
}

/// Axes by axes, and tiles by tensors.
type Matched = (HashMap<String, String>, BTreeMap<String, String>);

/// How the tiles that one region loads are those that another one stores.
fn matched(draft: &Draft, one: &Part, two: &Part, stores: &Stores<'_>) -> Result<Matched, &'static str> {
    let (mut axes, mut back, mut tiles) = (HashMap::new(), HashMap::new(), BTreeMap::new());
    for (_, load) in two.moves(false) {
        let Some((tensor, to)) = load.moved() else { continue };
        let Some(&(body, store)) = stores.get(tensor) else { continue };
        let Some((_, tile)) = store.moved() else { continue };
        if one.goes_on() && body == EACH {
            return Err("it is stored in each iteration");
        }
        let shape = |name: &str| draft.values.get(name).map(|value| &value["shape"]);
        if load.kind != Kind::Load || shape(to) != shape(tile) {
            return Err(OTHER);
        }
        let places = |node: &Node| node.json["at"].as_array().cloned().unwrap_or_default();
        for (stored, loaded) in places(store).iter().zip(&places(load)) {
            index(one, two, [stored, loaded], &mut axes, &mut back)?;
        }
        tiles.insert(tensor.to_owned(), tile.to_owned());
    }
    if axes.len() != one.axes.len() || axes.len() != two.axes.len() {
        return Err(OTHER);
    }
    Ok((axes, tiles))
}

/// How an index of the one region is that of the other.
fn index(
    one: &Part,
    two: &Part,
    [stored, loaded]: [&Json; 2],
    axes: &mut HashMap<String, String>,
    back: &mut HashMap<String, String>,
) -> Result<(), &'static str> {
    let ((stored, number), (loaded, other)) = (one.form(stored), two.form(loaded));
    let (mut stored, mut loaded): (Vec<_>, Vec<_>) =
        (stored.into_iter().collect(), loaded.into_iter().collect());
    stored.sort_by_key(|(axis, factor)| (*factor, one.axes.get(axis)));
    loaded.sort_by_key(|(axis, factor)| (*factor, two.axes.get(axis)));
    if number != other || stored.len() != loaded.len() {
        return Err(OTHER);
    }
    for ((to, factor), (from, again)) in stored.into_iter().zip(loaded) {
        let same = one.axes.contains_key(&to) && one.axes.get(&to) == two.axes.get(&from);
        let is_new = axes.insert(from.clone(), to.clone()).is_none_or(|known: String| known == to);
        let is_only = back.insert(to, from.clone()).is_none_or(|known: String| known == from);
        if !(same && factor == again && is_new && is_only) {
            return Err(OTHER);
        }
    }
    Ok(())
}
