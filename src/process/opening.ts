/**
 * Opens something that a setting names.
 *
 * @param failure the message if that fails, followed by the cause; it names the setting and holds no secret
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
