/** A token and the end of its life, in milliseconds since the epoch. */
export interface Issued {
  readonly token: string;
  readonly expiresAt: number;
}

/** Keeps a token until 30 seconds before it expires, or until it is refused. Concurrent calls share one issue. */
export function keptToken(issue: () => Promise<Issued>): (refused?: string) => Promise<string> {
  let kept: Issued | undefined;
  let coming: Promise<Issued> | undefined;
  return async (refused) => {
    if (kept === undefined || kept.token === refused || kept.expiresAt - Date.now() < 30_000) {
      coming ??= issue().finally(() => {
        coming = undefined;
      });
      kept = await coming;
    }
    return kept.token;
  };
}
