//! The journal of an experiment: what happened, in order, never changed.
