/**
 * Opens something that a setting names.
 *
 * @param failure what is said before the cause where that fails, with the setting's name and never a secret
 * @throws Error with both in one line
 */
export async function opening<T>(failure: string, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    throw new Error(`${failure}: ${cause}`, { cause: error });
  }
}
