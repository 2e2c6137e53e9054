#!/bin/sh
# Cargo's RUSTC_WORKSPACE_WRAPPER for `npm run test:asan`: AddressSanitizer checks the memory accesses of our own crates. Node has
# loaded its runtime already. All other crates are built as usual. Sanitizers are not a stable option of rustc yet.
rustc=$1
shift
case " $* " in
  *" --crate-name build_script_"* | *" --crate-type proc-macro "*) exec "$rustc" "$@" ;;
esac
RUSTC_BOOTSTRAP=1 exec "$rustc" "$@" -Zsanitizer=address -Zexternal-clangrt -Cforce-frame-pointers=yes \
  -Copt-level=1 -Cdebug-assertions=on -Coverflow-checks=on
