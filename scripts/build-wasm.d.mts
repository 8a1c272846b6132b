export function buildWasm(names?: string[]): Promise<void>;
