//! The documents that new ones start from: files of a folder, such as the programs of the corpus.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use megakernel_ir::prng::SplitMix64;
use megakernel_ir::protocol::Profile;
use megakernel_ir::{input, registry};
use serde_json::Value;
use walkdir::WalkDir;

/// The largest file that is a base, in bytes: larger ones take longer to judge and find no more.
const LARGEST: u64 = 8 << 10;

/// Files by what they are about. They are read when they are drawn.
pub struct Bases {
    /// Documents of a companion by its profile, each group a folder.
    companions: BTreeMap<Profile, Vec<PathBuf>>,
    /// Programs by folder: those of one opcode lie together.
    programs: Vec<Vec<PathBuf>>,
}

impl Bases {
    /// Finds the JSON files below a folder. Those below a folder that has the name of a companion's profile are documents of that
    /// companion, all others programs.
    ///
    /// # Errors
    /// The folder cannot be read, or has no program.
    pub fn find(folder: &Path) -> Result<Bases, String> {
        let mut companions: BTreeMap<Profile, Vec<PathBuf>> = BTreeMap::new();
        let mut programs: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
        for entry in WalkDir::new(folder).sort_by_file_name() {
            let entry = entry.map_err(|cause| format!("{}: {cause}", folder.display()))?;
            let path = entry.path();
            let small = entry.metadata().is_ok_and(|data| data.is_file() && data.len() <= LARGEST);
            if !small || path.extension().is_none_or(|extension| extension != "json") {
                continue;
            }
            let first = path.strip_prefix(folder).ok().and_then(|below| below.iter().next());
            let companion =
                registry::profiles().find(|profile| first.is_some_and(|name| name == profile.name()));
            match companion {
                Some(profile) => companions.entry(profile).or_default().push(path.to_owned()),
                None => {
                    let group = path.parent().unwrap_or(folder).to_owned();
                    programs.entry(group).or_default().push(path.to_owned());
                }
            }
        }
        if programs.is_empty() {
            return Err(format!("{} has no programs to start from", folder.display()));
        }
        Ok(Bases { companions, programs: programs.into_values().collect() })
    }

    /// Whether there are documents for a profile.
    pub fn serve(&self, profile: Profile) -> bool {
        profile == Profile::EXECUTE
            || Profile::STATIC.contains(&profile)
            || self.companions.contains_key(&profile)
    }

    /// One of the documents that a profile judges. Of programs the folder is drawn first, so that each opcode has its share.
    pub fn draw(&self, profile: Profile, prng: &mut SplitMix64) -> Option<Value> {
        let group = match self.companions.get(&profile) {
            Some(group) => group,
            None => prng.pick(&self.programs)?,
        };
        let bytes = input::read(prng.pick(group)?).ok()?;
        serde_json::from_slice(&bytes).ok()
    }
}
