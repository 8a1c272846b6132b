/** A reply whose frame was made with its header still to be written: large bodies are not copied again. */
export class Framed {
	constructor(
		readonly frame: Buffer,
		/** Incarnation of the partition that was read; that of the request when there is none. */
		readonly incarnation?: bigint,
	) {}
}
