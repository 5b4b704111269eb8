/** Texts of grpc-js and OpenSSL about a connection on which only one side speaks TLS, each with what they mean. */
const HINTS: readonly (readonly [text: RegExp, hint: string])[] = [
  [
    /wrong version number/,
    'The client speaks TLS and the server does not: where the network itself is safe, set the option tls to false.',
  ],
  [
    /Failed to connect \(/,
    'The server closed the connection without an answer, as one with TLS does to a client without: see the option tls.',
  ],
];

/** The text of a failed call, with what to do if the reason is a difference in TLS. */
export function withConnectionHint(text: string): string {
  const hint = HINTS.find(([known]) => known.test(text))?.[1];
  return hint === undefined ? text : `${hint} (${text.trim()})`;
}
