#!/usr/bin/env node
// A file of the repository, so that npm can link it before the first build.
import '../dist/cli/main.js';
