//! New samples: several are drawn, and the one with the crossing that was seen least is taken.

use megakernel_ir::prng::SplitMix64;
use megakernel_ir::protocol::Profile;
use serde_json::Value;

use crate::bases::Bases;
use crate::coverage::Coverage;
use crate::reference::{Reference, Says};
use crate::sample::{Declared, Sample};
use crate::{edit, extents, features, values, vary};

/// How many are drawn for one that is taken.
const CHOICES: usize = 4;

/// What samples are drawn from.
pub struct Source<'a> {
    /// Says what a document is.
    pub reference: &'a dyn Reference,
    /// What documents start from.
    pub bases: &'a Bases,
    /// What was seen so far.
    pub coverage: &'a Coverage,
    /// The profiles, each of which has its share.
    pub profiles: &'a [Profile],
}

impl Source<'_> {
    /// A sample that depends on these numbers and on what was seen, and on nothing else. Now and then there is none: what was drawn is
    /// too wild for the reference to say anything about.
    pub fn draw(&self, seed: u64, index: u64) -> Option<Declared> {
        let mut prng = SplitMix64::for_family(&format!("fuzz/{index}"), seed);
        let profile = *prng.pick(self.profiles)?;
        match profile == Profile::EXECUTE {
            true => self.execution(&mut prng),
            false => self.verdict(profile, &mut prng),
        }
    }

    fn verdict(&self, profile: Profile, prng: &mut SplitMix64) -> Option<Declared> {
        let draw = |_| {
            let document = self.document(profile, prng)?;
            Sample { profile, document: document.into_bytes(), launches: Vec::new() }.declare(self.reference)
        };
        let drawn: Vec<Declared> = (0..CHOICES).filter_map(draw).collect();
        drawn.into_iter().min_by_key(|declared| self.coverage.rarity(&features::crossings(declared)))
    }

    /// A document with a few edits.
    fn document(&self, profile: Profile, prng: &mut SplitMix64) -> Option<String> {
        let programs = Profile::STATIC.contains(&profile);
        if programs && profile != Profile::LAUNCH && prng.below(4) == 0 {
            return Some(self.reference.random_program(prng));
        }
        let mut document = self.bases.draw(profile, prng)?;
        let mut other = |prng: &mut SplitMix64| self.bases.draw(Profile::EXECUTE, prng);
        // Where records come and go their ids stay indices, but for some documents that are about that.
        let numbered = programs && prng.below(8) > 0;
        for _ in 0..prng.between(1, 3) {
            match programs && prng.below(3) == 0 {
                true => vary::step(&mut document, &mut other, prng),
                false => edit::edit(&mut document, prng),
            }
            if numbered {
                edit::number(&mut document);
            }
        }
        let text = document.to_string();
        Some(if prng.below(24) == 0 { edit::edit_text(&text, prng) } else { text })
    }

    fn execution(&self, prng: &mut SplitMix64) -> Option<Declared> {
        let accepted = |program: &Value| {
            let text = program.to_string();
            let accepts =
                |profile| matches!(self.reference.verdict(profile, text.as_bytes()), Says::Accept(_));
            [Profile::MEMORY_SAFETY, Profile::VALIDATE, Profile::LAUNCH].into_iter().all(accepts)
        };
        let mut drawn = Vec::new();
        for _ in 0..CHOICES {
            let mut program = self.bases.draw(Profile::EXECUTE, prng)?;
            let mut other = |prng: &mut SplitMix64| self.bases.draw(Profile::EXECUTE, prng);
            vary::vary(&mut program, &mut other, prng, &accepted);
            // A base may be larger than anything that is made of one.
            if extents::elements(&program) > 10 * vary::MOST {
                continue;
            }
            let rarity = self.coverage.rarity(&features::executed(&program));
            drawn.push((rarity, program));
        }
        drawn.sort_by_key(|(rarity, _)| *rarity);
        for (_, program) in drawn {
            let launches = [1, 1, 1, 2, 3][prng.index(5)];
            let launches =
                (0..launches).map(|launch| values::draw(&program, launch == 0, prng)).collect::<Option<_>>();
            let Some(launches) = launches else { continue };
            let document = program.to_string().into_bytes();
            let declared = Sample { profile: Profile::EXECUTE, document, launches }.declare(self.reference);
            if declared.is_some() {
                return declared;
            }
        }
        None
    }
}
