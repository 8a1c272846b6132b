import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A fresh self-signed certificate for 127.0.0.1 and localhost: its own authority. */
export function selfSigned(): { cert: Buffer; key: Buffer; certFile: string; keyFile: string } {
	const folder = mkdtempSync(join(tmpdir(), 'tidemark-tls-'));
	const certFile = join(folder, 'cert.pem');
	const keyFile = join(folder, 'key.pem');
	execFileSync(
		'openssl',
		[
			...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
			...['-days', '2', '-subj', '/CN=localhost', '-keyout', keyFile, '-out', certFile],
			...['-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1'],
		],
		{ stdio: 'pipe' },
	);
	return { cert: readFileSync(certFile), key: readFileSync(keyFile), certFile, keyFile };
}
