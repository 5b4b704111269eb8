import { splitAddress } from '../settings/addresses.js';

/**
 * Opens something that a setting names.
 *
 * @param failure the beginning of the error message, before the cause; must name the setting and hold no secret
 * @throws Error with `failure` and the cause in one line
 */
export async function openOrExplain<T>(failure: string, open: () => T | Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    throw startError(failure, error);
  }
}

function startError(failure: string, error: unknown): Error {
  const cause = error instanceof Error ? error.message : String(error);
  return new Error(`${failure}: ${cause}`, { cause: error });
}

/** Error codes of the operating system, in words. */
const REFUSALS: readonly (readonly [code: string, words: string])[] = [
  ['EADDRINUSE', 'another program uses it, perhaps another copy of this service.'],
  ['EACCES', 'this user may not use it; ports below 1024 often need a privilege.'],
  ['EADDRNOTAVAIL', 'this machine does not have this address.'],
  ['ENOTFOUND', 'no machine has this name.'],
];

/**
 * Listens on the address in a setting. Where the kernel has no IPv6, `0.0.0.0` takes the place of `[::]`.
 *
 * @param listen is called with the address, and with its host
 * @throws Error with the setting, its value and the cause in words
 */
export async function listenOrExplain<T>(
  setting: string,
  address: string,
  listen: (address: string, host: string) => Promise<T>,
): Promise<T> {
  const listenOn = (bound: string): Promise<T> => listen(bound, splitAddress(bound)?.host ?? '');
  return openOrExplain(`Cannot listen on ${setting}=${address}`, async () => {
    try {
      return await listenOn(address).catch((error: unknown) => {
        if (!messageOf(error).includes('EAFNOSUPPORT')) throw error;
        return listenOn(address.replace('[::]', '0.0.0.0'));
      });
    } catch (error) {
      const words = REFUSALS.find(([code]) => messageOf(error).includes(code))?.[1];
      throw words === undefined ? error : new Error(words, { cause: error });
    }
  });
}

/** Holds the error code: grpc-js reports it nowhere else. */
function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : '';
}
