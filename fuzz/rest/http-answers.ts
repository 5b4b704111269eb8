/** An HTTP/1.1 response. */
export interface HttpAnswer {
  readonly status: number;
  /** By lower-case name; the last value of a repeated header. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

const HEAD_END = '\r\n\r\n';
const STATUS_LINE = /^HTTP\/1\.1 (\d{3}) /;

/**
 * Parses the responses on a connection, in order, without interim (1xx) ones.
 *
 * @param isHead true if all requests are HEAD, false if none is; undefined: what follows a head shows if it has a body
 * @returns the responses, and in `rest` the bytes after the last complete one
 */
export function httpAnswers(received: Buffer, isHead?: boolean): { answers: HttpAnswer[]; rest: Buffer } {
  const answers: HttpAnswer[] = [];
  let rest = received;
  for (;;) {
    const headEnd = rest.indexOf(HEAD_END);
    if (headEnd < 0) return { answers, rest };
    const [statusLine = '', ...lines] = rest.toString('latin1', 0, headEnd).split('\r\n');
    const status = Number(STATUS_LINE.exec(statusLine)?.[1]);
    const headers = new Map(lines.map(headerOf));
    const length = Number(headers.get('content-length') ?? 0);
    if (Number.isNaN(status) || headers.has('transfer-encoding')) return { answers, rest };
    const after = rest.subarray(headEnd + HEAD_END.length);
    const bodyLength = (isHead ?? hasNoBody(after)) || status === 304 ? 0 : length;
    if (after.length < bodyLength) return { answers, rest };
    if (status >= 200) answers.push({ status, headers, body: after.toString('utf8', 0, bodyLength) });
    rest = after.subarray(bodyLength);
  }
}

function headerOf(line: string): [name: string, value: string] {
  const colon = line.indexOf(':');
  return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
}

/** Whether no body follows in spite of a Content-Length, as after HEAD. No body begins like a response. */
function hasNoBody(after: Buffer): boolean {
  return after.length === 0 || after.toString('latin1', 0, 9) === 'HTTP/1.1 ';
}
