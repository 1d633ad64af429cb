//! Laws of ids, orders and vectors.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use proptest::prelude::*;
use whence_contract::{
    ContentHash, Embedding, Provenance, Revision, TicketKey, decode_token, encode_token,
};

fn key() -> impl Strategy<Value = TicketKey> {
    let provenance = prop_oneof![
        Just(Provenance::Upstream),
        Just(Provenance::Wiki),
        Just(Provenance::Local)
    ];
    (provenance, ".{0,8}", ".{0,20}", ".{0,40}").prop_map(|(provenance, source, scope, ticket)| {
        TicketKey {
            provenance,
            source,
            scope,
            ticket,
        }
    })
}

proptest! {
    #[test]
    fn any_text_is_one_safe_token_and_back(text in ".{0,60}") {
        let token = encode_token(&text);
        prop_assert!(!token.is_empty());
        prop_assert!(token.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_=".contains(&b)));
        prop_assert_eq!(decode_token(&token).unwrap(), text);
    }

    #[test]
    fn a_token_has_one_spelling(token in "[A-Za-z0-9=_.-]{1,12}") {
        if let Ok(text) = decode_token(&token) {
            prop_assert_eq!(encode_token(&text), token);
        }
    }

    #[test]
    fn a_key_survives_its_subject(key in key()) {
        let subject = format!("vectors.minilm_ab12.{}", key.tokens());
        prop_assert_eq!(TicketKey::from_subject(&subject).unwrap(), key);
    }

    #[test]
    fn different_keys_have_different_subjects(a in key(), b in key()) {
        prop_assert_eq!(a == b, a.tokens() == b.tokens());
    }

    #[test]
    fn a_revision_only_moves_forward(now: u64, last in 0..u64::MAX) {
        prop_assert!(Revision::next(now, Some(Revision(last))) > Revision(last));
    }

    #[test]
    fn a_vector_survives_json_bit_by_bit(vector in proptest::collection::vec(any::<f32>(), 0..40)) {
        let embedding = Embedding { text_hash: ContentHash::of("x"), vector };
        let json = serde_json::to_string(&embedding).unwrap();
        let back: Embedding = serde_json::from_str(&json).unwrap();
        let bits = |e: &Embedding| e.vector.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        prop_assert_eq!(bits(&embedding), bits(&back));
    }
}

#[test]
fn a_cut_vector_is_an_error() {
    let json = r#"{"text_hash":"ab","vector":"AAAA"}"#;
    let error = serde_json::from_str::<Embedding>(json)
        .unwrap_err()
        .to_string();
    assert!(error.contains("multiple of four"), "{error}");
}
