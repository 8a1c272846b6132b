#!/usr/bin/env bash
# Puts the pinned Emscripten into a folder on a Debian 12 machine: Debian's own packages of the next release, unpacked
# beside a C library of their own, through private apt state. Nothing on the host is changed.
#   emscripten.sh PREFIX     afterwards: . PREFIX/env.sh
# A finished prefix (PREFIX/.done) is kept as it is. Needs clang-19, lld-19 and llvm-19 installed.
set -euo pipefail
version=3.1.69
prefix=$(mkdir -p "$1" && cd "$1" && pwd)
[ -f "$prefix/.done" ] && exit 0

# 1. the next Debian release, on the mirror that the host already uses
uri=$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN)' 'Created-By: Packages' | awk '$2 == "Debian" && $1 !~ /security/ { print $1; exit }')
[ -n "$uri" ] || { echo "no Debian mirror in the apt settings: run apt-get update first" >&2; exit 1; }
apt="$prefix/apt"
mkdir -p "$apt"/{lists/partial,cache/archives/partial,parts,debs}
printf 'Types: deb\nURIs: %s\nSuites: trixie\nComponents: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n' "$uri" > "$apt/trixie.sources"
aptget() {
  apt-get -qq -o Dir::Etc::sourcelist="$apt/trixie.sources" -o Dir::Etc::sourceparts="$apt/parts" \
    -o Dir::State::lists="$apt/lists" -o Dir::Cache="$apt/cache" -o APT::Get::List-Cleanup=0 \
    -o Acquire::Languages=none -o APT::Sandbox::User=root "$@"
}
aptget update
(cd "$apt/debs" && aptget download emscripten binaryen libc6 libstdc++6 libgcc-s1)
case "$(ls "$apt"/debs/emscripten_*)" in
  *_"$version"*) ;;
  *) echo "the archive no longer has Emscripten $version, found $(basename "$apt"/debs/emscripten_*)" >&2; exit 1 ;;
esac

# 2. Emscripten is scripts and sources; binaryen is programs, run under the newer C library they were linked with
root="$prefix/root"; runtime="$prefix/runtime"; bin="$prefix/binaryen/bin"
mkdir -p "$root" "$runtime" "$bin" "$prefix/cache"
for deb in "$apt"/debs/{emscripten,binaryen}_*; do dpkg-deb -x "$deb" "$root"; done
for deb in "$apt"/debs/{libc6,libstdc++6,libgcc-s1}_*; do dpkg-deb -x "$deb" "$runtime"; done
lib="$runtime/usr/lib/x86_64-linux-gnu"
for tool in "$root"/usr/bin/wasm-*; do
  printf '#!/bin/sh\nexec "%s/ld-linux-x86-64.so.2" --library-path "%s:%s" "%s" "$@"\n' \
    "$lib" "$lib" "$root/usr/lib/x86_64-linux-gnu" "$tool" > "$bin/${tool##*/}"
  chmod +x "$bin/${tool##*/}"
done

# 3. its JavaScript passes import acorn as an ES module, which ignores NODE_PATH: it has to lie beside them
em="$root/usr/share/emscripten"
if [ ! -e "$em/node_modules/acorn/package.json" ]; then
  rm -rf "$em/node_modules/acorn"
  mkdir -p "$prefix/npm" "$em/node_modules"
  npm install --silent --no-audit --no-fund --prefix "$prefix/npm" acorn@8.15.0 > /dev/null
  cp -r "$prefix/npm/node_modules/acorn" "$em/node_modules/acorn"
fi
printf "LLVM_ROOT = '/usr/lib/llvm-19/bin'\nBINARYEN_ROOT = '%s'\nNODE_JS = '%s'\nCACHE = '%s'\n" \
  "$prefix/binaryen" "$(command -v node)" "$prefix/cache" > "$prefix/config"
printf 'export EM_CONFIG="%s/config"\nexport EMSCRIPTEN="%s"\nexport PATH="%s:$PATH"\n' "$prefix" "$em" "$em" > "$prefix/env.sh"

# 4. prove it: compile, link with Embind, run
. "$prefix/env.sh"
trial=$(mktemp -d); trap 'rm -rf "$trial"' EXIT
cat > "$trial/a.cpp" <<'CPP'
#include <emscripten/bind.h>
unsigned next(unsigned n) { return n + 1; }
EMSCRIPTEN_BINDINGS(trial) { emscripten::function("next", &next); }
CPP
em++ -std=c++20 -O2 -fno-exceptions -lembind -sMODULARIZE -sEXPORT_ES6 -sENVIRONMENT=web,worker,node \
  -sDYNAMIC_EXECUTION=0 -sEMBIND_AOT -sSTRICT --no-entry "$trial/a.cpp" -o "$trial/a.mjs" 2> "$trial/log" || { cat "$trial/log" >&2; exit 1; }
printf 'import load from "./a.mjs";\nif ((await load()).next(41) !== 42) throw new Error("wrong");\n' > "$trial/run.mjs"
node "$trial/run.mjs"
rm -rf "$apt"
touch "$prefix/.done"
