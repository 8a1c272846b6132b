/** The 256-byte frame header, both directions. */

export const HEADER = 256;
export const MAX_FRAME = 64 << 20;

export const Command = { request: 5, reply: 8, eviction: 13 } as const;

export interface RequestHeader {
	command: number;
	client: Buffer;
	checksum: Buffer;
	request: bigint;
	operation: number;
	session: bigint;
	code: number;
	/** What a partition call builds on; zero in the dialects that do not know it. */
	incarnation: bigint;
	ownerGeneration: bigint;
	minimumOp: bigint;
}

export function frameSize(bytes: Buffer): number {
	return bytes.readUInt32LE(48);
}

export function readRequest(frame: Buffer): RequestHeader {
	return {
		command: frame[60]!,
		client: Buffer.from(frame.subarray(128, 144)),
		checksum: Buffer.from(frame.subarray(144, 160)),
		request: frame.readBigUInt64LE(168),
		operation: frame[176]!,
		session: frame.readBigUInt64LE(184),
		code: frame.readUInt32LE(196),
		incarnation: frame.readBigUInt64LE(200),
		ownerGeneration: frame.readBigUInt64LE(208),
		minimumOp: frame.readBigUInt64LE(216),
	};
}

/** Chosen once: replies made from a commit carry a nonzero cluster. */
const CLUSTER = Buffer.from('5469646d61726b20646576207365727665', 'hex').subarray(0, 16);

export interface ReplyHeader {
	checksum: Buffer;
	client: Buffer;
	op: bigint;
	commit: bigint;
	timestamp: bigint;
	request: bigint;
	operation: number;
	status: number;
	/** Made from a commit. */
	committed: boolean;
	/** Says so in the frame. */
	marked: boolean;
	incarnation: bigint;
}

/** A reply with its body. */
export function replyFrame(header: ReplyHeader, body: Buffer): Buffer {
	const frame = Buffer.allocUnsafe(HEADER + body.length);
	body.copy(frame, HEADER);
	return writeReply(frame, header);
}

/** Writes the header of a frame whose body is there already. */
export function writeReply(frame: Buffer, header: ReplyHeader): Buffer {
	frame.fill(0, 0, HEADER);
	if (header.committed) CLUSTER.copy(frame, 32);
	frame.writeUInt32LE(frame.length, 48);
	frame[60] = Command.reply;
	header.checksum.copy(frame, 128);
	header.client.copy(frame, 160);
	frame.writeBigUInt64LE(header.op, 176);
	frame.writeBigUInt64LE(header.commit, 184);
	frame.writeBigUInt64LE(header.timestamp, 192);
	frame.writeBigUInt64LE(header.request, 200);
	frame[208] = header.operation;
	frame.writeUInt32LE(header.status, 216);
	if (header.marked) frame[220] = 1;
	frame.writeBigUInt64LE(header.incarnation, 224);
	return frame;
}

export interface VersionWindow {
	min: number;
	max: number;
}

export function evictionFrame(client: Buffer, reason: number, window?: VersionWindow): Buffer {
	const frame = Buffer.alloc(HEADER);
	frame.writeUInt32LE(HEADER, 48);
	frame[60] = Command.eviction;
	client.copy(frame, 128);
	if (window) {
		frame.writeUInt32LE(window.max, 144);
		frame.writeUInt32LE(window.min, 148);
	}
	frame[255] = reason;
	return frame;
}
