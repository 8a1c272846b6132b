// Installs what the project needs, once, and says what it does. Node built-ins only: it runs before `npm ci`.
// Everything outside the clone goes to one cache folder, so that a second clone pays nothing.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export const root = dirname(dirname(fileURLToPath(import.meta.url)));
const cache = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'tidemark');
const emscripten = join(cache, 'emscripten-3.1.69');
const libraries = join(cache, 'cpp-libraries-1');

// The newest compiler that Debian 12 has, pinned by name; a package is looked for by a file that it brings.
const packages = {
	build: {
		'clang-19': '/usr/bin/clang++-19',
		'lld-19': '/usr/bin/wasm-ld-19',
		'llvm-19': '/usr/bin/llvm-ar-19',
		cmake: '/usr/bin/cmake',
		'ninja-build': '/usr/bin/ninja',
		python3: '/usr/bin/python3',
		'nlohmann-json3-dev': '/usr/include/nlohmann/json.hpp',
		'libxxhash-dev': '/usr/include/xxhash.h',
	},
	test: {
		'libstdc++-12-dev': '/usr/include/c++/12/vector',
		'libclang-rt-19-dev': '/usr/lib/llvm-19/lib/clang/19/lib/linux/libclang_rt.asan-x86_64.a',
		'clang-format-19': '/usr/bin/clang-format-19',
		'clang-tidy-19': '/usr/bin/clang-tidy-19',
		openssl: '/usr/bin/openssl',
	},
	python: { 'python3-venv': '/usr/lib/python3.11/ensurepip/__init__.py' },
	chromium: { chromium: '/usr/bin/chromium' },
	firefox: { 'firefox-esr': '/usr/bin/firefox-esr' },
	webkit: { 'webkit2gtk-driver': '/usr/bin/WebKitWebDriver', xvfb: '/usr/bin/Xvfb' },
};

// Standard output is the caller's: what is being set up is told on standard error.
const progress = ['ignore', 2, 2];

export function run(command, args, options = {}) {
	const { quiet = false, ...rest } = options;
	const result = spawnSync(command, args, {
		cwd: root,
		stdio: quiet ? 'pipe' : 'inherit',
		encoding: 'utf8',
		...rest,
	});
	if (result.status !== 0) {
		if (quiet) process.stderr.write(`${result.stdout ?? ''}${result.stderr ?? ''}`);
		throw new Error(
			`${command} ${args.join(' ')} ended with ${result.status ?? result.signal ?? result.error?.message}`,
		);
	}
	return result.stdout ?? '';
}

function installPackages(groups) {
	const missing = groups
		.flatMap((group) => Object.entries(packages[group]))
		.filter(([, file]) => !existsSync(file))
		.map(([name]) => name);
	if (missing.length === 0) return;
	const line = `apt-get install -y --no-install-recommends ${missing.join(' ')}`;
	if (process.platform !== 'linux' || !existsSync('/usr/bin/apt-get')) {
		throw new Error(
			`This system is not Debian. Install these yourself, in versions close to Debian 12's: ${missing.join(', ')}`,
		);
	}
	if (process.getuid?.() !== 0)
		throw new Error(`Some Debian packages are missing. Run this once, then try again:\n  sudo ${line}`);
	console.log(`set-up: ${line}`);
	const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
	run('apt-get', ['update', '-qq'], { env, stdio: progress });
	run('apt-get', ['install', '-y', '-qq', '--no-install-recommends', ...missing], { env, quiet: true });
}

function installNodePackages() {
	const lock = createHash('sha256')
		.update(readFileSync(join(root, 'package-lock.json')))
		.digest('hex');
	const mark = join(root, 'node_modules', '.tidemark-lock');
	if (existsSync(mark) && readFileSync(mark, 'utf8') === lock) return;
	console.log('set-up: npm install');
	// Not `npm ci`: it refuses a lock file that lacks optional packages of other platforms, which a registry may not serve.
	run('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--loglevel=error'], { stdio: progress });
	writeFileSync(mark, lock);
}

/** The Python that has the vendor's clients; installs them the first time. */
export function pythonClients() {
	setup('python');
	const requirements = join(root, 'scripts/toolchain/python-clients.txt');
	const mark = createHash('sha256').update(readFileSync(requirements)).digest('hex').slice(0, 12);
	const folder = join(cache, `python-clients-${mark}`);
	if (!existsSync(join(folder, '.done'))) {
		mkdirSync(cache, { recursive: true });
		run('/usr/bin/python3', ['-m', 'venv', '--clear', folder], { quiet: true });
		run(
			join(folder, 'bin/pip'),
			['install', '--quiet', '--no-deps', '--require-hashes', '-r', requirements],
			{ quiet: true },
		);
		writeFileSync(join(folder, '.done'), '');
	}
	return join(folder, 'bin/python');
}

/**
 * The folder whose node_modules has the bundlers, browser drivers and Node versions that packages are tried with;
 * installs them the first time. They are large and nothing else needs them.
 */
export function packagingMatrix() {
	setup('chromium', 'webkit');
	const pinned = join(root, 'tests/packaging/matrix');
	const lock = readFileSync(join(pinned, 'package-lock.json'));
	const folder = join(cache, `matrix-${createHash('sha256').update(lock).digest('hex').slice(0, 12)}`);
	if (!existsSync(join(folder, '.done'))) {
		console.log('set-up: bundlers (a minute, once)');
		mkdirSync(folder, { recursive: true });
		for (const file of ['package.json', 'package-lock.json'])
			copyFileSync(join(pinned, file), join(folder, file));
		run('npm', ['install', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: folder });
		writeFileSync(join(folder, '.done'), '');
	}
	return folder;
}

/** Installs the named groups (`build`, `test`, `chromium`, `firefox`) and returns the environment for the compilers. */
export function setup(...groups) {
	if (Number(process.versions.node.split('.')[0]) < 20)
		throw new Error(`Node 20 or newer is needed, this is ${process.version}`);
	installPackages(groups);
	installNodePackages();
	if (!groups.includes('build')) return process.env;
	mkdirSync(cache, { recursive: true });
	if (!existsSync(join(emscripten, '.done')))
		console.log(`set-up: Emscripten 3.1.69 into ${emscripten} (about three minutes, once)`);
	run('bash', [join(root, 'scripts/toolchain/emscripten.sh'), emscripten], { stdio: progress });
	run('bash', [join(root, 'scripts/toolchain/cpp-libraries.sh'), libraries], { stdio: progress });
	const scripts = join(emscripten, 'root/usr/share/emscripten');
	return {
		...process.env,
		TIDEMARK_DEPS: libraries,
		EMSCRIPTEN: scripts,
		EM_CONFIG: join(emscripten, 'config'),
		PATH: `${scripts}:${process.env.PATH}`,
	};
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
	try {
		setup(...(process.argv.length > 2 ? process.argv.slice(2) : Object.keys(packages)));
	} catch (error) {
		console.error(error.message);
		process.exit(1);
	}
}
