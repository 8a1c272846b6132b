// Runs every check and test, each whatever the others did, and ends with one line: `N passed, N failed`.
//   npm test [-- --only NAME …]     names: see `steps`
//   npm run test:full               with the steps that are long
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from './build.mjs';
import { packagingMatrix, pythonClients, root, setup } from './setup.mjs';

const jobs = String(cpus().length);
const reports = join(root, 'build/reports');
const bin = (name) => join(root, 'node_modules/.bin', name);
let env = process.env;

function execute(command, args, options = {}) {
	const result = spawnSync(command, args, {
		cwd: root,
		env,
		encoding: 'utf8',
		stdio: ['ignore', options.capture ? 'pipe' : 'inherit', options.capture ? 'pipe' : 'inherit'],
		maxBuffer: 1 << 28,
	});
	const output = `${result.stdout ?? ''}${result.stderr ?? ''}`;
	return { ok: result.status === 0, output };
}

/** A check without tests of its own counts as one. */
function check(...command) {
	const { ok, output } = execute(command[0], command.slice(1), { capture: true });
	if (!ok) console.log(output);
	return ok ? { passed: 1, failed: 0 } : { passed: 0, failed: 1 };
}

const sum = (results) =>
	results.reduce((a, b) => ({ passed: a.passed + b.passed, failed: a.failed + b.failed }), {
		passed: 0,
		failed: 0,
	});

function sources(folder, endings) {
	return readdirSync(join(root, folder), { recursive: true })
		.map(String)
		.filter((name) => endings.some((ending) => name.endsWith(ending)))
		.map((name) => join(folder, name));
}

/** Reads Catch2's closing lines; a run that did not reach them failed as a whole. */
function catch2(command, args = []) {
	const { ok, output } = execute(command, args, { capture: true });
	if (!ok) console.log(output);
	const all = /All tests passed \(\d+ assertions? in (\d+) test cases?\)/.exec(output);
	if (ok && all) return { passed: Number(all[1]), failed: 0 };
	const some = /test cases:\s*(\d+)\s*\|(?:\s*(\d+) passed)?.*?(\d+) failed/.exec(output);
	return some ? { passed: Number(some[2] ?? 0), failed: Number(some[3]) } : { passed: 0, failed: 1 };
}

function configure(preset) {
	const configured = execute('cmake', ['--preset', preset], { capture: true });
	if (!configured.ok) console.log(configured.output);
}

function cppTests(preset, run) {
	configure(preset);
	const built = execute('cmake', ['--build', '--preset', preset, '-j', jobs], { capture: true });
	if (!built.ok) {
		console.log(built.output);
		return { passed: 0, failed: 1 };
	}
	const folder = join(root, 'build', preset, 'tests/cpp');
	const names = readdirSync(folder).filter((name) => /^test_[a-z]+(\.mjs|\.js)?$/.test(name));
	if (names.length === 0) return { passed: 0, failed: 1 };
	return sum(names.map((name) => run(join(folder, name))));
}

// The kinds that are served so far. A run over the whole folder stays red until the last kind is.
const VECTORS = {
	iggy: ['*'],
	agdx: [
		...['announce_*', 'backend_*', 'batch_*', 'binding_*', 'browse_*', 'change_*', 'client_*', 'command_*'],
		...[
			'control_*',
			'decode_*',
			'hello_*',
			'kv_*',
			'kverr_*',
			'kvrep_*',
			'kvreq_*',
			'logical_*',
			'managed_*',
		],
		...['projection_*', 'qcancel_*', 'qpage_*', 'qr_*', 'qstatus_*', 'qtarget_*', 'query_*', 'register_*'],
		...['schema_*', 'tv_*', 'typed_*'],
	],
};

function vectors(...options) {
	return sum(
		Object.entries(VECTORS).map(([kind, globs]) => {
			const { output } = execute(
				process.execPath,
				[
					'scripts/vectors.mjs',
					`tests/vectors/${kind}`,
					...globs.flatMap((glob) => ['--only', glob]),
					...options,
				],
				{ capture: true },
			);
			const line = /(\d+) passed, (\d+) failed\s*$/.exec(output.trim());
			const result = line ? { passed: Number(line[1]), failed: Number(line[2]) } : { passed: 0, failed: 1 };
			if (result.failed > 0) console.log(output.split('\n').slice(-40).join('\n'));
			return result;
		}),
	);
}

function vitest(project) {
	const file = join(reports, `${project}.json`);
	rmSync(file, { force: true });
	execute(bin('vitest'), [
		'run',
		'--project',
		project,
		'--reporter=default',
		'--reporter=json',
		`--outputFile.json=${file}`,
	]);
	if (!existsSync(file)) return { passed: 0, failed: 1 };
	const report = JSON.parse(readFileSync(file, 'utf8'));
	// A test that was skipped is a test that did not run: it counts as failed.
	const brokenFiles = report.testResults.filter(
		(one) => one.status === 'failed' && one.assertionResults.length === 0,
	).length;
	return {
		passed: report.numPassedTests,
		failed: report.numFailedTests + report.numPendingTests + report.numTodoTests + brokenFiles,
	};
}

const steps = {
	'clang-format': () =>
		check(
			'clang-format-19',
			'--dry-run',
			'-Werror',
			...['src', 'wasm', 'tests/cpp', 'tools'].flatMap((folder) => sources(folder, ['.cpp', '.hpp'])),
		),
	biome: () => check(bin('biome'), 'ci', '.'),
	build: () => {
		try {
			build();
			return { passed: 1, failed: 0 };
		} catch (error) {
			console.log(error.message);
			return { passed: 0, failed: 1 };
		}
	},
	types: () =>
		sum(
			['js', 'dev-server', 'web-demo', 'tests', 'tests/consumer'].map((project) =>
				check(bin('tsc'), '-p', project, '--noEmit'),
			),
		),
	'c++ (sanitizers)': () => cppTests('sanitize', (file) => catch2(file)),
	'clang-tidy': () => {
		configure('sanitize');
		// By the whole path: a clone may itself lie in a folder named src.
		const ours = `^${join(root, 'src').replace(/[^\w/]/g, '\\$&')}/`;
		return check(
			...['run-clang-tidy-19', '-quiet', '-p', 'build/sanitize', '-j', jobs],
			...[`-header-filter=${ours}`, `${ours}.*\\.cpp$`],
		);
	},
	// Under Emscripten Catch2 takes every output for a terminal.
	'c++ (wasm)': () => cppTests('wasm', (file) => catch2(process.execPath, [file, '--colour-mode', 'none'])),
	'vectors (native)': () => vectors('--native'),
	'vectors (wasm)': () => vectors(),
	browser: () => vitest('browser'),
	js: () => vitest('js'),
	faults: () => vitest('faults'),
	'dev-server': () => vitest('dev-server'),
	kill: () => vitest('kill'),
	packaging: () => vitest('packaging'),
	bundlers: () => {
		packagingMatrix();
		return vitest('bundlers');
	},
	interop: () => {
		// The first time, the clients are fetched: not within a test's time.
		pythonClients();
		return vitest('interop');
	},
};

/** Not part of `npm test`. */
const long = ['bundlers'];

/**
 * In a whole run these go on beside the steps after `after`, which mostly wait: a process of its own that takes only what
 * the others leave. None of those steps builds in build/wasm or build/sanitize.
 */
const beside = { after: 'browser', names: ['clang-tidy', 'c++ (wasm)'] };

function startBeside() {
	const log = join(reports, 'beside.log');
	const output = openSync(log, 'w');
	const script = fileURLToPath(import.meta.url);
	const child = spawn('nice', ['-n', '19', process.execPath, script, '--only', ...beside.names], {
		cwd: root,
		env,
		stdio: ['ignore', output, output],
	});
	return new Promise((resolve) => {
		child.on('close', () => {
			const text = readFileSync(log, 'utf8');
			console.log(text);
			const line = /(\d+) passed, (\d+) failed\s*$/.exec(text);
			resolve(line ? { passed: Number(line[1]), failed: Number(line[2]) } : { passed: 0, failed: 1 });
		});
	});
}

const full = process.argv.includes('--full');
const only = process.argv.slice(2).filter((argument) => !['--only', '--full'].includes(argument));
const chosen = Object.keys(steps).filter((name) =>
	only.length === 0 ? full || !long.includes(name) : only.includes(name),
);
if (chosen.length === 0) {
	console.error(`unknown step; there are: ${Object.keys(steps).join(', ')}`);
	process.exit(2);
}
try {
	env = setup('build', 'test', 'chromium', 'firefox');
} catch (error) {
	console.error(error.message);
	process.exit(1);
}
mkdirSync(reports, { recursive: true });
const results = [];
let waiting;
for (const name of chosen) {
	if (only.length === 0 && beside.names.includes(name)) continue;
	const started = Date.now();
	console.log(`\n== ${name}`);
	const result = steps[name]();
	results.push(result);
	console.log(
		`== ${name}: ${result.passed} passed, ${result.failed} failed (${((Date.now() - started) / 1000).toFixed(0)} s)`,
	);
	if (only.length === 0 && name === beside.after) waiting = startBeside();
}
if (waiting !== undefined) results.push(await waiting);
const total = sum(results);
console.log(`\n${total.passed} passed, ${total.failed} failed`);
process.exit(total.failed === 0 ? 0 : 1);
