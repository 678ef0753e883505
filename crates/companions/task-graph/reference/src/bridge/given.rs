//! What an import is told of a run: which tokens of which requests there are, where their texts are kept, and which experts
//! the routers choose. A runtime reads all of that from memory; a program has it in its tasks.

use serde_json::Value;

/// Tokens of one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// How many new tokens: rows of the batch, after those of the requests before.
    pub tokens: i64,
    /// How many tokens its text has already: the position of the first new one.
    pub position: i64,
    /// The pages of the cache that hold its text, in order.
    pub pages: Vec<i64>,
}

/// What is known of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Run {
    /// The requests of the batch, in order.
    pub requests: Vec<Request>,
    /// For each task that chooses experts, in the order of the graphs: for each of its rows the experts, best first.
    pub routing: Vec<Vec<Vec<i64>>>,
}

impl Run {
    /// Reads `{"requests": [{"tokens": 1, "position": 7, "pages": [3]}], "routing": [[[5, 2]]]}`, of which either member may be left out.
    ///
    /// # Errors
    /// The place and what is wrong there: another member, another type, a negative number, or a page that two requests have.
    pub fn read(text: &[u8]) -> Result<Run, String> {
        let value: Value = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        let members = value.as_object().ok_or("required: an object")?;
        let mut run = Run::default();
        for (name, value) in members {
            let place = format!("/{name}");
            match name.as_str() {
                "requests" => run.requests = list(value, &place, request)?,
                "routing" => {
                    run.routing = list(value, &place, |value, place| {
                        list(value, place, |value, place| list(value, place, count))
                    })?;
                }
                _ => return Err(format!("{place}: unknown; required: `requests` or `routing`")),
            }
        }
        let mut pages: Vec<i64> = run.requests.iter().flat_map(|request| &request.pages).copied().collect();
        pages.sort_unstable();
        match pages.windows(2).find(|pair| pair.first() == pair.last()) {
            Some(pair) => Err(format!("/requests: page {} is given twice", pair.first().unwrap_or(&0))),
            None => Ok(run),
        }
    }
}

fn list<T>(
    value: &Value,
    place: &str,
    read: impl Fn(&Value, &str) -> Result<T, String>,
) -> Result<Vec<T>, String> {
    let items = value.as_array().ok_or_else(|| format!("{place}: required: an array"))?;
    items.iter().enumerate().map(|(index, item)| read(item, &format!("{place}/{index}"))).collect()
}

fn count(value: &Value, place: &str) -> Result<i64, String> {
    let found = value.as_i64().filter(|&number| (0..=i64::from(i32::MAX)).contains(&number));
    found.ok_or_else(|| format!("{place}: required: an integer from 0 to 2^31 - 1"))
}

fn request(value: &Value, place: &str) -> Result<Request, String> {
    let members = value.as_object().ok_or_else(|| format!("{place}: required: an object"))?;
    if let Some(name) = members.keys().find(|name| !["tokens", "position", "pages"].contains(&name.as_str()))
    {
        return Err(format!("{place}/{name}: unknown; required: `tokens`, `position` and `pages`"));
    }
    let member = |name: &str| {
        let found = members.get(name);
        found
            .map(|value| (value, format!("{place}/{name}")))
            .ok_or_else(|| format!("{place}: `{name}` is missing"))
    };
    let (tokens, position, pages) = (member("tokens")?, member("position")?, member("pages")?);
    Ok(Request {
        tokens: count(tokens.0, &tokens.1)?,
        position: count(position.0, &position.1)?,
        pages: list(pages.0, &pages.1, count)?,
    })
}
