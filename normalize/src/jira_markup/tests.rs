//! Fixtures of our own, and laws over whatever comes.
#![allow(clippy::unwrap_used)]

use super::to_markdown;
use proptest::prelude::*;

#[test]
fn every_construct() {
    insta::assert_snapshot!(to_markdown(
        r"h2. Why it *cracks*
The clay was _wet_, -dry- and {{kiln.fire()}}; see [the guide|https://example.org/a] or [https://example.org/b].
Ask [~ada] or [~accountid:557058:abc], see [^log.txt] and !photo.png|thumbnail!.
Not bold: 2*3*4, snake_case_name, a-b-c, [sic].\\Next line, {color:red}hot{color}.

* clay
** grey
*** ash
* sand
# fire
# cool
#* slowly

||cone||at||
|6|[1222|https://example.org/c]|
|a|b|

bq. never twice
----
{quote}
They said
so.
{quote}
{code:title=kiln.rs|rust}
fn fire() { *hot* }
h1. no heading
{code}
{noformat}
  raw *text*
{noformat}
{panel:title=Mind}
* hot
{panel}
# no heading of Markdown"
    ));
}

#[test]
fn what_never_closes_keeps_its_words() {
    assert_eq!(
        to_markdown("{code}\nfire()\nmore"),
        "```\nfire()\nmore\n```"
    );
    assert_eq!(to_markdown("*never closed"), "\\*never closed");
    assert_eq!(to_markdown("{quote}\nopen"), "> open");
    assert_eq!(
        to_markdown("{unknown:x}body{unknown}"),
        "{unknown:x}body{unknown}"
    );
    assert_eq!(to_markdown(""), "");
}

proptest! {
    #[test]
    fn every_word_of_prose_is_kept_in_order(words in prop::collection::vec("[a-z]{2,8}", 1..8), marks in prop::collection::vec("[*_+^~|{}\\[\\]!#-]{0,2}", 8)) {
        let text: Vec<String> = words.iter().zip(&marks).map(|(w, m)| format!("{m}{w}")).collect();
        let markdown = to_markdown(&text.join(" "));
        let mut rest = markdown.as_str();
        for word in &words {
            let at = rest.find(word.as_str());
            prop_assert!(at.is_some(), "{word:?} of {text:?} is not in {markdown:?}");
            rest = &rest[at.unwrap() + word.len()..];
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,40}", lines in prop::collection::vec("[|*#h1-6. {}a-z:\\\\!\\[\\]~-]{0,16}", 0..8)) {
        for text in [text, lines.join("\n")] {
            prop_assert_eq!(to_markdown(&text), to_markdown(&text));
        }
    }

    #[test]
    fn code_is_left_as_it_is(body in "[a-zA-Z*_#{}| ]{1,30}") {
        prop_assume!(!body.contains("{noformat}"));
        let markdown = to_markdown(&format!("{{noformat}}\n{body}\n{{noformat}}"));
        prop_assert_eq!(markdown, format!("```\n{body}\n```"));
    }
}
