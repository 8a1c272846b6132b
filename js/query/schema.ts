/** A field of a result or of a schema. */
export interface LogicalField {
	readonly id: number;
	readonly name: string;
	/** False: the value may be null. */
	readonly required: boolean;
	readonly fieldType: LogicalType;
	readonly doc?: string;
}

export type LogicalType =
	| {
			readonly kind:
				| 'boolean'
				| 'int'
				| 'long'
				| 'float'
				| 'double'
				| 'date'
				| 'time_micros'
				| 'timestamp_micros'
				| 'timestamp_tz_micros'
				| 'string'
				| 'uuid'
				| 'binary';
	  }
	| { readonly kind: 'decimal'; readonly precision: number; readonly scale: number }
	| { readonly kind: 'fixed'; readonly length: number }
	| { readonly kind: 'struct'; readonly fields: readonly LogicalField[] }
	| {
			readonly kind: 'list';
			readonly elementId: number;
			readonly elementRequired: boolean;
			readonly element: LogicalType;
	  }
	| {
			readonly kind: 'map';
			readonly keyId: number;
			readonly key: LogicalType;
			readonly valueId: number;
			readonly valueRequired: boolean;
			readonly value: LogicalType;
	  };
