/** Error texts of grpc-js and OpenSSL for a connection on which only one side uses TLS, each with a hint. */
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

/** The text of a failed call, with a hint if the cause is that only one side uses TLS. */
export function withConnectionHint(text: string): string {
  const hint = HINTS.find(([known]) => known.test(text))?.[1];
  return hint === undefined ? text : `${hint} (${text.trim()})`;
}
