//! What a model was made from, beside its state.

use std::ops::Deref;

/// What a model was made from. It is no part of the state: see
/// [`crate::Device::complete`].
#[derive(Clone, Debug)]
pub struct Blueprint<T>(Option<Box<T>>);

impl<T> Blueprint<T> {
    /// Holds what a model is made from.
    pub fn new(value: T) -> Self {
        Self(Some(Box::new(value)))
    }
}

impl<T> Default for Blueprint<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Deref for Blueprint<T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.0.as_deref().expect("a loaded state was completed")
    }
}
