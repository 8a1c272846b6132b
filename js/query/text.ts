import type { TypedValue } from './value.js';

/** A value as text for people. Never parsed: a kind may look like another. */
export function typedValueDiagnosticText(value: TypedValue): string {
	switch (value.kind) {
		case 'null':
			return 'null';
		case 'float':
		case 'double': {
			const { sign, digits, point } = shortest(value.value, value.kind === 'float');
			return sign + positional(digits, point);
		}
		case 'decimal':
			return `0x${hex(value.value.unscaled)} scale ${value.value.scale}`;
		case 'string':
			return value.value;
		case 'uuid':
			return uuidText(value.value);
		case 'fixed':
		case 'binary':
			return `0x${hex(value.value)}`;
		case 'struct':
		case 'list':
		case 'map':
			return json(value);
		default:
			return String(value.value);
	}
}

export function uuidText(bytes: Uint8Array): string {
	const text = hex(bytes);
	return `${text.slice(0, 8)}-${text.slice(8, 12)}-${text.slice(12, 16)}-${text.slice(16, 20)}-${text.slice(20)}`;
}

/** The exact value of a decimal, `-12.50`. */
export function decimalText(unscaled: bigint, scale: number): string {
	const sign = unscaled < 0n ? '-' : '';
	const digits = (unscaled < 0n ? -unscaled : unscaled).toString().padStart(scale + 1, '0');
	return scale === 0 ? sign + digits : `${sign}${digits.slice(0, -scale)}.${digits.slice(-scale)}`;
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

function hex(bytes: Uint8Array): string {
	let text = '';
	for (const byte of bytes) text += HEX[byte];
	return text;
}

/** The fewest digits that give the value back at its own width; `point` of them stand before the decimal point. */
function shortest(value: number, narrow: boolean): { sign: string; digits: string; point: number } {
	let text = value.toExponential();
	for (let precision = 1; narrow && precision <= 9; precision++) {
		const candidate = value.toExponential(precision - 1);
		if (Math.fround(Number(candidate)) !== value) continue;
		text = candidate;
		break;
	}
	const [mantissa, exponent] = text.split('e') as [string, string];
	const sign = mantissa.startsWith('-') ? '-' : '';
	const digits = mantissa.replace('-', '').replace('.', '').replace(/0+$/, '') || '0';
	return { sign, digits, point: Number(exponent) + 1 };
}

function positional(digits: string, point: number): string {
	if (point <= 0) return `0.${'0'.repeat(-point)}${digits}`;
	if (point >= digits.length) return digits + '0'.repeat(point - digits.length);
	return `${digits.slice(0, point)}.${digits.slice(point)}`;
}

/** In JSON a float shows that it is one, and goes over to an exponent where its digits end. */
function jsonFloat(value: number, narrow: boolean): string {
	const { sign, digits, point } = shortest(value, narrow);
	if (point > (narrow ? 13 : 16) || point <= (narrow ? -6 : -5)) {
		const rest = digits.length > 1 ? `.${digits.slice(1)}` : '';
		return `${sign}${digits[0]}${rest}e${point - 1}`;
	}
	return sign + positional(digits, point) + (point >= digits.length ? '.0' : '');
}

function json(value: TypedValue): string {
	if (value.kind === 'null') return '{"kind":"null"}';
	return `{"kind":"${value.kind}","value":${payload(value)}}`;
}

function payload(value: Exclude<TypedValue, { kind: 'null' }>): string {
	switch (value.kind) {
		case 'float':
		case 'double':
			return jsonFloat(value.value, value.kind === 'float');
		case 'decimal':
			return `{"unscaled":[${value.value.unscaled.join()}],"precision":${value.value.precision},"scale":${value.value.scale}}`;
		case 'string':
			return JSON.stringify(value.value);
		case 'uuid':
		case 'fixed':
		case 'binary':
			return `[${value.value.join()}]`;
		case 'list':
			return `[${value.value.map(json).join()}]`;
		case 'struct':
			return `[${value.value.map((m) => `{"field_id":${m.fieldId},"value":${json(m.value)}}`).join()}]`;
		case 'map':
			return `[${value.value.map((e) => `{"key":${json(e.key)},"value":${json(e.value)}}`).join()}]`;
		default:
			return String(value.value);
	}
}
