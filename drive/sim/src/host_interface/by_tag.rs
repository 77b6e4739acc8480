//! Commands by their tags.

use std::ops::{Index, IndexMut};

/// What a model knows of each command, by the tag that the host gave it. No part
/// of a state: commands of a drive that is saved are complete.
#[derive(Debug)]
pub struct ByTag<T>(Vec<T>);

impl<T> Default for ByTag<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Copy> ByTag<T> {
    /// Puts a new command under its tag.
    #[inline]
    pub fn put(&mut self, tag: u32, command: T) {
        let index = tag as usize;
        if index >= self.0.len() {
            self.0.resize(index + 1, command);
        }
        self.0[index] = command;
    }
}

impl<T> Index<u32> for ByTag<T> {
    type Output = T;

    #[inline]
    fn index(&self, tag: u32) -> &T {
        &self.0[tag as usize]
    }
}

impl<T> IndexMut<u32> for ByTag<T> {
    #[inline]
    fn index_mut(&mut self, tag: u32) -> &mut T {
        &mut self.0[tag as usize]
    }
}
