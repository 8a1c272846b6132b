#!/usr/bin/env bash
# Puts the C++ libraries that the build needs into PREFIX/include: Catch2 3.7.1 (amalgamated, from Debian's source
# package), nlohmann_json and xxhash.h (from the installed Debian packages, alone: /usr/include on Emscripten's path
# breaks its own C++ library). A finished prefix is kept.
#   cpp-libraries.sh PREFIX
set -euo pipefail
prefix=$(mkdir -p "$1" && cd "$1" && pwd)
[ -f "$prefix/.done" ] && exit 0
state="$prefix/apt"
mkdir -p "$state"/{lists/partial,archives/partial} "$prefix/include/catch2"
uri=$(apt-get indextargets --format '$(REPO_URI) $(ORIGIN)' 'Created-By: Packages' | awk '$2 == "Debian" && $1 !~ /security/ { print $1; exit }')
[ -n "$uri" ] || { echo "no Debian mirror in the apt settings: run apt-get update first" >&2; exit 1; }
printf 'Types: deb-src\nURIs: %s\nSuites: bookworm-backports\nComponents: main\nSigned-By: /usr/share/keyrings/debian-archive-keyring.gpg\n' "$uri" > "$state/backports.sources"
aptget() {
  apt-get -qq -o Dir::Etc::sourcelist="$state/backports.sources" -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists="$state/lists" \
    -o Dir::Cache::archives="$state/archives" -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o APT::Sandbox::User=root "$@"
}
cd "$state"
aptget update
aptget source --download-only catch2
tar xzf catch2_3.7.1.orig.tar.gz
cp */extras/catch_amalgamated.{hpp,cpp} "$prefix/include/catch2/"
ln -sfn /usr/include/nlohmann "$prefix/include/nlohmann"
cp /usr/include/xxhash.h "$prefix/include/"
cd / && rm -rf "$state"
touch "$prefix/.done"
