//! What operations do to the lanes of values.
