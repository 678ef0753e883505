//! Versions (clause FMT-05): rules S06 and S07.

use crate::steps::Steps;

/// What a version may look like.
#[derive(Clone, Copy)]
struct Form {
    parts: [usize; 2],
    leading_zeros: bool,
    signs: bool,
    empty: bool,
    major: Option<&'static str>,
    minor: Option<&'static str>,
    patch: Option<&'static str>,
    digits: usize,
}

const FORM: Form = Form {
    parts: [2, 3],
    leading_zeros: false,
    signs: false,
    empty: false,
    major: Some("0"),
    minor: None,
    patch: None,
    digits: usize::MAX,
};

impl Form {
    fn fits(self, text: &str) -> bool {
        let parts: Vec<&str> = text.split('.').collect();
        let is_number = |part: &str| {
            let part = if self.signs { part.trim_start_matches(['+', '-']) } else { part };
            let short = part == "0" || self.leading_zeros || !part.starts_with('0');
            let long = part.len() <= self.digits;
            (self.empty || !part.is_empty()) && short && long && part.bytes().all(|c| c.is_ascii_digit())
        };
        let is = |index: usize, wanted: Option<&str>| {
            let value = |text: &str| text.trim_start_matches(['+', '-']).trim_start_matches('0').to_owned();
            parts.get(index).zip(wanted).is_none_or(|(part, wanted)| value(part) == value(wanted))
        };
        (self.parts[0]..=self.parts[1]).contains(&parts.len())
            && parts.iter().all(|part| is_number(part))
            && is(0, self.major)
            && is(1, self.minor)
            && is(2, self.patch)
    }
}

/// Whether a version is one that this specification covers. `of` is the member.
pub fn is_covered(steps: &Steps, of: &'static str, text: &str) -> bool {
    let fits = FORM.fits(text);
    let others: [(&'static str, Form); 13] = [
        ("version-of-any-major", Form { major: None, ..FORM }),
        ("version-with-leading-zeros", Form { leading_zeros: true, ..FORM }),
        ("version-with-signs", Form { signs: true, ..FORM }),
        ("version-with-empty-parts", Form { empty: true, ..FORM }),
        ("version-of-one-part", Form { parts: [1, 3], ..FORM }),
        ("version-of-four-parts", Form { parts: [2, 4], ..FORM }),
        ("version-of-two-parts-refused", Form { parts: [3, 3], ..FORM }),
        ("version-of-three-parts-refused", Form { parts: [2, 2], ..FORM }),
        ("version-of-other-minor-refused", Form { minor: Some("2"), ..FORM }),
        ("version-of-other-patch-refused", Form { patch: Some("0"), ..FORM }),
        ("version-with-parts-of-one-digit", Form { digits: 1, ..FORM }),
        ("version-with-parts-of-32-bits", Form { digits: 9, ..FORM }),
        ("version-with-parts-of-64-bits", Form { digits: 18, ..FORM }),
    ];
    let fits = others
        .into_iter()
        .fold(fits, |fits, (name, form)| steps.step_of([name, of, ""], fits, || form.fits(text)));
    let fits = steps.step_of(["version-with-spaces", of, ""], fits, || FORM.fits(text.trim()));
    let cut = |marks: &[char]| text.split(marks).next().unwrap_or_default();
    let fits = steps.step_of(["version-with-suffix", of, ""], fits, || FORM.fits(cut(&['-', '+'])));
    steps.step_of(["version-with-prefix", of, ""], fits, || {
        FORM.fits(text.trim_start_matches(['v', 'V', '=']))
    })
}
