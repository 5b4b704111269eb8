/** The longest body, in bytes after decompression. */
const BODY_MAX_BYTES = 1_048_576;

/**
 * Fetches a JSON document of at most 1 MiB. Only status 200 is accepted; redirects are not followed.
 *
 * @throws Error for any other response, or for none within the time limit
 */
export async function fetchJson(url: URL, timeoutMs: number): Promise<unknown> {
  const response = await fetch(url, {
    headers: { accept: 'application/json' },
    redirect: 'manual',
    signal: AbortSignal.timeout(timeoutMs),
  });
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`The status is ${response.status}; it must be 200.`);
  }
  return JSON.parse(await textOf(response)) as unknown;
}

/** Counts the bytes as they arrive, since `content-length` may be missing or give the compressed size. */
async function textOf({ body }: Response): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let bytes = 0;
  let text = '';
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > BODY_MAX_BYTES) throw new Error(`The body is longer than ${BODY_MAX_BYTES} bytes.`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
