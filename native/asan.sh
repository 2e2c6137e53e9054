#!/bin/sh
# Cargo's RUSTC_WORKSPACE_WRAPPER for `npm run test:asan`: the memory that our own crates read and write is checked by AddressSanitizer,
# whose runtime Node has loaded already; all other crates are built as ever. Sanitizers are no stable option of rustc yet.
rustc=$1
shift
case " $* " in
  *" --crate-name build_script_"* | *" --crate-type proc-macro "*) exec "$rustc" "$@" ;;
esac
RUSTC_BOOTSTRAP=1 exec "$rustc" "$@" -Zsanitizer=address -Zexternal-clangrt -Cforce-frame-pointers=yes \
  -Copt-level=1 -Cdebug-assertions=on -Coverflow-checks=on
