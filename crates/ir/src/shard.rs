//! A run shared by several machines: which part each plays.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Part `index` of `of`, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Shard {
    index: usize,
    of: usize,
}

/// A system that tells each of its jobs which one of how many it is.
struct System {
    name: &'static str,
    index: &'static str,
    /// What the first index is: a number, or the variable that holds it.
    first: First,
    /// The variable that holds the number of jobs, if it tells.
    count: Option<&'static str>,
    /// The variable that holds the step from index to index.
    step: Option<&'static str>,
}

enum First {
    Number(usize),
    Variable(&'static str),
}

const SYSTEMS: [System; 5] = [
    System {
        name: "an array of Slurm",
        index: "SLURM_ARRAY_TASK_ID",
        first: First::Variable("SLURM_ARRAY_TASK_MIN"),
        count: Some("SLURM_ARRAY_TASK_COUNT"),
        step: Some("SLURM_ARRAY_TASK_STEP"),
    },
    System {
        name: "an indexed job of Kubernetes",
        index: "JOB_COMPLETION_INDEX",
        first: First::Number(0),
        count: None,
        step: None,
    },
    System {
        name: "a parallel job of GitLab",
        index: "CI_NODE_INDEX",
        first: First::Number(1),
        count: Some("CI_NODE_TOTAL"),
        step: None,
    },
    System {
        name: "a parallel job of CircleCI",
        index: "CIRCLE_NODE_INDEX",
        first: First::Number(0),
        count: Some("CIRCLE_NODE_TOTAL"),
        step: None,
    },
    System {
        name: "a parallel job of Buildkite",
        index: "BUILDKITE_PARALLEL_JOB",
        first: First::Number(0),
        count: Some("BUILDKITE_PARALLEL_JOB_COUNT"),
        step: None,
    },
];

impl Shard {
    /// All of it.
    pub const WHOLE: Shard = Shard { index: 1, of: 1 };

    /// Part `index` of `of`.
    ///
    /// # Errors
    /// There is no such part.
    pub fn new(index: usize, of: usize) -> Result<Shard, String> {
        if (1..=of).contains(&index) {
            Ok(Shard { index, of })
        } else {
            Err(format!("there is no shard {index} of {of}; they are counted from 1"))
        }
    }

    /// What the command line asks for: `I/N`; or `auto`, or `auto/N` where the environment does not tell how many there are.
    ///
    /// # Errors
    /// It is none of these, or the environment does not tell, or tells two things. The message is for whoever asked.
    pub fn asked(text: &str, variable: &dyn Fn(&str) -> Option<String>) -> Result<Shard, String> {
        match text.strip_prefix("auto") {
            Some("") => Shard::of_environment(None, variable),
            Some(rest) => {
                let count = rest.strip_prefix('/').and_then(|count| count.parse().ok());
                let count =
                    count.ok_or_else(|| format!("`{text}` is no shard; `auto/4`, for instance, is one"))?;
                Shard::of_environment(Some(count), variable)
            }
            None => text.parse(),
        }
    }

    /// [`Shard::asked`] with the environment of this process.
    ///
    /// # Errors
    /// As there.
    pub fn of_command_line(text: &str) -> Result<Shard, String> {
        Shard::asked(text, &|name| std::env::var(name).ok())
    }

    fn of_environment(
        count: Option<usize>,
        variable: &dyn Fn(&str) -> Option<String>,
    ) -> Result<Shard, String> {
        let mut found = SYSTEMS.iter().filter(|system| variable(system.index).is_some());
        let Some(system) = found.next() else {
            let names: Vec<&str> = SYSTEMS.iter().map(|system| system.index).collect();
            return Err(format!(
                "none of the variables {} is set, which tell a job which one it is; give the shard as I/N",
                names.join(", ")
            ));
        };
        if let Some(other) = found.next() {
            return Err(format!(
                "both {} and {} are set: this is {} in {}; give the shard as I/N",
                system.index, other.index, system.name, other.name
            ));
        }
        let number = |name: &str| {
            let text = variable(name).ok_or_else(|| format!("{} is set, but {name} is not", system.index))?;
            text.parse::<usize>().map_err(|_| format!("{name} is `{text}`, which is no number"))
        };
        let of = match (count, system.count) {
            (Some(count), _) => count,
            (None, Some(name)) => number(name)?,
            (None, None) => {
                let name = system.name;
                return Err(format!(
                    "{name} does not tell how many there are; give `auto/N` with that number"
                ));
            }
        };
        let first = match system.first {
            First::Number(first) => first,
            First::Variable(name) => number(name)?,
        };
        let step = match system.step {
            Some(name) if variable(name).is_some() => number(name)?,
            _ => 1,
        };
        let place = number(system.index)?.checked_sub(first).filter(|place| step > 0 && place % step == 0);
        let shard = place.and_then(|place| Shard::new(place / step + 1, of).ok());
        shard.ok_or_else(|| {
            format!(
                "{} is {}, which is not one of {of} from {first} on in steps of {step}; give the shard as I/N",
                system.index,
                variable(system.index).unwrap_or_default()
            )
        })
    }

    /// Which one, from 1.
    pub fn index(self) -> usize {
        self.index
    }

    /// How many there are.
    pub fn of(self) -> usize {
        self.of
    }

    /// Its part of a list: every so manieth, so that what lies beside each other, and costs alike, is shared by all. None if
    /// there are more shards than elements.
    pub fn part<T: Copy>(self, all: &[T]) -> Option<Vec<T>> {
        (self.of <= all.len())
            .then(|| all.iter().skip(self.index.saturating_sub(1)).step_by(self.of.max(1)).copied().collect())
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let number = |text: &str| text.parse::<usize>().ok();
        let parts = text.split_once('/').and_then(|(index, of)| number(index).zip(number(of)));
        let (index, of) = parts
            .ok_or_else(|| format!("`{text}` is no shard; `1/4`, for instance, is the first of four"))?;
        Shard::new(index, of)
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str, environment: &[(&str, &str)]) -> Result<String, String> {
        let variable = |name: &str| {
            environment.iter().find(|(set, _)| *set == name).map(|(_, value)| (*value).to_owned())
        };
        Shard::asked(text, &variable).map(|shard| shard.to_string())
    }

    #[test]
    fn the_shards_of_a_list_are_all_of_it_and_of_equal_length() {
        let all: Vec<usize> = (0..23).collect();
        for of in 1..=23 {
            let parts: Vec<Vec<usize>> =
                (1..=of).filter_map(|index| Shard::new(index, of).ok()?.part(&all)).collect();
            let (least, most) = (parts.iter().map(Vec::len).min(), parts.iter().map(Vec::len).max());
            assert!(most <= least.map(|least| least + 1), "{of}");
            let mut together = parts.concat();
            together.sort_unstable();
            assert_eq!(together, all, "{of}");
        }
        assert_eq!(Shard::new(1, 24).expect("a shard").part(&all), None);
    }

    #[test]
    fn shards_are_counted_from_one() {
        assert_eq!(asked("2/3", &[]), Ok("2/3".to_owned()));
        for wrong in ["0/3", "4/3", "1/0", "1", "a/b", "1/2/3", "-1/2", "auto/", "automatic"] {
            assert!(asked(wrong, &[("CI_NODE_INDEX", "1"), ("CI_NODE_TOTAL", "2")]).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_environment_is_asked_if_that_is_asked_for() {
        let slurm = [
            ("SLURM_ARRAY_TASK_ID", "16"),
            ("SLURM_ARRAY_TASK_MIN", "10"),
            ("SLURM_ARRAY_TASK_COUNT", "4"),
            ("SLURM_ARRAY_TASK_STEP", "2"),
        ];
        assert_eq!(asked("auto", &slurm), Ok("4/4".to_owned()));
        assert_eq!(asked("1/2", &slurm), Ok("1/2".to_owned()));
        // An array with gaps: 10, 16 and two more.
        assert!(asked("auto", &slurm[..3]).is_err_and(|why| why.contains("SLURM_ARRAY_TASK_ID is 16")));
        let kubernetes = [("JOB_COMPLETION_INDEX", "0")];
        assert_eq!(asked("auto/3", &kubernetes), Ok("1/3".to_owned()));
        assert!(asked("auto", &kubernetes).is_err_and(|why| why.contains("auto/N")));
        assert_eq!(asked("auto", &[("CI_NODE_INDEX", "2"), ("CI_NODE_TOTAL", "2")]), Ok("2/2".to_owned()));
        let circle = [("CIRCLE_NODE_INDEX", "0"), ("CIRCLE_NODE_TOTAL", "2")];
        assert_eq!(asked("auto", &circle), Ok("1/2".to_owned()));
        let buildkite = [("BUILDKITE_PARALLEL_JOB", "5"), ("BUILDKITE_PARALLEL_JOB_COUNT", "6")];
        assert_eq!(asked("auto", &buildkite), Ok("6/6".to_owned()));
        assert!(
            asked("auto", &buildkite[..1]).is_err_and(|why| why.contains("BUILDKITE_PARALLEL_JOB_COUNT"))
        );
    }

    #[test]
    fn an_environment_that_tells_nothing_or_two_things_is_refused() {
        assert!(asked("auto", &[]).is_err_and(|why| why.contains("SLURM_ARRAY_TASK_ID, ")));
        let both = [("CI_NODE_INDEX", "1"), ("CI_NODE_TOTAL", "2"), ("JOB_COMPLETION_INDEX", "0")];
        assert!(asked("auto", &both).is_err_and(|why| why.contains("GitLab") && why.contains("Kubernetes")));
        assert!(asked("auto", &[("CI_NODE_INDEX", "x"), ("CI_NODE_TOTAL", "2")]).is_err());
    }
}
