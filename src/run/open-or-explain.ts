/**
 * Opens something that a setting names.
 *
 * @param failure the beginning of the error message, before the cause; must name the setting and hold no secret
 * @throws Error with `failure` and the cause in one line
 */
export async function openOrExplain<T>(failure: string, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    throw new Error(`${failure}: ${cause}`, { cause: error });
  }
}

/** Error codes of the operating system, in words. */
const REFUSALS: readonly (readonly [code: string, words: string])[] = [
  ['EADDRINUSE', 'another program uses it, perhaps another copy of this service.'],
  ['EACCES', 'this user may not use it; ports below 1024 often need a privilege.'],
  ['EADDRNOTAVAIL', 'this machine does not have this address.'],
  ['ENOTFOUND', 'no machine has this name.'],
];

/**
 * Listens on the address in a setting.
 *
 * @throws Error with the setting, its value and the cause in words
 */
export async function listenOrExplain<T>(
  setting: string,
  address: string,
  listen: () => Promise<T>,
): Promise<T> {
  return openOrExplain(`Cannot listen on ${setting}=${address}`, async () => {
    try {
      return await listen();
    } catch (error) {
      // grpc-js reports the error code only in its message.
      const text = error instanceof Error ? error.message : '';
      const words = REFUSALS.find(([code]) => text.includes(code))?.[1];
      throw words === undefined ? error : new Error(words, { cause: error });
    }
  });
}
