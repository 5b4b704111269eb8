/** The most calls that have no reply yet; their ids are lower (`Call.id`). */
export const MOST_UNDER_WAY = 65_536;
/** The most calls or replies at a time. */
export const MOST_AT_A_TIME = 64;
/** The most bytes that their messages have together: with metadata, they stay below the 4 MiB of gRPC's default. */
export const MOST_BYTES_AT_A_TIME = 1024 * 1024;
