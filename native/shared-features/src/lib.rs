//! Nothing but dependencies: features of other crates that the feature `all` brings, for builds without it too. So both kinds of builds take the
//! same compiled crates.
