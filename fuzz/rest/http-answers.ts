/** An answer in HTTP/1.1. */
export interface HttpAnswer {
  readonly status: number;
  /** By lower-case name; of one that came several times, the last value. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

const HEAD_END = '\r\n\r\n';
const STATUS_LINE = /^HTTP\/1\.1 (\d{3}) /;

/**
 * The answers on a connection, in order, without interim ones.
 *
 * @param isHead whether all requests were HEAD, or none; without it, what follows tells whether an answer has a body
 * @returns also the bytes that are no whole answer
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

/** Whether only the length of a body came, as after HEAD. No body begins like an answer. */
function hasNoBody(after: Buffer): boolean {
  return after.length === 0 || after.toString('latin1', 0, 9) === 'HTTP/1.1 ';
}
