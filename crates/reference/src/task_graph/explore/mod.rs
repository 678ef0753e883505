//! Small task graphs in every order; shares no code with the validator.
