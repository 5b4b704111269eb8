/** How ProtoJSON is read and written. */
export interface JsonOptions {
  /**
   * Whether to ignore unknown fields and unknown names of enum values in request bodies. Otherwise the request is
   * refused. Default: false.
   */
  readonly ignoreUnknown?: boolean | undefined;
  /**
   * Whether responses have the proto names of fields instead of lowerCamelCase. Requests may have either. Default: false.
   */
  readonly protoNames?: boolean | undefined;
  /**
   * The fields that responses omit, besides unset fields with presence. Default: `nothing`.
   *
   * - `nothing`: no others.
   * - `unassigned`: empty strings that are output only (AIP-203).
   * - `defaults`: all fields with their default value.
   */
  readonly omit?: 'nothing' | 'unassigned' | 'defaults' | undefined;
  /** Whether times have at least three decimals, even for whole seconds. Default: false. */
  readonly milliseconds?: boolean | undefined;
}

/** How request bodies are read. */
export interface ReadingOptions extends Pick<JsonOptions, 'ignoreUnknown'> {
  /** Whether field masks may have names in snake_case, as clients of grpc-gateway send them. Default: false. */
  readonly lenient?: boolean | undefined;
}
