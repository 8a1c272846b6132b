// The same source without wasm, by the same compiler: what the sandbox costs.
import { spawn, spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { root, setup } from '../../scripts/setup.mjs';

function program() {
	const folder = join(root, 'build/bench-native');
	const env = setup('build');
	const cmake = (...args) => {
		const made = spawnSync('cmake', args, { cwd: root, env, encoding: 'utf8', maxBuffer: 1 << 28 });
		if (made.status !== 0) throw new Error(`cmake ${args.join(' ')}\n${made.stdout}${made.stderr}`);
	};
	cmake('--preset', 'native', '-B', folder, '-DCMAKE_BUILD_TYPE=Release');
	cmake('--build', folder, '-j2', '--target', 'bench_decode');
	return join(folder, 'bench/decode/bench_decode');
}

/** A process that decodes these pages when told to: `turn` resolves to the milliseconds that one time takes. */
export function startNative(pages) {
	const folder = join(root, 'build/bench');
	mkdirSync(folder, { recursive: true });
	const files = pages.map((page, index) => {
		const file = join(folder, `page-${index}.cbor`);
		writeFileSync(file, page);
		return file;
	});
	const child = spawn(program(), files, { stdio: ['pipe', 'pipe', 'inherit'] });
	const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
	return {
		async turn(least) {
			child.stdin.write(`${least}\n`);
			const { value, done } = await lines.next();
			if (done) throw new Error('bench_decode ended');
			return Number(value);
		},
		close: () => child.stdin.end(),
	};
}
