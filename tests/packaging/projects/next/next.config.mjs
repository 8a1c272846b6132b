import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

// The folder that has both this project and the packages.
const root = dirname(dirname(fileURLToPath(import.meta.url)));
export default { output: 'export', turbopack: { root }, outputFileTracingRoot: root };
