//! The parameters of a kernel: one struct, passed by value, that Rust and CUDA both declare.
//!
//! `kernel_params!` declares the Rust side and notes its layout. [`super::Program::source`] puts
//! the layout behind the kernels as static assertions, so that a program whose CUDA struct differs
//! does not compile, and the message names the field.

use std::fmt::Write as _;

/// A device address, as kernels' parameters hold it; 0 is a null pointer.
pub type Address = u64;

/// A field of a struct that Rust and CUDA share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The same on both sides.
    pub name: &'static str,
    /// Bytes.
    pub size: usize,
    /// Bytes that its address is a multiple of.
    pub align: usize,
}

/// The layout of a struct that Rust and CUDA share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The struct's name in CUDA.
    pub name: &'static str,
    /// Bytes.
    pub size: usize,
    /// In the order of declaration.
    pub fields: &'static [Field],
}

impl Layout {
    /// A layout whose fields lie at these offsets.
    ///
    /// # Panics
    /// If they are not in the order of declaration. Called in constants only, so that such a layout
    /// does not compile.
    pub const fn new(
        name: &'static str,
        size: usize,
        fields: &'static [Field],
        offsets: &[usize],
    ) -> Self {
        let mut k = 1;
        while k < offsets.len() {
            assert!(offsets[k - 1] < offsets[k], "fields must stand in order");
            k += 1;
        }
        Self { name, size, fields }
    }

    /// CUDA code that compiles only if CUDA's struct has this layout: the same fields in the same
    /// order, each of the same size and alignment. (NVRTC has `offsetof` from CUDA 13 on only.)
    pub fn assertions(&self) -> String {
        let Self { name, size, fields } = self;
        let names: Vec<&str> = fields.iter().map(|field| field.name).collect();
        let places: Vec<String> = (0..fields.len()).map(|k| format!("f{k}")).collect();
        let same: Vec<String> = names
            .iter()
            .zip(&places)
            .map(|(field, place)| format!("(void*)&{place} == (void*)&it.{field}"))
            .collect();
        let mut text = format!(
            "__device__ constexpr bool {name}_is_as_in_rust() {{ {name} it{{}}; auto& [{}] = it; \
             return {}; }}\nstatic_assert({name}_is_as_in_rust(), \"{name} has the fields {} in \
             Rust\");\nstatic_assert(sizeof({name}) == {size}, \"{name} has {size} bytes in \
             Rust\");\n",
            places.join(", "),
            same.join(" && "),
            names.join(", "),
        );
        for Field {
            name: field,
            size,
            align,
        } in *fields
        {
            let _ = writeln!(
                text,
                "static_assert(sizeof({name}::{field}) == {size} && \
                 alignof(decltype({name}::{field})) == {align}, \"{name}::{field} has {size} \
                 bytes, aligned to {align}, in Rust\");"
            );
        }
        text
    }
}

/// A struct that a kernel takes as its only parameter.
///
/// # Safety
/// `LAYOUT` is the struct's, which is `#[repr(C)]`. `kernel_params!` writes it.
pub unsafe trait Params: Copy {
    /// The layout, compared with CUDA's when a program is compiled.
    const LAYOUT: &'static Layout;

    /// A kernel of this name that takes these parameters.
    fn kernel(name: &'static str) -> Signature {
        Signature {
            name,
            params: Some(Self::LAYOUT),
        }
    }
}

/// A kernel as a program declares it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// Of the `extern "C" __global__` function.
    pub name: &'static str,
    /// Of its parameters; none for the kernels of tests, which may take what they like.
    pub params: Option<&'static Layout>,
}

impl Signature {
    /// A kernel whose parameters nobody checks, for tests and experiments.
    pub fn unchecked(name: &'static str) -> Self {
        Self { name, params: None }
    }
}

/// The fields of a `#[repr(C)]` struct as a [`Layout`].
macro_rules! layout {
    ($type:ty as $name:expr; $($field:ident: $of:ty),* $(,)?) => {
        &$crate::device::params::Layout::new(
            $name,
            size_of::<$type>(),
            &[$($crate::device::params::Field {
                name: stringify!($field),
                size: size_of::<$of>(),
                align: align_of::<$of>(),
            }),*],
            &[$(std::mem::offset_of!($type, $field)),*],
        )
    };
}
pub(crate) use layout;

/// Declares a `#[repr(C)]` struct with the fields of CUDA's struct of the name behind `as`, in the
/// same order, and its `LAYOUT`.
macro_rules! shared_struct {
    ($(#[$attribute:meta])* pub struct $name:ident as $in_cuda:literal {
        $($(#[$of_field:meta])* $visibility:vis $field:ident: $of:ty),* $(,)?
    }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, bytemuck::Pod, bytemuck::Zeroable)]
        #[repr(C)]
        pub struct $name {
            $($(#[$of_field])* $visibility $field: $of),*
        }

        impl $name {
            /// As CUDA must have it.
            pub(crate) const LAYOUT: &'static $crate::device::params::Layout =
                $crate::device::params::layout!(Self as $in_cuda; $($field: $of),*);
        }
    };
}
pub(crate) use shared_struct;

/// Declares kernels' parameters: for each a `#[repr(C)]` struct with the fields of CUDA's struct of
/// the same name, in the same order, with [`Address`] for pointers.
macro_rules! kernel_params {
    ($($(#[$doc:meta])* $visibility:vis struct $name:ident {
        $($field:ident: $of:ty),* $(,)?
    })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, bytemuck::Zeroable)]
        #[repr(C)]
        $visibility struct $name {
            $(pub(crate) $field: $of),*
        }

        // SAFETY: the struct is `#[repr(C)]` and these are its fields.
        unsafe impl $crate::device::params::Params for $name {
            const LAYOUT: &'static $crate::device::params::Layout =
                $crate::device::params::layout!($name as stringify!($name); $($field: $of),*);
        }
    )*};
}
pub(crate) use kernel_params;

#[cfg(test)]
mod tests {
    use super::*;

    kernel_params! {
        struct ExampleParams { values: Address, count: u32, scale: f32 }
    }

    #[test]
    fn the_layout_is_written_as_assertions() {
        let text = ExampleParams::LAYOUT.assertions();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 6);
        assert!(lines[0].contains("auto& [f0, f1, f2] = it;"), "{text}");
        assert!(
            lines[0].contains("(void*)&f1 == (void*)&it.count"),
            "{text}"
        );
        assert!(lines[2].contains("sizeof(ExampleParams) == 16"), "{text}");
        assert!(
            lines[5].contains("sizeof(ExampleParams::scale) == 4"),
            "{text}"
        );
    }
}
