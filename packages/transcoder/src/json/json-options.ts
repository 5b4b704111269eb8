/** The choices that ProtoJSON leaves to programs, and one of our own. Each default is the first that is named. */
export interface JsonOptions {
  /**
   * Whether fields of a body that its message does not have, and names of enum values that its enum does not have, are
   * ignored; otherwise they are refused. Default: false.
   */
  readonly ignoreUnknown?: boolean;
  /** Whether responses name fields as the proto file does, and not in lowerCamelCase. Requests may do both. Default: false. */
  readonly protoNames?: boolean;
  /**
   * The fields that are omitted from responses, apart from unset ones with presence: none, empty strings that are output
   * only (AIP-203), or all that have their default value. Default: `nothing`.
   */
  readonly omit?: 'nothing' | 'unassigned' | 'defaults';
  /** Whether times have at least three decimals, and not none for whole seconds. Default: false. */
  readonly milliseconds?: boolean;
}

/** How bodies are read. */
export interface ReadingOptions extends Pick<JsonOptions, 'ignoreUnknown'> {
  /** Whether masks may have names in snake case. Default: false. */
  readonly lenient?: boolean;
}
