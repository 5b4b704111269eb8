import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

/** The values of headers by lower-case name, one for each line that was sent. */
export type SentHeaders = ReadonlyMap<string, readonly string[]>;

/**
 * Reads the headers whose names are in `names`: the lines that were sent or, for a header that the application has changed, set
 * or deleted in `headers`, what it has there. Node's `headersDistinct` throws in releases such as 22.12 when a client sends a header named
 * `constructor`.
 */
export function sentHeaders(
  { rawHeaders, headers }: Pick<IncomingMessage, 'rawHeaders' | 'headers'>,
  names: { has(lowerCaseName: string): boolean },
): SentHeaders {
  const sent = linesByName(rawHeaders, names);
  let unchanged = 0;
  for (const name of Object.keys(headers)) {
    if (!names.has(name)) continue;
    const value = headers[name];
    const lines = sent.get(name);
    if (lines !== undefined && value === valueInNode(name, lines)) unchanged += 1;
    else sent.set(name, [value ?? []].flat().map(String));
  }

  // Most requests are unchanged, so that nothing has to be looked for.
  if (unchanged < sent.size) removeDeleted(sent, headers);
  return sent;
}

function linesByName(
  rawHeaders: readonly string[],
  names: { has(lowerCaseName: string): boolean },
): Map<string, string[]> {
  const byName = new Map<string, string[]>();
  // Names and values take turns.
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = String(rawHeaders[at]).toLowerCase();
    if (!names.has(name)) continue;
    const value = String(rawHeaders[at + 1]);
    const lines = byName.get(name);
    if (lines === undefined) byName.set(name, [value]);
    else lines.push(value);
  }
  return byName;
}

/** The value that Node gives a header in `headers` for the lines that were sent. */
function valueInNode(name: string, lines: readonly string[]): string | undefined {
  return lines.length === 1 || FIRST_KEPT.has(name) ? lines[0] : lines.join(', ');
}

/** Removes the headers that the application has deleted, or set to undefined or to no values. */
function removeDeleted(sent: Map<string, readonly string[]>, headers: IncomingHttpHeaders): void {
  for (const [name, values] of sent)
    if (values.length === 0 || !Object.hasOwn(headers, name)) sent.delete(name);
}

/** The headers of which Node keeps the first line; it joins those of others. */
const FIRST_KEPT = new Set(
  `age authorization content-type etag expires from host if-modified-since if-unmodified-since last-modified
   location max-forwards proxy-authorization referer retry-after server user-agent`.split(/\s+/),
);
