#!/bin/sh
# Cargo's RUSTC_WORKSPACE_WRAPPER for `npm run fuzz`. Our own crates report to libFuzzer the code that an input reaches, and make
# the checks of debug builds. All other crates are built as usual.
rustc=$1
shift
case " $* " in
  *" --crate-name build_script_"* | *" --crate-type proc-macro "*) exec "$rustc" "$@" ;;
esac
exec "$rustc" "$@" -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
  -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
  -Cllvm-args=-sanitizer-coverage-trace-compares -Cdebug-assertions=on -Coverflow-checks=on
