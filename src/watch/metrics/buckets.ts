/** The histogram buckets for durations, in seconds: from a response served from memory to the default deadline. */
export const SECONDS = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5];
