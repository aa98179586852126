//! Files of weights: both types of numbers, and what is wrong with broken ones.

use super::twin::{Tensors, shapes};
use super::{Lpips, Network};
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use std::collections::{BTreeMap, HashMap};

/// Type, shape and bytes by name.
type Raw = BTreeMap<String, (Dtype, Vec<usize>, Vec<u8>)>;

fn bytes_of(network: Option<&str>, tensors: &Raw) -> Vec<u8> {
    let views = tensors.iter().map(|(name, (dtype, shape, data))| {
        let view = TensorView::new(*dtype, shape.clone(), data).unwrap();
        (name.clone(), view)
    });
    let metadata = network.map(|name| HashMap::from([("network".to_owned(), name.to_owned())]));
    safetensors::serialize(views, metadata).unwrap()
}

/// The file with these tensors in 32 bits.
pub fn of_f32(network: &str, tensors: &Tensors) -> Vec<u8> {
    let raw = tensors.iter().map(|(name, (shape, values))| {
        let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        (name.clone(), (Dtype::F32, shape.clone(), bytes))
    });
    bytes_of(Some(network), &raw.collect())
}

#[test]
fn half_precision_is_read() {
    // 1 + m/1024 in [1, 2), times 2^-4.
    let mantissa = |i: usize| (i * 619 % 1024) as u16;
    let (mut halves, mut floats) = (Raw::new(), Tensors::new());
    for (name, shape) in shapes(Network::Alex) {
        let count: usize = shape.iter().product();
        let bits = (0..count).map(|i| 0x2c00u16 | mantissa(i));
        let bytes = bits.flat_map(|bits| bits.to_le_bytes()).collect();
        halves.insert(name.clone(), (Dtype::F16, shape.clone(), bytes));
        let values = (0..count).map(|i| (1.0 + f32::from(mantissa(i)) / 1024.0) / 16.0);
        floats.insert(name, (shape, values.collect()));
    }
    let read = |bytes: &[u8]| Lpips::parse(bytes, "weights".as_ref()).unwrap();
    let a = read(&bytes_of(Some("alex"), &halves));
    let b = read(&of_f32("alex", &floats));
    assert_eq!(a.linear, b.linear);
    for (a, b) in a.convolutions.iter().zip(&b.convolutions) {
        assert_eq!((&a.weights, &a.bias), (&b.weights, &b.bias));
    }
}

#[test]
fn broken_files_are_named_with_what_is_wrong() {
    let tensor = |dtype: Dtype, shape: &[usize], byte: u8| {
        let bytes = shape.iter().product::<usize>() * dtype.bitsize() / 8;
        (dtype, shape.to_vec(), vec![byte; bytes])
    };
    let first = |dtype, shape: &[usize], byte| {
        Raw::from([("features.0.weight".to_owned(), tensor(dtype, shape, byte))])
    };
    let mut later = first(Dtype::F32, &[64, 3, 11, 11], 0);
    let bias = tensor(Dtype::F32, &[63], 0);
    later.insert("features.0.bias".to_owned(), bias);
    let mut last = first(Dtype::F16, &[64, 3, 11, 11], 0);
    let bias = tensor(Dtype::F16, &[64], 0);
    last.insert("features.0.bias".to_owned(), bias);
    for (network, raw, wanted) in [
        (
            None,
            Raw::new(),
            "has no metadata entry `network` (alex or vgg)",
        ),
        (
            Some("squeeze"),
            Raw::new(),
            "is for the network \"squeeze\"; this program knows alex or vgg",
        ),
        (
            Some("alex"),
            Raw::new(),
            "has no tensor `features.0.weight` [64, 3, 11, 11]",
        ),
        (
            Some("vgg"),
            first(Dtype::F32, &[64, 3, 11, 11], 0),
            "tensor `features.0.weight` has the shape [64, 3, 11, 11], expected [64, 3, 3, 3]",
        ),
        (
            Some("alex"),
            first(Dtype::F64, &[64, 3, 11, 11], 0),
            "tensor `features.0.weight` has the type F64, expected F32 or F16",
        ),
        (
            Some("alex"),
            first(Dtype::F32, &[64, 3, 11, 11], 0xff),
            "tensor `features.0.weight` holds a value that is not finite",
        ),
        (
            Some("alex"),
            later,
            "tensor `features.0.bias` has the shape [63], expected [64]",
        ),
        (
            Some("alex"),
            last,
            "has no tensor `lin0.model.1.weight` [1, 64, 1, 1]",
        ),
    ] {
        let bytes = bytes_of(network, &raw);
        let error = Lpips::parse(&bytes, "w.safetensors".as_ref()).unwrap_err();
        let text = error.to_string();
        assert!(
            text.starts_with("w.safetensors") && text.contains(wanted) && !text.contains('\n'),
            "{text}"
        );
    }
    let whole = bytes_of(Some("vgg"), &first(Dtype::F32, &[64, 3, 3, 3], 0));
    for bytes in [&whole[..whole.len() - 1], b"PK\x03\x04", b""] {
        let error = Lpips::parse(bytes, "w.safetensors".as_ref()).unwrap_err();
        let wanted = "is not a complete safetensors file";
        assert!(error.to_string().contains(wanted), "{error}");
    }
    let error = Lpips::read("no/such.safetensors".as_ref()).unwrap_err();
    assert!(error.to_string().contains("cannot be read"), "{error}");
}
