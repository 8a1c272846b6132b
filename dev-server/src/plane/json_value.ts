/**
 * JSON with its numbers kept apart: a number without fraction or exponent is a `bigint` of any size, every other one a
 * `number`. `JSON.parse` would round integers above 2^53 and merge 20 with 20.0.
 */
export type JsonValue = null | boolean | bigint | number | string | JsonValue[] | Map<string, JsonValue>;

const MAX_DEPTH = 256;
const NUMBER = /-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids them inside a string
const PLAIN_STRING = /"[^"\\\u0000-\u001f]*"/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON forbids them inside a string
const ANY_STRING = /"(?:[^"\\\u0000-\u001f]|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*"/y;

class Parser {
	private at = 0;
	constructor(private readonly text: string) {}

	document(): JsonValue {
		const value = this.value(1);
		this.space();
		if (this.at !== this.text.length) throw new SyntaxError(`JSON: text after the value at ${this.at}`);
		return value;
	}

	private space(): void {
		for (;;) {
			const c = this.text.charCodeAt(this.at);
			if (c !== 32 && c !== 10 && c !== 13 && c !== 9) return;
			this.at += 1;
		}
	}

	private value(depth: number): JsonValue {
		if (depth > MAX_DEPTH) throw new SyntaxError('JSON: too deep');
		this.space();
		switch (this.text[this.at]) {
			case '{':
				return this.object(depth);
			case '[':
				return this.array(depth);
			case '"':
				return this.string();
			case 't':
				return this.word('true', true);
			case 'f':
				return this.word('false', false);
			case 'n':
				return this.word('null', null);
			default:
				return this.number();
		}
	}

	private word<T>(word: string, value: T): T {
		if (!this.text.startsWith(word, this.at)) throw new SyntaxError(`JSON: unexpected text at ${this.at}`);
		this.at += word.length;
		return value;
	}

	private number(): bigint | number {
		NUMBER.lastIndex = this.at;
		const match = NUMBER.exec(this.text);
		if (match === null) throw new SyntaxError(`JSON: unexpected text at ${this.at}`);
		this.at = NUMBER.lastIndex;
		return match[1] === undefined && match[2] === undefined ? BigInt(match[0]) : Number(match[0]);
	}

	private string(): string {
		PLAIN_STRING.lastIndex = this.at;
		if (PLAIN_STRING.test(this.text)) {
			const text = this.text.slice(this.at + 1, PLAIN_STRING.lastIndex - 1);
			this.at = PLAIN_STRING.lastIndex;
			return text;
		}
		ANY_STRING.lastIndex = this.at;
		if (!ANY_STRING.test(this.text)) throw new SyntaxError(`JSON: bad string at ${this.at}`);
		const raw = this.text.slice(this.at, ANY_STRING.lastIndex);
		this.at = ANY_STRING.lastIndex;
		return JSON.parse(raw) as string;
	}

	private object(depth: number): Map<string, JsonValue> {
		const map = new Map<string, JsonValue>();
		this.at += 1;
		this.space();
		if (this.take('}')) return map;
		for (;;) {
			this.space();
			if (this.text[this.at] !== '"') throw new SyntaxError(`JSON: key expected at ${this.at}`);
			const key = this.string();
			this.space();
			if (!this.take(':')) throw new SyntaxError(`JSON: ':' expected at ${this.at}`);
			map.set(key, this.value(depth + 1));
			this.space();
			if (this.take('}')) return map;
			if (!this.take(',')) throw new SyntaxError(`JSON: ',' expected at ${this.at}`);
		}
	}

	private array(depth: number): JsonValue[] {
		const items: JsonValue[] = [];
		this.at += 1;
		this.space();
		if (this.take(']')) return items;
		for (;;) {
			items.push(this.value(depth + 1));
			this.space();
			if (this.take(']')) return items;
			if (!this.take(',')) throw new SyntaxError(`JSON: ',' expected at ${this.at}`);
		}
	}

	private take(char: string): boolean {
		if (this.text[this.at] !== char) return false;
		this.at += 1;
		return true;
	}
}

export function parseJson(text: string): JsonValue {
	return new Parser(text).document();
}

/** JSON text of a value; integers keep every digit. */
export function jsonText(value: JsonValue): string {
	if (typeof value === 'bigint') return value.toString();
	if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`;
	if (value instanceof Map) {
		return `{${[...value].map(([key, item]) => `${JSON.stringify(key)}:${jsonText(item)}`).join(',')}}`;
	}
	return JSON.stringify(value);
}

/** RFC 6901. Undefined when nothing is there. */
export function compilePointer(pointer: string): (document: JsonValue) => JsonValue | undefined {
	if (pointer === '') return (document) => document;
	// A pointer without a leading slash names nothing.
	if (!pointer.startsWith('/')) return () => undefined;
	const tokens = pointer
		.slice(1)
		.split('/')
		.map((token) => token.replaceAll('~1', '/').replaceAll('~0', '~'));
	return (document) => {
		let value: JsonValue | undefined = document;
		for (const token of tokens) {
			if (value instanceof Map) value = value.get(token);
			else if (Array.isArray(value))
				value = /^(?:0|[1-9]\d*)$/.test(token) ? value[Number(token)] : undefined;
			else return undefined;
			if (value === undefined) return undefined;
		}
		return value;
	};
}
